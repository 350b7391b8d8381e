package wmi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/winproc"
	"mullion.dev/mullion/internal/windows/wire/services"
)

// facts are of a Windows with one service and one process.
func facts() Facts {
	return Facts{
		Computer: "WIN-1",
		Service: func(name string) (Service, bool) {
			return Service{
				Config:      services.Config{Binary: `C:\k\kubelet.exe --v=2`, Account: "LocalSystem", ErrorControl: 1},
				Status:      services.Status{State: services.Running, Exit: 5},
				Description: "the kubelet", Delayed: true,
			}, name == "kubelet"
		},
		Process: func(id uint32) (winproc.Detail, bool) {
			return winproc.Detail{
				Path: `C:\a.exe`, Handles: 7, WorkingSet: 4096, Paged: 2048, Start: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC),
				User: 3 * time.Microsecond,
			}, id == 12
		},
		Processes: func() int { return 3 },
	}
}

// TestComplete has what Wine says of a service and of processes, and what is said of them then.
func TestComplete(t *testing.T) {
	o := facts().Complete(Object{Class: "Win32_Service", Names: []string{"Name", "ProcessID"}, Props: []any{"kubelet", int64(9)}}, nil)
	for name, want := range map[string]any{
		"pathname": `C:\k\kubelet.exe --v=2`, "StartName": "LocalSystem", "ErrorControl": "Normal", "ExitCode": int64(5), "Started": true,
		"Description": "the kubelet", "DelayedAutoStart": true, "Status": "OK", "ProcessId": int64(9),
	} {
		if got := o.Value(name); got != want {
			t.Errorf("%s of a service is %v, want %v", name, got, want)
		}
	}
	if o.Names[1] != "ProcessId" {
		t.Errorf("it is called %s", o.Names[1])
	}

	unknown := facts().Complete(Object{Class: "Win32_Service", Names: []string{"Name"}, Props: []any{"other"}}, nil)
	if len(unknown.Names) != 1 {
		t.Errorf("of an unknown service: %+v", unknown)
	}

	process := Object{Class: "Win32_Process", Names: []string{"ProcessID", "WorkingSetSize"}, Props: []any{int64(12), int64(0)}}
	got := facts().Complete(process, []string{"handlecount", "ExecutablePath", "WorkingSetSize", "PageFileUsage", "UserModeTime", "nothing"})
	want := Object{
		Class: "Win32_Process", Names: []string{"HandleCount", "ExecutablePath", "WorkingSetSize", "PageFileUsage", "UserModeTime"},
		Props: []any{int64(7), `C:\a.exe`, int64(4096), int64(2), int64(30)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of a process (-want +got):\n%s", diff)
	}
	other := facts().Complete(Object{Class: "Win32_Process", Names: []string{"ProcessId"}, Props: []any{int64(4)}}, nil)
	if other.Value("ExecutablePath") != nil || other.Value("CreationDate") != nil {
		t.Errorf("of a process that may not be opened: %+v", other)
	}

	for _, tt := range []struct {
		class, name string
		o           Object
		want        any
	}{
		{"Win32_ComputerSystem", "PartOfDomain", Object{}, false},
		{"Win32_ComputerSystem", "Workgroup", Object{Names: []string{"Domain"}, Props: []any{"WORKGROUP"}}, "WORKGROUP"},
		{"Win32_OperatingSystem", "NumberOfProcesses", Object{}, int64(3)},
		{"Win32_LogicalDisk", "Description", Object{Names: []string{"DriveType"}, Props: []any{int64(3)}}, "Local Fixed Disk"},
		{"Win32_LogicalDisk", "Description", Object{Names: []string{"DriveType"}, Props: []any{int64(99)}}, "Unknown"},
		{"Win32_NetworkAdapterConfiguration", "Caption", Object{Names: []string{"Index", "Description"}, Props: []any{int64(4), "eth0"}}, "[00000004] eth0"},
		{"Win32_NetworkAdapterConfiguration", "InterfaceIndex", Object{Names: []string{"Index"}, Props: []any{int64(4)}}, int64(4)},
		{"Win32_Processor", "Status", Object{}, "OK"},
		{"Win32_BIOS", "Caption", Object{Names: []string{"Name"}, Props: []any{"b"}}, "b"},
		{"Win32_QuickFixEngineering", "CSName", Object{}, "WIN-1"},
		{"Win32_Thing", "Status", Object{}, nil},
	} {
		tt.o.Class = tt.class
		if got := facts().Complete(tt.o, nil).Value(tt.name); got != tt.want {
			t.Errorf("%s.%s is %v, want %v", tt.class, tt.name, got, tt.want)
		}
	}
}

// TestWhole: a query is one for all properties only if it asks for one that Wine lacks.
func TestWhole(t *testing.T) {
	for query, want := range map[string]struct {
		ask    string
		wanted []string
		adds   bool
	}{
		"SELECT * FROM Win32_Service":                     {"SELECT * FROM Win32_Service", nil, true},
		"SELECT Name, State FROM Win32_Service":           {"SELECT Name, State FROM Win32_Service", nil, false},
		"select Name,pathname from Win32_Service where x": {"SELECT * from Win32_Service where x", []string{"Name", "pathname"}, true},
		"SELECT PathName FROM Win32_Thing":                {"SELECT PathName FROM Win32_Thing", nil, false},
		"no query":                                        {"no query", nil, false},
		"":                                                {"", nil, false},
	} {
		ask, wanted, adds := Whole(query)
		if ask != want.ask || cmp.Diff(wanted, want.wanted) != "" || adds != want.adds {
			t.Errorf("%q: %q, %q, %v; want %+v", query, ask, wanted, adds, want)
		}
	}
}
