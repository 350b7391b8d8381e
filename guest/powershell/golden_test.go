package powershell

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/guest/timezone"
	"mullion.dev/mullion/guest/token"
	"mullion.dev/mullion/guest/winnet"
	"mullion.dev/mullion/guest/winproc"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

var update = flag.Bool("update", false, "rewrite what the scripts in testdata print")

// scripts are the scripts of a folder of testdata, by their names.
func scripts(tb testing.TB, folder string) map[string]string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.ps1"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("find the scripts: %v, %v", files, err)
	}
	found := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		found[strings.TrimSuffix(filepath.Base(f), ".ps1")] = string(data)
	}
	return found
}

// stageWMI answers a few queries as Wine's WMI does.
func stageWMI(_ context.Context, namespace, query string) ([]system.WMIObject, error) {
	booted := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	windows := system.WMIObject{
		Class: "Win32_OperatingSystem",
		Names: []string{"Caption", "LastBootUpTime", "FreePhysicalMemory", "MUILanguages", "Nothing"},
		Props: []any{"Microsoft Windows 10 Pro", booted, int64(1 << 33), []any{"en-US", "de-DE"}, nil},
	}
	switch {
	case namespace != `root\cimv2`:
		return nil, system.ErrWMINamespace
	case query == "SELECT * FROM Win32_OperatingSystem":
		return []system.WMIObject{windows}, nil
	case strings.HasPrefix(query, "SELECT * FROM Win32_Process WHERE ProcessId = '"):
		id, err := strconv.Atoi(strings.Trim(query[strings.Index(query, "'"):], "'"))
		return []system.WMIObject{{
			Class: "Win32_Process", Names: []string{"CommandLine", "ParentProcessId", "ProcessId"}, Props: []any{
				nil,
				int64(4), int64(id),
			},
		}}, err
	case query == "SELECT Name, CommandLine, ProcessId FROM Win32_Process":
		return []system.WMIObject{
			{
				Class: "Win32_Process", Names: []string{"Name", "CommandLine", "ProcessId"},
				Props: []any{"System", nil, int64(4)},
			},
			{
				Class: "Win32_Process", Names: []string{"Name", "CommandLine", "ProcessId"},
				Props: []any{"kubelet.exe", nil, int64(12)},
			},
		}, nil
	case query == "SELECT * FROM Win32_ComputerSystemProduct":
		return []system.WMIObject{{
			Class: "Win32_ComputerSystemProduct", Names: []string{"Name", "UUID"},
			Props: []any{"Wine", "0"},
		}}, nil
	case query == "SELECT Name, State FROM Win32_Service WHERE Name LIKE 'kube%'":
		return []system.WMIObject{{
			Class: "Win32_Service", Names: []string{"Name", "State"},
			Props: []any{"kubelet", "Running"},
		}}, nil
	case strings.HasPrefix(query, "SELECT * FROM Win32_"):
		return nil, system.ErrWMIClass
	}
	return nil, system.ErrWMIQuery
}

// stageWindows is a fake of the calls of Windows: two networks, a list of load balancers, an access list and three
// processes.
func stageWindows() *system.Calls {
	hns := func(method, path, _ string) (string, error) {
		switch {
		case method == "DELETE" && strings.HasSuffix(path, "/b"):
			return `{"Success":false,"Error":"Element not found."}`, nil
		case method == "DELETE":
			return `{"Success":true}`, nil
		case path == "/networks/7":
			return `{"Success":true,"Output":{"Name":"cbr0","ID":"7"}}`, nil
		case path == "/networks/":
			return `{"Success":true,"Output":[{"Name":"nat","Type":"NAT"},` +
				`{"Name":"cbr0","Type":"L2Bridge","Subnets":[{"AddressPrefix":"10.244.1.0/24"}]}]}`, nil
		case path == "/endpoints/":
			return `{"Success":true,"Output":[{"Name":"Calico_ep","IPAddress":"10.244.1.2"}]}`, nil
		case path == "/policylists/":
			return `{"Success":true,"Output":[{"ID":"a"},{"ID":"b"}]}`, nil
		}
		return "", errors.New("HNS does not answer")
	}
	lists := stageACL()
	disks := stageDisks()
	zone := "UTC"
	known := stageRoutes()
	running := []system.Process{
		{ID: 4, Name: "System"},
		{ID: 12, Name: "kubelet.exe"},
		{ID: 40, Name: "kube-proxy.EXE"},
	}
	services := []system.Service{
		{Name: "kubelet", Display: "Kubernetes' kubelet", Status: "Running", Start: "Automatic"},
		{Name: "containerd", Display: "containerd", Status: "Running", Start: "Automatic"},
		{Name: "stuck", Display: "Stuck", Status: "Stopped", Start: "Manual"},
	}
	return &system.Calls{
		Events:   newStageEvents(),
		WMI:      stageWMI,
		Services: func() ([]system.Service, error) { return slices.Clone(services), nil },
		Control: func(_ context.Context, name, action string, force bool) error {
			i := slices.IndexFunc(services, func(s system.Service) bool { return s.Name == name })
			if name == "stuck" && action != "stop" {
				return errors.New("it ended with 5")
			}
			if action == "delete" {
				services = slices.Delete(services, i, i+1)
				return nil
			}
			if name == "containerd" && !force {
				return system.ErrHasDependents
			}
			services[i].Status = map[string]string{"start": "Running", "stop": "Stopped"}[action]
			return nil
		},
		NewService: func(change system.ServiceChange) error {
			if change.Binary == "none" {
				return errors.New("access is denied")
			}
			services = append(services, system.Service{
				Name: change.Name, Display: change.Display, Status: "Stopped",
				Start: change.Start,
			})
			return nil
		},
		SetService: func(change system.ServiceChange) error {
			i := slices.IndexFunc(services, func(s system.Service) bool { return s.Name == change.Name })
			if change.Display == "none" {
				return errors.New("access is denied")
			}
			if change.Display != "" {
				services[i].Display = change.Display
			}
			if change.Start != "" {
				services[i].Start = change.Start
			}
			return nil
		},
		HNS: hns,
		Compute: func(query string) (string, error) {
			switch query {
			case `{}`:
				return `[{"Id":"c1","SystemType":"Container","Owner":"containerd-shim-runhcs-v1.exe"},` +
					`{"Id":"p1@vm","SystemType":"VirtualMachine","Owner":"containerd-shim-runhcs-v1.exe"}]`, nil
			case `{"Types":["Container"],"Owners":["me"]}`:
				return `[]`, nil
			}
			return "", errors.New("it answers 0x80070057")
		},
		Identity: func() (token.Identity, error) {
			return token.Identity{
				User: `WIN-1\Admin`, SID: "S-1-5-21-1-2-3-500",
				Groups: []token.Group{{Name: "Everyone", SID: "S-1-1-0"}, {Name: `BUILTIN\Administrators`, SID: "S-1-5-32-544"}},
			}, nil
		},
		ACL: lists.of, SetACL: lists.set, Descriptor: lists.read, Account: lists.account,
		Processes: func() ([]system.Process, error) { return slices.Clone(running), nil },
		Counted: func(id int64) (winproc.Detail, error) {
			if id == 4 {
				return winproc.Detail{}, errors.New("access is denied")
			}
			return winproc.Detail{
				Path: `C:\k\kubelet.exe`, Start: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), Handles: uint32(id) * 10,
				User: 90 * time.Second, Kernel: 1500 * time.Millisecond,
				WorkingSet: uint64(id) << 20, PeakWorkingSet: uint64(id) << 21, Virtual: 4 << 30, PeakVirtual: 5 << 30,
				Paged: uint64(id) << 19, PeakPaged: uint64(id) << 20, PagedPool: 3 << 10, Nonpaged: 20 << 10,
			}, nil
		},
		CommandLine: func(id int64) (string, error) {
			if id != 12 {
				return "", errors.New("access is denied")
			}
			return `C:\k\kubelet.exe --v=2`, nil
		},
		Kill: func(id int64) error {
			if id == 4 {
				return words.Errorf("Access is denied.")
			}
			running = slices.DeleteFunc(running, func(p system.Process) bool { return p.ID == id })
			return nil
		},
		Adapters: stageAdapters,
		Resolve:  stageDNS,
		Sockets:  stageSockets,
		Routes:   func() ([]system.Route, error) { return slices.Clone(known), nil },
		AddRoute: func(r system.Route) error {
			for _, other := range known {
				if other.Prefix == r.Prefix {
					return words.Errorf("Instance MSFT_NetRoute already exists")
				}
			}
			known = append(known, r)
			return nil
		},
		RemoveRoute: func(r system.Route) error {
			known = slices.DeleteFunc(known, func(other system.Route) bool {
				return other.Prefix == r.Prefix && other.Hop == r.Hop
			})
			return nil
		},
		Forwards: func() (bool, error) { return true, nil },
		SMB:      stageSMB(),
		ISCSI:    (&stagedISCSI{disks: disks}).ask,
		Volumes:  func() ([]system.Volume, error) { return stageVolumes(), nil },
		Disks:    disks.ask, MountVolume: disks.mount, UnmountVolume: disks.unmount,
		Version: func() (string, error) { return "10.0.20348", nil },
		Clear: func(screen io.Writer) error {
			_, err := fmt.Fprintln(screen, "(the screen is clear)")
			return err
		},
		End: func(restart bool) error {
			if restart {
				return nil
			}
			return errors.New("Access is denied.(5)")
		},
		Registry: stageRegistry(),
		Zone:     func() (string, error) { return zone, nil },
		SetZone: func(id string) error {
			if id == "" || strings.EqualFold(id, "Nowhere Standard Time") {
				return timezone.ErrUnknown
			}
			zone = id
			return nil
		},
		Listen: func(ctx context.Context, network, _ string) (net.Listener, error) {
			return (&net.ListenConfig{}).Listen(ctx, network, "127.0.0.1:0")
		},
	}
}

// stageVolumes are the volumes of a host with a second drive.
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
		if _, short, _ := strings.Cut(full, `\`); strings.EqualFold(name, full) || short != "" &&
			strings.EqualFold(name, short) || name == sid {
			return sid, full, nil
		}
	}
	return "", "", errors.New("there is no such account")
}

// stageSMB is an agent that knows one server, \\files, and one password.
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
			all = append(all, smbmapping.Mapping{Remote: r.Remote, Local: r.Local, Connected: true})
			a.Mappings = all[len(all)-1:]
		}
		return a, nil
	}
}

// stageRoutes are the routes of a pod.
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

// stageDNS is a DNS with a few names.
func stageDNS(name string, kind uint16) ([]system.DNSRecord, error) {
	of := func(kind uint16, data string, numbers ...int64) system.DNSRecord {
		return system.DNSRecord{Name: name, Kind: kind, TTL: 30, Section: 1, Data: data, Numbers: numbers}
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

// stageSockets are the sockets of a pod: a server with a client, one of IPv6, and a socket of UDP.
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

// stageAdapters are the adapters of a pod: a loopback, and one with addresses of both families.
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

// play runs a script and returns its output, exit code and errors, in the form of a golden file.
func play(t *testing.T, script string) (string, outcome) {
	t.Helper()
	// its name is so long that errors leave out its middle, whatever numbers are in it
	dir := filepath.Join(t.TempDir(), "the-folder-of-the-script")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	s := Session{
		Args:    []string{"-NoProfile", "-Command", script},
		Environ: []string{"PATH=/usr/bin:/bin", "COMPUTERNAME=HOST-1", "HOME=/home/me"},
		Stdin:   strings.NewReader(""),
		Stdout:  &out,
		Stderr:  &errs,
		Self:    self,
		Newline: "\n",
		windows: stageWindows(),
	}
	got := outcome{code: s.Run(t.Context())}
	pid := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, os.Getpid()))
	cut := regexp.MustCompile(`\(\S{18}\.\.\.\S{18}:String\)`) // the middle of a path, which is left out, has the folder's name
	changing := func(text string) string {
		text = cut.ReplaceAllString(text, "(DIR...:String)")
		return pid.ReplaceAllString(strings.ReplaceAll(text, dir, "DIR"), "PID")
	}
	// with the blanks before it: it ends a column, and is as wide as day and hour are
	at := regexp.MustCompile(` *\d+/\d+/\d{4} +\d+:\d\d [AP]M`)
	got.out = at.ReplaceAllString(changing(out.String()), "TIME")
	got.errs = changing(errs.String())
	return fmt.Sprintf("%s-- exit %d --\n%s", got.out, got.code, got.errs), got
}

// compareGolden compares a script's result with the golden file beside it.
func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-%s +what it gives:\n%s", file, diff)
	}
}

// golden is the file beside a script.
func golden(t *testing.T, folder, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", folder, name+".out"))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestScripts runs scripts that use what is implemented.
func TestScripts(t *testing.T) {
	for name, script := range scripts(t, "run") {
		t.Run(name, func(t *testing.T) {
			file := golden(t, "run", name)
			got, _ := play(t, script)
			compareGolden(t, file, got)
		})
	}
}

// TestRefusals checks that a text which is not PowerShell is refused before any of it runs, with its place and in the
// form of about_Parsing and about_Error_Records.
func TestRefusals(t *testing.T) {
	for name, script := range scripts(t, "refused") {
		t.Run(name, func(t *testing.T) {
			file := golden(t, "refused", name)
			text, got := play(t, "Set-Content ran yes; echo ran; "+script)
			compareGolden(t, file, text)
			if got.code != ExitRefused || got.out != "" || !strings.Contains(got.errs,
				"ParserError: (:) [], ParentContains") {
				t.Errorf("no refusal: %+v", got)
			}
			if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
				t.Errorf("a part of it was run: %v, %v", left, err)
			}
		})
	}
}

// TestLate checks that what is not there is an error of its statement, and that the script goes on with the next one
// (about_Try_Catch_Finally, about_CommonParameters).
func TestLate(t *testing.T) {
	for name, script := range scripts(t, "late") {
		t.Run(name, func(t *testing.T) {
			file := golden(t, "late", name)
			text, got := play(t, "echo before; "+script+"\necho after")
			compareGolden(t, file, text)
			if got.code != 0 || !strings.HasPrefix(got.out, "before\n") || !strings.HasSuffix(got.out, "after\n") {
				t.Errorf("it ended there: %+v", got)
			}
			if got.errs == "" {
				t.Errorf("it printed no error: %+v", got)
			}
		})
	}
}

// TestEnds checks that an error which ends a script ends it there, with exit code 1.
func TestEnds(t *testing.T) {
	for name, script := range scripts(t, "ended") {
		t.Run(name, func(t *testing.T) {
			file := golden(t, "ended", name)
			text, got := play(t, "echo before; "+script+"\necho after")
			compareGolden(t, file, text)
			refused := strings.Contains(got.errs, "Nothing was run")
			if got.code != 1 || strings.Contains(got.out, "after") || got.errs == "" || refused {
				t.Errorf("it did not end there: %+v", got)
			}
		})
	}
}
