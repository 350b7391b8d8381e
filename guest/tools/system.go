package tools

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"mullion.dev/mullion/guest/filesec"
	"mullion.dev/mullion/guest/token"
	"mullion.dev/mullion/guest/winnet"
	"mullion.dev/mullion/internal/windows/wire/credspec"
	"mullion.dev/mullion/internal/windows/wire/services"
)

// ErrNoConsole says that a program's input is no console.
var ErrNoConsole = errors.New("not a console")

// System is the part of Windows that the programs need.
type System interface {
	// State is what tasklist and systeminfo print.
	State
	// Settings are environment variables and certificates in the registry.
	Settings
	// Console is the console of standard input and output.
	Console
	// Host is what net needs.
	Host
	// Network is what ipconfig and nslookup need.
	Network
}

// State is what the machine is and does.
type State interface {
	// Tasks are the running processes.
	Tasks() ([]Task, error)
	// Describe describes the machine.
	Describe() (Machine, error)
	// Identities are what whoami and nltest need.
	Identities
	// Clock is what tzutil and w32tm need.
	Clock
	// Events is what wevtutil and eventcreate need.
	Events
}

// Identities say who a program is.
type Identities interface {
	// Identity is who the program runs as.
	Identity() (token.Identity, error)
	// Domain is the domain that the container is in. The error is os.ErrNotExist where there is none.
	Domain() (credspec.Domain, error)
	// Tickets are the Kerberos tickets of the container's account; fs.ErrNotExist: it has none.
	Tickets() ([]credspec.Cached, error)
}

// Registry holds the variables of the user's or the machine's environment.
type Registry interface {
	// SetVariable writes a variable, and tells programs with windows of it.
	SetVariable(machine bool, name, value string) error
	// Value reads a value of the registry as text; the key begins with its root, as HKEY_LOCAL_MACHINE or HKLM.
	Value(key, name string) (string, error)
}

// Settings are what is kept in the registry: variables, and the stores of certificates whose holders are believed, or
// not.
type Settings interface {
	Registry
	// AddCertificate adds a certificate (DER) to a store, such as "Root", of the machine or of the user, and reports
	// whether it was not there before.
	AddCertificate(store string, machine bool, certificate []byte) (added bool, err error)
	// Access is what icacls and takeown need.
	Access
	// URLs is what netsh http needs.
	URLs
}

// Console is the program's console. Where there is none the error is ErrNoConsole.
type Console interface {
	// Key waits for a key. The key is 0 if none came in time; a negative wait has no end.
	Key(wait time.Duration) (key rune, err error)
	// CodePage is the console's code page for output, SetCodePage sets those for output and input.
	CodePage() (uint32, error)
	SetCodePage(page uint32) error
	// Piped reports whether standard output is a pipe.
	Piped() bool
}

// Host is what net and sc need of Windows: the computer's name, the local groups, the services, and Wine's own net.
type Host interface {
	// Name is the computer's name.
	Name() string
	// Groups is the path of the file of the local groups.
	Groups() string
	// Alone runs f while it keeps other processes from changing the groups.
	Alone(f func() error) error
	// Net runs Wine's own net, for everything that net here does not do, and returns its exit code.
	Net(e Env, args []string) (int, error)
	// WMIC runs Wine's own wmic, whose output goes to e's, and returns its exit code.
	WMIC(e Env, args []string) (int, error)
	// Control is what sc, net start and shutdown need.
	Control
}

// Control starts and ends things.
type Control interface {
	// Services is the service control manager.
	Services() services.Manager
	// Power is what shutdown needs.
	Power
}

// Network is the network as Windows shows it.
type Network interface {
	// HostName is the computer's name in DNS.
	HostName() string
	// Adapters are the adapters, the loopback among them. The error may be the number of a Windows error.
	Adapters() ([]Adapter, error)
	// Resolve returns the first address of a name, by the rules of all programs: the hosts file, then DNS.
	Resolve(name string) (netip.Addr, error)
	// Dial connects to a server by network "udp" or "tcp".
	Dial(network string, to netip.AddrPort, timeout time.Duration) (net.Conn, error)
	// Tables are what netstat and route need.
	Tables
}

// Tables are the tables and counters of the network.
type Tables interface {
	// Sockets are the sockets of TCP and UDP.
	Sockets() ([]winnet.Socket, error)
	// Routes are the routes of both families.
	Routes() ([]winnet.Route, error)
	// Traffic is what the interfaces have received and sent, Protocols the counters of the protocols of a family.
	Traffic() (winnet.Traffic, error)
	Protocols(six bool) (winnet.Protocols, error)
	// Reverse is the name of an address, "" if it has none.
	Reverse(netip.Addr) string
}

// Access says who may do what with files. Accounts are SIDs.
type Access interface {
	// Access and SetAccess read and write a file's list; nothing is handed on to what lies below.
	Access(path string) (filesec.List, error)
	SetAccess(path string, list filesec.List) error
	// SetOwner makes an account a file's owner.
	SetOwner(path, sid string) error
	// Account is the name of an account, LookupAccount the account of a name or of a SID after a *.
	Account(sid string) string
	LookupAccount(name string) (sid string, err error)
}

// Clock knows the time zones.
type Clock interface {
	// Zone is the current time zone, Zones are all that there are, by ID.
	Zone(tz string) (Zone, error)
	Zones() ([]Zone, error)
	// SetZone makes a zone the current one; with winter it has one time all year.
	SetZone(id string, winter bool) error
}

// Power ends the container in which the program runs, or the host.
type Power interface {
	// MayEnd is ErrHost in a host, and another error if the user may not end the container.
	MayEnd() error
	// End ends the container's other programs, and so the container.
	End() error
	// EndHost has the host restarted or switched off after some time. The error is hostpower.ErrPending if it is to end
	// already. KeepHost takes that back; it returns false if there is nothing to be taken back.
	EndHost(restart bool, after time.Duration) error
	KeepHost() (bool, error)
}

// URLs are the reservations of URLs for HTTP.sys.
type URLs interface {
	// Reservations are the users by URL.
	Reservations() (map[string]string, error)
	// Reserve reserves a URL for a user; "" takes the reservation away.
	Reserve(url, user string) error
}

// Task is a process.
type Task struct {
	PID, Session uint32
	Image        string
	// Memory is the size of the working set in bytes.
	Memory uint64
}

// Machine is what systeminfo prints. Sizes are in bytes.
type Machine struct {
	Host, Product, Version, Installation, Owner, ProductID, WindowsDir, SystemDir, Domain string
	Processors                                                                            []string
	Boot                                                                                  time.Time
	Memory, MemoryFree, Commit, CommitFree                                                uint64
	Adapters                                                                              []Adapter
}

// Adapter is a network adapter.
type Adapter struct {
	// Index is the number of the interface.
	Index, MTU, Metric        uint32
	Name, Description, Suffix string
	Hardware                  net.HardwareAddr
	Loopback, Up, DHCP        bool
	Addresses                 []Address
	Gateways, Servers         []netip.Addr
}

// Address is an address of an adapter, and the length of its network's prefix.
type Address struct {
	IP   netip.Addr
	Bits int
}
