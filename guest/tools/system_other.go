//go:build !windows

package tools

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"mullion.dev/mullion/guest/eventlog"
	"mullion.dev/mullion/guest/filesec"
	"mullion.dev/mullion/guest/token"
	"mullion.dev/mullion/guest/winnet"
	"mullion.dev/mullion/internal/windows/wire/credspec"
	"mullion.dev/mullion/internal/windows/wire/services"
)

// ThisSystem returns a System whose methods fail: the programs are Windows programs.
func ThisSystem() System { return nowhere{} }

type nowhere struct{ eventlog.System }

func (nowhere) Tasks() ([]Task, error)                 { return nil, errors.ErrUnsupported }
func (nowhere) Describe() (Machine, error)             { return Machine{}, errors.ErrUnsupported }
func (nowhere) SetVariable(bool, string, string) error { return errors.ErrUnsupported }
func (nowhere) Value(string, string) (string, error)   { return "", errors.ErrUnsupported }
func (nowhere) AddCertificate(string, bool, []byte) (bool, error) {
	return false, errors.ErrUnsupported
}
func (nowhere) Key(time.Duration) (rune, error)    { return 0, ErrNoConsole }
func (nowhere) CodePage() (uint32, error)          { return 0, ErrNoConsole }
func (nowhere) SetCodePage(uint32) error           { return ErrNoConsole }
func (nowhere) Name() string                       { return "" }
func (nowhere) Groups() string                     { return "" }
func (nowhere) Alone(func() error) error           { return errors.ErrUnsupported }
func (nowhere) Net(Env, []string) (int, error)     { return 0, errors.ErrUnsupported }
func (nowhere) WMIC(Env, []string) (int, error)    { return 0, errors.ErrUnsupported }
func (nowhere) Piped() bool                        { return false }
func (nowhere) Services() services.Manager         { return services.Local() }
func (nowhere) HostName() string                   { return "" }
func (nowhere) Adapters() ([]Adapter, error)       { return nil, errors.ErrUnsupported }
func (nowhere) Resolve(string) (netip.Addr, error) { return netip.Addr{}, errors.ErrUnsupported }

func (nowhere) Access(path string) (filesec.List, error)    { return filesec.Of(path) }
func (nowhere) SetAccess(path string, l filesec.List) error { return filesec.Set(path, l) }
func (nowhere) SetOwner(path, sid string) error             { return filesec.SetOwner(path, sid) }
func (nowhere) Account(sid string) string                   { return filesec.Account(sid) }
func (nowhere) LookupAccount(name string) (string, error)   { return filesec.Lookup(name) }

// Tickets implements System.
func (nowhere) Tickets() ([]credspec.Cached, error) { return nil, errors.ErrUnsupported }

// Domain implements System.
func (nowhere) Domain() (credspec.Domain, error) {
	return credspec.Domain{}, errors.ErrUnsupported
}

func (nowhere) Zone(string) (Zone, error)                    { return Zone{}, errors.ErrUnsupported }
func (nowhere) SetZone(string, bool) error                   { return errors.ErrUnsupported }
func (nowhere) Zones() ([]Zone, error)                       { return nil, errors.ErrUnsupported }
func (nowhere) MayEnd() error                                { return errors.ErrUnsupported }
func (nowhere) End() error                                   { return errors.ErrUnsupported }
func (nowhere) EndHost(bool, time.Duration) error            { return errors.ErrUnsupported }
func (nowhere) KeepHost() (bool, error)                      { return false, errors.ErrUnsupported }
func (nowhere) Reservations() (map[string]string, error)     { return nil, errors.ErrUnsupported }
func (nowhere) Reserve(string, string) error                 { return errors.ErrUnsupported }
func (nowhere) Identity() (token.Identity, error)            { return token.Current() }
func (nowhere) Sockets() ([]winnet.Socket, error)            { return winnet.Sockets() }
func (nowhere) Routes() ([]winnet.Route, error)              { return winnet.Routes() }
func (nowhere) Traffic() (winnet.Traffic, error)             { return winnet.Count() }
func (nowhere) Protocols(six bool) (winnet.Protocols, error) { return winnet.CountProtocols(six) }
func (nowhere) Reverse(netip.Addr) string                    { return "" }

func (nowhere) Dial(string, netip.AddrPort, time.Duration) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}
