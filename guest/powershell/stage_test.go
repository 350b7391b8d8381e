package powershell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/guest/timezone"
	"mullion.dev/mullion/guest/token"
	"mullion.dev/mullion/guest/winproc"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
	"mullion.dev/mullion/internal/windows/wire/localuser"
)

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
	case query == "SELECT * FROM Win32_QuickFixEngineering":
		return []system.WMIObject{
			{
				Class: "Win32_QuickFixEngineering", Names: []string{"Caption", "HotFixID"},
				Props: []any{"http://winehq.org", "KB1234567"},
			},
			{
				Class: "Win32_QuickFixEngineering", Names: []string{"Caption", "HotFixID", "Description", "InstalledBy", "InstalledOn"},
				Props: []any{"http://support.test/1", "KB5001", "Security Update", `NT AUTHORITY\SYSTEM`, booted},
			},
		}, nil
	case query == "SELECT * FROM Win32_BIOS":
		return []system.WMIObject{{
			Class: "Win32_BIOS", Names: []string{"SMBIOSBIOSVersion", "Manufacturer", "Name", "SerialNumber", "Version", "Caption"},
			Props: []any{"Wine", "The Wine Project", "Default System BIOS", "0", "WINE   - 1", "x"},
		}}, nil
	case query == "SELECT * FROM Win32_Service":
		names := []string{"Name", "ProcessId", "StartMode", "State", "Status", "ExitCode", "PathName"}
		return []system.WMIObject{
			{Class: "Win32_Service", Names: names, Props: []any{"kubelet", int64(12), "Auto", "Running", "OK", int64(0), `C:\k\kubelet.exe`}},
			{Class: "Win32_Service", Names: names, Props: []any{"spooler", int64(0), "Disabled", "Stopped", "OK", int64(1077), nil}},
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

// stageHosts knows some hosts.
func stageHosts(_ context.Context, host string) ([]netip.Addr, error) {
	known := map[string]string{
		"server": "192.0.2.7 2001:db8::7", "six": "2001:db8::6", "192.0.2.9": "192.0.2.9", "silent": "192.0.2.66", "far": "192.0.2.67",
		"broken": "192.0.2.68",
	}[host]
	if known == "" {
		return nil, errors.New("no such host")
	}
	var all []netip.Addr
	for a := range strings.FieldsSeq(known) {
		all = append(all, netip.MustParseAddr(a))
	}
	return all, nil
}

// stageEcho answers pings, but those of some hosts.
func stageEcho(to netip.Addr, p system.Ping) (system.Echo, error) {
	switch to.String() {
	case "192.0.2.66":
		return system.Echo{Status: system.EchoTimedOut}, nil
	case "192.0.2.67":
		return system.Echo{Status: 11099}, nil
	case "192.0.2.68":
		return system.Echo{}, errors.New("ICMP is not there")
	}
	return system.Echo{Took: time.Duration(p.Size) * time.Millisecond, TTL: 64}, nil
}

// stageWindows returns a fake of the calls of Windows: two networks, a list of load balancers, an access list and three
// processes.
func stageWindows() *system.Calls {
	hns := func(method, path, body string) (string, error) {
		switch {
		case strings.HasPrefix(path, "/endpoints/gone"):
			return `{"Success":false,"Error":"Element not found."}`, nil
		case method == "POST":
			return fmt.Sprintf(`{"Success":true,"Output":{"ID":"made","Asked":%q}}`, path+" "+body), nil
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
		Events: newStageEvents(),

		Seals: system.Seals{
			Protect: func(plain []byte) ([]byte, error) {
				if len(plain) == 0 {
					return nil, errors.New("there is nothing to seal")
				}
				return append([]byte("sealed:"), plain...), nil
			},
			Unprotect: func(sealed []byte) ([]byte, error) {
				plain, ours := bytes.CutPrefix(sealed, []byte("sealed:"))
				if !ours {
					return nil, words.Errorf("The data is invalid.")
				}
				return plain, nil
			},
		},
		Certificates: stagedStores{},
		Groups:       &stagedGroups{localgroup.BuiltIn()},
		Users:        &stagedUsers{localuser.BuiltIn()},
		Counters:     &stagedCounters{},
		Tasks:        stageTasks(),
		WMI:          stageWMI,
		Services:     func() ([]system.Service, error) { return slices.Clone(services), nil },
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
		Lookup:   stageHosts,
		Echo:     stageEcho,
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

// stagedUsers are the local accounts of a Windows, in memory.
type stagedUsers struct{ users localuser.Users }

func (s *stagedUsers) Read() (localuser.Users, error) { return s.users, nil }

func (s *stagedUsers) Change(change func(u localuser.Users) (localuser.Users, error)) error {
	u, err := change(s.users)
	if err == nil {
		s.users = u
	}
	return err
}

// stagedGroups are the local groups of a Windows, in memory.
type stagedGroups struct{ groups localgroup.Groups }

func (s *stagedGroups) Read() (localgroup.Groups, error) { return s.groups, nil }

func (s *stagedGroups) Change(change func(g localgroup.Groups) (localgroup.Groups, error)) error {
	g, err := change(s.groups)
	if err == nil {
		s.groups = g
	}
	return err
}
