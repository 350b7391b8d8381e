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

	"mullion.dev/mullion/guest/timezone"
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
func stageWMI(_ context.Context, namespace, query string) ([]wmiObject, error) {
	booted := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	system := wmiObject{
		"Win32_OperatingSystem",
		[]string{"Caption", "LastBootUpTime", "FreePhysicalMemory", "MUILanguages", "Nothing"},
		[]any{"Microsoft Windows 10 Pro", booted, int64(1 << 33), []any{"en-US", "de-DE"}, nil},
	}
	switch {
	case namespace != `root\cimv2`:
		return nil, errWMINamespace
	case query == "SELECT * FROM Win32_OperatingSystem":
		return []wmiObject{system}, nil
	case strings.HasPrefix(query, "SELECT * FROM Win32_Process WHERE ProcessId = '"):
		id, err := strconv.Atoi(strings.Trim(query[strings.Index(query, "'"):], "'"))
		return []wmiObject{{
			"Win32_Process", []string{"CommandLine", "ParentProcessId", "ProcessId"}, []any{nil, int64(4), int64(id)},
		}}, err
	case query == "SELECT Name, CommandLine, ProcessId FROM Win32_Process":
		return []wmiObject{
			{"Win32_Process", []string{"Name", "CommandLine", "ProcessId"}, []any{"System", nil, int64(4)}},
			{"Win32_Process", []string{"Name", "CommandLine", "ProcessId"}, []any{"kubelet.exe", nil, int64(12)}},
		}, nil
	case query == "SELECT * FROM Win32_ComputerSystemProduct":
		return []wmiObject{{"Win32_ComputerSystemProduct", []string{"Name", "UUID"}, []any{"Wine", "0"}}}, nil
	case query == "SELECT Name, State FROM Win32_Service WHERE Name LIKE 'kube%'":
		return []wmiObject{{"Win32_Service", []string{"Name", "State"}, []any{"kubelet", "Running"}}}, nil
	case strings.HasPrefix(query, "SELECT * FROM Win32_"):
		return nil, errWMIClass
	}
	return nil, errWMIQuery
}

// stageWindows is a fake of the calls of Windows: two networks, a list of load balancers, an access list and three
// processes.
func stageWindows() *system {
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
	running := []process{{4, "System"}, {12, "kubelet.exe"}, {40, "kube-proxy.EXE"}}
	services := []service{
		{"kubelet", "Kubernetes' kubelet", "Running", "Automatic"},
		{"containerd", "containerd", "Running", "Automatic"},
		{"stuck", "Stuck", "Stopped", "Manual"},
	}
	return &system{
		events:   newStageEvents(),
		wmi:      stageWMI,
		services: func() ([]service, error) { return slices.Clone(services), nil },
		control: func(_ context.Context, name, action string, force bool) error {
			i := slices.IndexFunc(services, func(s service) bool { return s.name == name })
			if name == "stuck" && action != "stop" {
				return errors.New("it ended with 5")
			}
			if action == "delete" {
				services = slices.Delete(services, i, i+1)
				return nil
			}
			if name == "containerd" && !force {
				return errHasDependents
			}
			services[i].status = map[string]string{"start": "Running", "stop": "Stopped"}[action]
			return nil
		},
		newService: func(change serviceChange) error {
			if change.binary == "none" {
				return errors.New("access is denied")
			}
			services = append(services, service{change.name, change.display, "Stopped", change.start})
			return nil
		},
		setService: func(change serviceChange) error {
			i := slices.IndexFunc(services, func(s service) bool { return s.name == change.name })
			if change.display == "none" {
				return errors.New("access is denied")
			}
			if change.display != "" {
				services[i].display = change.display
			}
			if change.start != "" {
				services[i].start = change.start
			}
			return nil
		},
		hns: hns,
		compute: func(query string) (string, error) {
			switch query {
			case `{}`:
				return `[{"Id":"c1","SystemType":"Container","Owner":"containerd-shim-runhcs-v1.exe"},` +
					`{"Id":"p1@vm","SystemType":"VirtualMachine","Owner":"containerd-shim-runhcs-v1.exe"}]`, nil
			case `{"Types":["Container"],"Owners":["me"]}`:
				return `[]`, nil
			}
			return "", errors.New("it answers 0x80070057")
		},
		acl: lists.of, setACL: lists.set, descriptor: lists.read, account: lists.account,
		processes: func() ([]process, error) { return slices.Clone(running), nil },
		commandLine: func(id int64) (string, error) {
			if id != 12 {
				return "", errors.New("access is denied")
			}
			return `C:\k\kubelet.exe --v=2`, nil
		},
		kill: func(id int64) error {
			if id == 4 {
				return itsWords("Access is denied.")
			}
			running = slices.DeleteFunc(running, func(p process) bool { return p.id == id })
			return nil
		},
		adapters: stageAdapters,
		resolve:  stageDNS,
		routes:   func() ([]route, error) { return slices.Clone(known), nil },
		addRoute: func(r route) error {
			for _, other := range known {
				if other.prefix == r.prefix {
					return itsWords("Instance MSFT_NetRoute already exists")
				}
			}
			known = append(known, r)
			return nil
		},
		removeRoute: func(r route) error {
			known = slices.DeleteFunc(known, func(other route) bool {
				return other.prefix == r.prefix && other.hop == r.hop
			})
			return nil
		},
		forwards: func() (bool, error) { return true, nil },
		smb:      stageSMB(),
		iscsi:    (&stagedISCSI{disks: disks}).ask,
		volumes:  func() ([]volume, error) { return stageVolumes(), nil },
		disks:    disks.ask, mountVolume: disks.mount, unmountVolume: disks.unmount,
		version: func() (string, error) { return "10.0.20348", nil },
		clear: func(screen io.Writer) error {
			_, err := fmt.Fprintln(screen, "(the screen is clear)")
			return err
		},
		end: func(restart bool) error {
			if restart {
				return nil
			}
			return errors.New("Access is denied.(5)")
		},
		registry: stageRegistry(),
		zone:     func() (string, error) { return zone, nil },
		setZone: func(id string) error {
			if id == "" || strings.EqualFold(id, "Nowhere Standard Time") {
				return timezone.ErrUnknown
			}
			zone = id
			return nil
		},
		listen: func(ctx context.Context, network, _ string) (net.Listener, error) {
			return (&net.ListenConfig{}).Listen(ctx, network, "127.0.0.1:0")
		},
	}
}

// stageVolumes are the volumes of a host with a second drive.
func stageVolumes() []volume {
	return []volume{
		{`C`, `\\?\Volume{00000000-0000-0000-0000-000000000043}\`, "", "NTFS", "Fixed", 1 << 30, 1 << 29},
		{`D`, `\\?\Volume{00000000-0000-0000-0000-000000000044}\`, "data", "", "Removable", 4096, 0},
	}
}

// stagedACL has the descriptors of files, by path, and three accounts.
type stagedACL map[string]acl

func stageACL() stagedACL { return stagedACL{} }

func (s stagedACL) of(path string) (acl, error) {
	if a, ok := s[path]; ok {
		return a, nil
	}
	return acl{
		owner:    `BUILTIN\Administrators`,
		ownerSID: "S-1-5-32-544",
		group:    `NT AUTHORITY\SYSTEM`,
		sddl:     "O:BA",
		rules: []rule{
			{who: `BUILTIN\Administrators`, sid: "S-1-5-32-544", rights: 0x1f01ff},
			{who: `NT AUTHORITY\SYSTEM`, sid: "S-1-5-18", rights: 0x1f01ff},
			{who: `BUILTIN\Users`, sid: "S-1-5-32-545", rights: 0x1200a9, flags: aceObjectInherit | aceInherited},
		},
	}, nil
}

func (s stagedACL) set(path string, a acl) error {
	if filepath.Base(path) == "locked" {
		return os.ErrPermission
	}
	a.rules = slices.Clone(a.rules)
	s[path] = a
	return nil
}

// read knows one text.
func (s stagedACL) read(sddl string) (acl, error) {
	if sddl != "O:SYD:P(D;;FA;;;BU)" {
		return acl{}, errors.ErrUnsupported
	}
	return acl{
		owner: `NT AUTHORITY\SYSTEM`, ownerSID: "S-1-5-18", sddl: sddl, protected: true,
		rules: []rule{{who: `BUILTIN\Users`, sid: "S-1-5-32-545", rights: 0x1f01ff, deny: true}},
	}, nil
}

func (s stagedACL) account(name string) (sid, full string, err error) {
	for sid, full := range map[string]string{
		"S-1-5-32-544": `BUILTIN\Administrators`, "S-1-5-32-545": `BUILTIN\Users`, "S-1-5-18": `NT AUTHORITY\SYSTEM`, "S-1-1-0": "Everyone",
	} {
		if _, short, _ := strings.Cut(full, `\`); strings.EqualFold(name, full) || short != "" && strings.EqualFold(name, short) || name == sid {
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
			a.Error, a.Code = "The network path was not found.", 53
		case r.User != `CONTOSO\me` || r.Password != "secret" || r.Privacy:
			a.Error, a.Code = "The user name or password is incorrect.", 1326
		default:
			all = append(all, smbmapping.Mapping{Remote: r.Remote, Local: r.Local, Connected: true})
			a.Mappings = all[len(all)-1:]
		}
		return a, nil
	}
}

// stageRoutes are the routes of a pod.
func stageRoutes() []route {
	of := func(prefix, hop string, metric int64) route {
		return route{index: 27, prefix: netip.MustParsePrefix(prefix), hop: netip.MustParseAddr(hop), metric: metric}
	}
	return []route{
		of("0.0.0.0/0", "10.244.1.1", 256), of("10.244.1.0/24", "0.0.0.0", 256), of("fe80::/64", "::", 256),
		{index: 1, prefix: netip.MustParsePrefix("127.0.0.0/8"), hop: netip.MustParseAddr("0.0.0.0"), publish: true},
	}
}

// stageDNS is a DNS with a few names.
func stageDNS(name string, kind uint16) ([]dnsRecord, error) {
	of := func(kind uint16, data string, numbers ...int64) dnsRecord {
		return dnsRecord{name: name, kind: kind, ttl: 30, section: 1, data: data, numbers: numbers}
	}
	known := map[string][]dnsRecord{
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
		return nil, errNoName
	}
	return nil, errNoRecords
}

// stageAdapters are the adapters of a pod: a loopback, and one with addresses of both families.
func stageAdapters() ([]adapter, error) {
	own := func(s string, bits, suffix int64) adapterAddress {
		return adapterAddress{
			addr: netip.MustParseAddr(s), bits: bits, prefix: 1, suffix: suffix, state: 4,
			valid: infinite, preferred: infinite,
		}
	}
	return []adapter{
		{
			name:        "Loopback Pseudo-Interface 1",
			description: "Software Loopback Interface 1",
			index:       1,
			up:          true,
			loopback:    true,
			addrs:       []adapterAddress{own("127.0.0.1", 8, 1), own("::1", 128, 1)},
		},
		{
			name:        "vEthernet (Ethernet)",
			description: "Hyper-V Virtual Ethernet Container Adapter",
			index:       27,
			mac:         []byte{0, 0x15, 0x5d, 0x1a, 0x2b, 0x3c},
			up:          true,
			speed:       10_000_000_000,
			mtu:         1500,
			addrs:       []adapterAddress{own("10.244.1.7", 24, 1), own("fe80::5d1a:2b3c%27", 64, 4)},
		},
	}, nil
}

// play runs a script and returns its output, exit code and errors, in the form of a golden file.
func play(t *testing.T, script string) (string, outcome) {
	t.Helper()
	dir := t.TempDir()
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
	changing := func(text string) string {
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
			if got.code != ExitRefused || got.out != "" || !strings.Contains(got.errs, "ParserError: (:) [], ParentContains") {
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
