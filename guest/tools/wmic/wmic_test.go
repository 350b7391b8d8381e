package wmic

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
	"mullion.dev/mullion/guest/wmi"
)

// fake is a Windows whose answers a test sets.
type fake struct {
	output Output
	asked  string // of which namespace, and the query
	found  []wmi.Object
	err    error
}

func (w *fake) Output() Output { return w.output }

func (w *fake) Computer() string { return "WIN-1" }

func (w *fake) Query(namespace, query string) ([]wmi.Object, error) {
	w.asked = namespace + ": " + query
	return w.found, w.err
}

// WMIC prints what Wine's wmic does: UTF-16 with a mark.
func (w *fake) WMIC(e program.Env, args []string) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	_, err := e.Stdout.Write(utf16Bytes("\ufeffSerialNumber\r\n" + strings.Join(args, " ") + " é\r\n"))
	return 7, err
}

type result = programtest.Result

// run runs wmic on a fake.
func run(t *testing.T, w *fake, args ...string) result {
	t.Helper()
	return programtest.Run("", func(e program.Env) int { return Run(e, w, args) })
}

// utf16Bytes returns a text in UTF-16.
func utf16Bytes(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// TestWines has lines that Wine's program carries out.
func TestWines(t *testing.T) {
	for name, tc := range map[string]struct {
		system fake
		line   string
		want   result
	}{
		"pipe":    {fake{output: Pipe}, "process call create x", result{Code: 7, Out: "SerialNumber\nprocess call create x ?\n"}},
		"broken":  {fake{output: Pipe, err: errors.New("no wmic1.exe")}, "/?", result{Code: 1, Err: "wmic: no wmic1.exe\n"}},
		"file":    {fake{output: File}, "os list status", result{Code: 7, Out: string(utf16Bytes("\ufeffSerialNumber\r\nos list status é\r\n"))}},
		"nothing": {fake{output: Pipe}, "", result{Code: 7, Out: "SerialNumber\n ?\n"}},
		"verb":    {fake{output: Pipe}, "os", result{Code: 7, Out: "SerialNumber\nos ?\n"}},
		"class":   {fake{output: Pipe}, "path a;b get", result{Code: 7, Out: "SerialNumber\npath a;b get ?\n"}},
		"switch":  {fake{output: Pipe}, "/node:x os get name", result{Code: 7, Out: "SerialNumber\n/node:x os get name ?\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, run(t, &tc.system, strings.Fields(tc.line)...)); diff != "" {
				t.Error(diff)
			}
		})
	}

	if got := inConsolesPage([]byte("plain \xff")); got != "plain \xff" {
		t.Errorf("text without a mark: %q", got)
	}
	if got := inConsolesPage([]byte("\xff\xfea\x00b")); got != "a" {
		t.Errorf("half a character: %q", got)
	}
}

// TestQuery looks at what WMI is asked for.
func TestQuery(t *testing.T) {
	const cimv2 = `root\cimv2: `
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"os", "get"}, cimv2 + "SELECT * FROM Win32_OperatingSystem"},
		{[]string{"OS", "GET", "Caption,Version", "/value"}, cimv2 + "SELECT Caption, Version FROM Win32_OperatingSystem"},
		{[]string{"cpu", "get", "Name,", "NumberOfCores"}, cimv2 + "SELECT Name, NumberOfCores FROM Win32_Processor"},
		{[]string{"os", "list", "full"}, cimv2 + "SELECT * FROM Win32_OperatingSystem"},
		{[]string{"path", "Win32_Thing", "get", "*"}, cimv2 + "SELECT * FROM Win32_Thing"},
		{[]string{`/namespace:\\root\wmi`, "path", "X", "get", "Y"}, `root\wmi: SELECT Y FROM X`},
		{[]string{"process", "where", "name=cmd.exe", "get", "ProcessId"}, cimv2 + `SELECT ProcessId FROM Win32_Process WHERE name = "cmd.exe"`},
		{[]string{"process", "where", "ProcessId=4", "get", "Name"}, cimv2 + `SELECT Name FROM Win32_Process WHERE ProcessId=4`},
		{[]string{"process", "where", "(name='a' or name='b')", "get", "Name"}, cimv2 + `SELECT Name FROM Win32_Process WHERE (name='a' or name='b')`},
		{[]string{"process", "where", `ExecutablePath=C:\a b.exe`, "get", "Name"}, cimv2 + `SELECT Name FROM Win32_Process WHERE ExecutablePath = "C:\\a b.exe"`},
		{[]string{"process", "where", `name like %s%`, "get", "Name"}, cimv2 + `SELECT Name FROM Win32_Process WHERE name like "%s%"`},
	} {
		w := &fake{output: Pipe}
		got := run(t, w, tt.args...)
		if w.asked != tt.want || got.Code != 0 || got.Err != "No Instance(s) Available.\n" {
			t.Errorf("%q asks for %q, want %q; %+v", tt.args, w.asked, tt.want, got)
		}
	}
}

// TestFormats prints two objects, of which one has no address.
func TestFormats(t *testing.T) {
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	found := []wmi.Object{
		{Names: []string{"Up", "Name", "Since", "Address"}, Props: []any{true, "eth0", at, []any{"192.0.2.1", "fe80::1"}}},
		{Names: []string{"Up", "Name", "Since", "Address"}, Props: []any{false, "é", nil, nil}},
	}

	for format, want := range map[string]string{
		"": "Address                   Name  Since                      Up     \n" +
			`{"192.0.2.1", "fe80::1"}  eth0  20240506070809.000000+000  TRUE   ` + "\n" +
			"                          ?                                FALSE  \n\n",
		"/value": "\n\n" + `Address={"192.0.2.1","fe80::1"}` + "\nName=eth0\nSince=20240506070809.000000+000\nUp=TRUE\n" +
			"\n\nAddress=\nName=?\nSince=\nUp=FALSE\n\n\n\n",
		"/format:csv": "\nNode,Address,Name,Since,Up\nWIN-1,{192.0.2.1;fe80::1},eth0,20240506070809.000000+000,TRUE\nWIN-1,,?,,FALSE\n",
	} {
		got := run(t, &fake{output: Pipe, found: found}, append([]string{"nic", "get"}, strings.Fields(format)...)...)
		if diff := cmp.Diff(result{Out: want}, got); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}

	got := run(t, &fake{output: File, found: found[:1]}, "nic", "get", "/format:list")
	if !strings.HasPrefix(got.Out, "\xff\xfe\r\x00\n\x00") {
		t.Errorf("in a file: %q", got.Out)
	}
}

// TestBrief shows what Windows' list brief does, in place of what WMI does not say nothing.
func TestBrief(t *testing.T) {
	w := &fake{output: Pipe, found: []wmi.Object{
		{Names: []string{"ProcessId", "Name", "CommandLine", "ThreadCount"}, Props: []any{int64(4), "System", "x", int64(8)}},
	}}
	want := result{Out: "HandleCount  Name    Priority  ProcessId  ThreadCount  WorkingSetSize  \n" +
		"             System            4          8                            \n\n"}
	if diff := cmp.Diff(want, run(t, w, "process", "where", "name=System", "LIST", "Brief")); diff != "" {
		t.Error(diff)
	}
	if got := `root\cimv2: SELECT * FROM Win32_Process WHERE name = "System"`; w.asked != got {
		t.Errorf("it asks for %q, want %q", w.asked, got)
	}

	got := run(t, w, "process", "list", "brief", "/format:csv")
	if want := (result{Out: "\nNode,HandleCount,Name,Priority,ProcessId,ThreadCount,WorkingSetSize\nWIN-1,,System,,4,8,\n"}); got != want {
		t.Errorf("csv: %+v", got)
	}
	got = run(t, w, "path", "Win32_Thing", "list", "brief")
	if want := (result{Code: 44135, Err: "Invalid list format.\n"}); got != want {
		t.Errorf("of a class without an alias: %+v", got)
	}

	for class, names := range briefs() {
		isClass := func(c string) bool { return strings.EqualFold(c, class) }
		if !slices.ContainsFunc(slices.Collect(maps.Values(aliases())), isClass) {
			t.Errorf("%s has no alias", class)
		}
		fold := func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }
		if !slices.IsSortedFunc(names, fold) {
			t.Errorf("%s: %q are in another order than that of their names", class, names)
		}
	}
}

func TestRefuses(t *testing.T) {
	want := result{Code: 44135, Err: "nothing - Alias not found.\n"}
	if diff := cmp.Diff(want, run(t, &fake{}, "nothing", "get")); diff != "" {
		t.Error(diff)
	}
	want = result{Code: 44135, Err: "Node - WIN-1\nERROR:\nDescription = Invalid class\n"}
	if diff := cmp.Diff(want, run(t, &fake{err: wmi.ErrClass}, "path", "Win32_None", "get")); diff != "" {
		t.Error(diff)
	}
}
