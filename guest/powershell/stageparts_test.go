package powershell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/counters"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/winnet"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

// stageVolumes returns the volumes of a host with a second drive.
func stageVolumes() []system.Volume {
	return []system.Volume{
		{
			Letter: `C`, ID: `\\?\Volume{00000000-0000-0000-0000-000000000043}\`, Label: "", FileSystem: "NTFS",
			Kind: "Fixed", Size: 1 << 30, Free: 1 << 29,
		},
		{
			Letter: `D`, ID: `\\?\Volume{00000000-0000-0000-0000-000000000044}\`, Label: "data", FileSystem: "",
			Kind: "Removable", Size: 4096, Free: 0,
		},
	}
}

// stagedACL has the descriptors of files, by path, and three accounts.
type stagedACL map[string]system.ACL

func stageACL() stagedACL { return stagedACL{} }

func (s stagedACL) of(path string) (system.ACL, error) {
	if a, ok := s[path]; ok {
		return a, nil
	}
	return system.ACL{
		Owner:    `BUILTIN\Administrators`,
		OwnerSID: "S-1-5-32-544",
		Group:    `NT AUTHORITY\SYSTEM`,
		SDDL:     "O:BA",
		Rules: []system.Rule{
			{Who: `BUILTIN\Administrators`, SID: "S-1-5-32-544", Rights: 0x1f01ff},
			{Who: `NT AUTHORITY\SYSTEM`, SID: "S-1-5-18", Rights: 0x1f01ff},
			{
				Who: `BUILTIN\Users`, SID: "S-1-5-32-545", Rights: 0x1200a9,
				Flags: system.AceObjectInherit | system.AceInherited,
			},
		},
	}, nil
}

func (s stagedACL) set(path string, a system.ACL) error {
	if filepath.Base(path) == "locked" {
		return os.ErrPermission
	}
	a.Rules = slices.Clone(a.Rules)
	s[path] = a
	return nil
}

// read knows one text.
func (s stagedACL) read(sddl string) (system.ACL, error) {
	if sddl != "O:SYD:P(D;;FA;;;BU)" {
		return system.ACL{}, errors.ErrUnsupported
	}
	return system.ACL{
		Owner: `NT AUTHORITY\SYSTEM`, OwnerSID: "S-1-5-18", SDDL: sddl, Protected: true,
		Rules: []system.Rule{{Who: `BUILTIN\Users`, SID: "S-1-5-32-545", Rights: 0x1f01ff, Deny: true}},
	}, nil
}

func (s stagedACL) account(name string) (sid, full string, err error) {
	for sid, full := range map[string]string{
		"S-1-5-32-544": `BUILTIN\Administrators`, "S-1-5-32-545": `BUILTIN\Users`, "S-1-5-18": `NT AUTHORITY\SYSTEM`, "S-1-1-0": "Everyone",
	} {
		_, short, _ := strings.Cut(full, `\`)
		isShort := short != "" && strings.EqualFold(name, short)
		if isShort || strings.EqualFold(name, full) || name == sid {
			return sid, full, nil
		}
	}
	return "", "", errors.New("there is no such account")
}

// stageSMB returns an agent that knows one server, \\files, and one password.
func stageSMB() func(context.Context, smbmapping.Request) (smbmapping.Answer, error) {
	var all []smbmapping.Mapping
	return func(_ context.Context, r smbmapping.Request) (a smbmapping.Answer, err error) {
		is := func(m smbmapping.Mapping) bool { return strings.EqualFold(m.Remote, r.Remote) }
		switch {
		case r.Do == smbmapping.Get:
			a.Mappings = slices.Clone(all)
		case r.Do == smbmapping.Remove:
			all = slices.DeleteFunc(all, is)
		case !strings.HasPrefix(r.Remote, `\\files\`):
			return a, hostcall.Refusef(53, "The network path was not found.")
		case r.User != `CONTOSO\me` || r.Password != "secret" || r.Privacy:
			return a, hostcall.Refusef(1326, "The user name or password is incorrect.")
		default:
			all = append(all, smbmapping.Mapping{
				Remote:    r.Remote,
				Local:     r.Local,
				Connected: true,
			})
			a.Mappings = all[len(all)-1:]
		}
		return a, nil
	}
}

// stageRoutes returns the routes of a pod.
func stageRoutes() []system.Route {
	of := func(prefix, hop string, metric int64) system.Route {
		return system.Route{
			Index: 27, Prefix: netip.MustParsePrefix(prefix), Hop: netip.MustParseAddr(hop),
			Metric: metric,
		}
	}
	return []system.Route{
		of("0.0.0.0/0", "10.244.1.1", 256), of("10.244.1.0/24", "0.0.0.0", 256), of("fe80::/64", "::", 256),
		{Index: 1, Prefix: netip.MustParsePrefix("127.0.0.0/8"), Hop: netip.MustParseAddr("0.0.0.0"), Publish: true},
	}
}

// stageDNS answers as a DNS with a few names.
func stageDNS(name string, kind uint16) ([]system.DNSRecord, error) {
	of := func(kind uint16, data string, numbers ...int64) system.DNSRecord {
		return system.DNSRecord{
			Name:    name,
			Kind:    kind,
			TTL:     30,
			Section: 1,
			Data:    data,
			Numbers: numbers,
		}
	}
	known := map[string][]system.DNSRecord{
		"kubernetes 1":              {of(1, "10.96.0.1")},
		"both 1":                    {of(5, "other"), of(1, "10.0.0.5")},
		"both 28":                   {of(28, "fd00::5")},
		"1.0.96.10.in-addr.arpa 12": {of(12, "kubernetes.default")},
		"both 33":                   {of(33, "target", 1, 2, 443)},
		"both 15":                   {of(15, "mail", 10)},
		"both 16":                   {of(16, "v=1")},
		"both 2":                    {of(2, "ns")},
	}
	if found := known[fmt.Sprintf("%s %d", name, kind)]; found != nil {
		return found, nil
	}
	if name == "none" {
		return nil, system.ErrNoName
	}
	return nil, system.ErrNoRecords
}

// stageSockets returns the sockets of a pod: a server with a client, one of IPv6, and a socket of UDP.
func stageSockets() ([]winnet.Socket, error) {
	at := netip.MustParseAddrPort
	return []winnet.Socket{
		{Protocol: "TCP", Local: at("0.0.0.0:80"), Remote: at("0.0.0.0:0"), State: 2, PID: 12},
		{Protocol: "TCP", Local: at("10.244.1.7:80"), Remote: at("10.244.2.3:50312"), State: 5, PID: 12},
		{Protocol: "TCP", Local: at("10.244.1.7:49700"), Remote: at("10.96.0.1:443"), State: 11},
		{Protocol: "TCP", Local: at("[::]:443"), Remote: at("[::]:0"), State: 2, PID: 40},
		{Protocol: "UDP", Local: at("0.0.0.0:53"), PID: 40},
		{Protocol: "UDP", Local: at("[::1]:5353"), PID: 40},
	}, nil
}

// stagedStores are stores of certificates, by their place and name. The user's CA is closed to it.
type stagedStores map[string][][]byte

func (stagedStores) Names(bool) []string { return []string{"CA", "My", "Root"} }

func (s stagedStores) key(machine bool, store string) string {
	return fmt.Sprint(machine, strings.ToLower(store))
}

func (s stagedStores) List(machine bool, store string) ([][]byte, error) {
	known := slices.ContainsFunc(s.Names(machine), func(one string) bool { return strings.EqualFold(one, store) })
	if all := s[s.key(machine, store)]; all != nil || known {
		return slices.Clone(all), nil
	}
	return nil, fs.ErrNotExist
}

func (s stagedStores) Add(machine bool, store string, certificate []byte) (bool, error) {
	if !machine && strings.EqualFold(store, "CA") {
		return false, fs.ErrPermission
	}
	key := s.key(machine, store)
	if slices.ContainsFunc(s[key], func(one []byte) bool { return bytes.Equal(one, certificate) }) {
		return false, nil
	}
	s[key] = append(s[key], certificate)
	return true, nil
}

func (s stagedStores) Remove(machine bool, store string, certificate []byte) error {
	key := s.key(machine, store)
	s[key] = slices.DeleteFunc(s[key], func(one []byte) bool { return bytes.Equal(one, certificate) })
	return nil
}

// stageAdapters returns the adapters of a pod: a loopback, and one with addresses of both families.
func stageAdapters() ([]system.Adapter, error) {
	own := func(s string, bits, suffix int64) system.AdapterAddress {
		return system.AdapterAddress{
			Addr: netip.MustParseAddr(s), Bits: bits, Prefix: 1, Suffix: suffix, State: 4,
			Valid: system.Infinite, Preferred: system.Infinite,
		}
	}
	return []system.Adapter{
		{
			Name:        "Loopback Pseudo-Interface 1",
			Description: "Software Loopback Interface 1",
			Index:       1,
			Up:          true,
			Loopback:    true,
			Addrs:       []system.AdapterAddress{own("127.0.0.1", 8, 1), own("::1", 128, 1)},
		},
		{
			Name:        "vEthernet (Ethernet)",
			Description: "Hyper-V Virtual Ethernet Container Adapter",
			Index:       27,
			MAC:         []byte{0, 0x15, 0x5d, 0x1a, 0x2b, 0x3c},
			Up:          true,
			Speed:       10_000_000_000,
			MTU:         1500,
			DNS:         []netip.Addr{netip.MustParseAddr("10.96.0.10"), netip.MustParseAddr("fd00::a")},
			Addrs:       []system.AdapterAddress{own("10.244.1.7", 24, 1), own("fe80::5d1a:2b3c%27", 64, 4)},
		},
	}, nil
}

// stagedCounters are four counters; a rate has a value from the second reading on. That of _broken never has.
type stagedCounters struct{}

func (*stagedCounters) Expand(path string) ([]string, error) {
	low := strings.ToLower(path)
	known := []string{
		`\Processor(0)\% Processor Time`, `\Processor(_Total)\% Processor Time`, `\Memory\Available MBytes`,
		`\Process(broken)\ID Process`,
	}
	object, rest, ok := strings.Cut(strings.TrimPrefix(low, `\`), `\`)
	switch {
	case !ok || !strings.HasPrefix(path, `\`):
		return nil, counters.BadPath
	case !slices.Contains([]string{"processor", "memory", "process"}, strings.SplitN(object, "(", 2)[0]):
		return nil, counters.NoObject
	case strings.HasPrefix(rest, "none"):
		return nil, counters.NoCounter
	}

	re := regexp.MustCompile("(?i)^" + strings.ReplaceAll(regexp.QuoteMeta(path), `\*`, ".*") + "$")
	var found []string
	for _, one := range known {
		if re.MatchString(one) {
			found = append(found, one)
		}
	}
	return found, nil
}

func (*stagedCounters) Open(paths []string) (counters.Query, error) {
	return &stagedQuery{paths: paths}, nil
}

type stagedQuery struct {
	paths []string
	times int
}

func (q *stagedQuery) Close() error { return nil }

func (q *stagedQuery) Collect() (all []counters.Sample, err error) {
	q.times++
	for _, path := range q.paths {
		s := counters.Sample{
			Path: path, Cooked: 12.5 * float64(q.times), Raw: int64(q.times) * 100, Count: 1, Type: 0x20510500,
			At: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC),
		}
		if strings.Contains(path, "broken") {
			s.Status, s.Cooked = 0xC0000BC6, 0
		}
		all = append(all, s)
	}
	return all, nil
}
