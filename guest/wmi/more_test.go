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
				Config: services.Config{
					Binary:       `C:\k\kubelet.exe --v=2`,
					Account:      "LocalSystem",
					ErrorControl: 1,
				},
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
	o := facts().Complete(Object{
		Class: "Win32_Service",
		Names: []string{"Name", "ProcessID"},
		Props: []any{"kubelet", int64(9)},
	})
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

	unknown := facts().Complete(Object{
		Class: "Win32_Service",
		Names: []string{"Name"},
		Props: []any{"other"},
	})
	if len(unknown.Names) != 1 {
		t.Errorf("of an unknown service: %+v", unknown)
	}

	process := Object{
		Class: "Win32_Process",
		Names: []string{"ProcessID", "WorkingSetSize"},
		Props: []any{int64(12), int64(0)},
	}
	got := facts().Complete(process).Only([]string{
		"handlecount", "ExecutablePath", "WorkingSetSize", "PageFileUsage", "UserModeTime", "nothing",
	})
	want := Object{
		Class: "Win32_Process", Names: []string{"HandleCount", "ExecutablePath", "WorkingSetSize", "PageFileUsage", "UserModeTime"},
		Props: []any{int64(7), `C:\a.exe`, int64(4096), int64(2), int64(30)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of a process (-want +got):\n%s", diff)
	}
	other := facts().Complete(Object{
		Class: "Win32_Process",
		Names: []string{"ProcessId"},
		Props: []any{int64(4)},
	})
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
		if got := facts().Complete(tt.o).Value(tt.name); got != tt.want {
			t.Errorf("%s.%s is %v, want %v", tt.class, tt.name, got, tt.want)
		}
	}
}

// TestWhole: a query is one for all properties only if it asks for one that Wine lacks, or has a condition of one.
func TestWhole(t *testing.T) {
	for query, want := range map[string]Question{
		"SELECT * FROM Win32_Service":                                  {Ask: "SELECT * FROM Win32_Service", Adds: true},
		"SELECT Name, State FROM Win32_Service":                        {Ask: "SELECT Name, State FROM Win32_Service"},
		"select Name,pathname from Win32_Service where x":              {Ask: "SELECT * from Win32_Service where x", Wanted: []string{"Name", "pathname"}, Adds: true},
		"SELECT PathName FROM Win32_Thing":                             {Ask: "SELECT PathName FROM Win32_Thing"},
		"SELECT Name FROM Win32_Service WHERE State='Running'":         {Ask: "SELECT Name FROM Win32_Service WHERE State='Running'"},
		"SELECT Name FROM Win32_Service WHERE a='b' AND StartName='c'": {Ask: "SELECT Name FROM Win32_Service WHERE a='b' AND StartName='c'"},
		"SELECT * FROM Win32_Service WHERE StartName = 'LocalSystem'":  {Ask: "SELECT * FROM Win32_Service", Adds: true, where: &comparison{"StartName", "=", "LocalSystem"}},
		"SELECT Index FROM Win32_NetworkAdapterConfiguration WHERE IPEnabled=TRUE": {
			Ask: "SELECT * FROM Win32_NetworkAdapterConfiguration", Wanted: []string{"Index"}, Adds: true, where: &comparison{"IPEnabled", "=", "TRUE"},
		},
		"no query": {Ask: "no query"},
		"":         {},
	} {
		if diff := cmp.Diff(want, Whole(query), cmp.AllowUnexported(Question{}, comparison{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

// TestMeets looks at conditions of properties that Wine lacks
// (https://learn.microsoft.com/windows/win32/wmisdk/like-operator).
func TestMeets(t *testing.T) {
	o := Object{Names: []string{"PathName", "Started", "ExitCode", "StartName"}, Props: []any{`C:\k\kubelet.exe`, true, int64(5), nil}}
	for where, want := range map[string]bool{
		"Started=TRUE": true, "Started = false": false, "Started <> TRUE": false, "ExitCode=5": true, "ExitCode != 5": false,
		`PathName LIKE "%KUBELET%"`: true, `PathName LIKE 'C:\\k\\_ubelet.exe'`: true, "PathName like 'kubelet'": false, "PathName LIKE '(%'": false,
		`PathName='C:\\k\\kubelet.exe'`: true, "StartName=''": true, "StartName='x'": false,
	} {
		q := Whole("SELECT * FROM Win32_Service WHERE " + where)
		if q.where == nil || q.Meets(o) != want {
			t.Errorf("%s: %v, want %v (%+v)", where, q.Meets(o), want, q.where)
		}
	}
	if !Whole("SELECT * FROM Win32_Service").Meets(o) {
		t.Error("no condition is not met")
	}
}
