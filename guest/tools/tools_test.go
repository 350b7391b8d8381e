package tools

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/eventlog"
	"mullion.dev/mullion/guest/filesec"
	"mullion.dev/mullion/internal/windows/wire/credspec"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
	"mullion.dev/mullion/internal/windows/wire/ourprograms"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/services/servicestest"
)

// Linux knows the programs by name, and puts each into system32.
func TestPrograms(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(programs())), ourprograms.Names()); diff != "" {
		t.Errorf("package ourprograms has other names (-programs +names):\n%s", diff)
	}
}

// fake is a Windows whose answers a test sets.
type fake struct {
	zone      string // what was set
	tasks     []Task
	variables map[string]string
	keys      []rune // nil: there is no console
	piped     bool   // standard output is a pipe
	groups    string
	adapters  []Adapter
	stores    map[string]string // the certificates that were added
	err       error
	logs      map[string][]eventlog.Event
	asked     eventlog.Query
	written   []eventlog.Entry
	ended     bool
	power     string // what is asked of the host
	urls      map[string]string
	lists     map[string]filesec.List
	services  servicestest.Manager
	domain    credspec.Domain
	tickets   []credspec.Cached
}

func (w *fake) Logs() ([]string, error) { return slices.Sorted(maps.Keys(w.logs)), w.err }

func (w *fake) Events(q eventlog.Query, f func(eventlog.Event) bool) error {
	w.asked = q
	all, ok := w.logs[q.Log]
	if !ok {
		return eventlog.NoSuchChannel
	}
	for _, e := range all {
		if !f(e) {
			break
		}
	}
	return w.err
}

func (w *fake) Clear(log string) error {
	if _, ok := w.logs[log]; !ok {
		return eventlog.NoSuchChannel
	}
	w.logs[log] = nil
	return w.err
}

func (w *fake) Info(log string) (eventlog.Info, error) {
	if _, ok := w.logs[log]; !ok {
		return eventlog.Info{}, eventlog.NoSuchChannel
	}
	return eventlog.Info{Path: `C:\` + log, MaxBytes: 1000, Bytes: 100, Records: 2, Oldest: 3}, w.err
}

func (w *fake) Write(e eventlog.Entry) error {
	w.written = append(w.written, e)
	return w.err
}

func (w *fake) Tasks() ([]Task, error) { return w.tasks, w.err }
func (w *fake) Describe() (Machine, error) {
	return Machine{
		Host:       "WIN-1",
		Product:    "Microsoft Windows Server 2022 Datacenter",
		Version:    "10.0.20348 N/A Build 20348",
		Memory:     8 << 30,
		Processors: []string{"one", "two"},
		Boot:       time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Adapters: []Adapter{
			{Name: "Ethernet", Addresses: []Address{{IP: netip.MustParseAddr("192.0.2.1"), Bits: 24}}}, {Loopback: true},
		},
	}, w.err
}

func (w *fake) SetVariable(machine bool, name, value string) error {
	if machine {
		name = "machine " + name
	}
	w.variables[name] = value
	return w.err
}

func (w *fake) Value(key, name string) (string, error) {
	if key != `HKLM\Software\X` {
		return "", errors.New("no such key")
	}
	return "value of " + name, nil
}

func (w *fake) AddCertificate(store string, machine bool, certificate []byte) (bool, error) {
	if w.err != nil {
		return false, w.err
	}
	if w.stores == nil {
		w.stores = map[string]string{}
	}
	key := fmt.Sprint(store, " ", machine)
	added := w.stores[key] != string(certificate)
	w.stores[key] = string(certificate)
	return added, nil
}

func (w *fake) Key(wait time.Duration) (rune, error) {
	switch {
	case w.keys == nil:
		return 0, ErrNoConsole
	case len(w.keys) == 0 || wait == 0:
		return 0, nil
	}
	key := w.keys[0]
	w.keys = w.keys[1:]
	return key, nil
}

func (w *fake) Name() string               { return "WIN-1" }
func (w *fake) Services() services.Manager { return &w.services }
func (w *fake) Groups() string             { return w.groups }
func (w *fake) Alone(f func() error) error { return f() }
func (w *fake) Net(e Env, args []string) (int, error) {
	e.print("wine's net %s", strings.Join(args, " "))
	return 7, w.err
}

// WMIC makes a fake a Host whose wmic prints what Wine's does: UTF-16 with a mark.
func (w *fake) WMIC(e Env, args []string) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	_, err := e.Stdout.Write(utf16Bytes("\ufeffSerialNumber\r\n" + strings.Join(args, " ") + " é\r\n"))
	return 7, err
}

func (w *fake) Piped() bool { return w.piped }

// result is what a program printed, with plain ends of lines, and its exit code.
type result struct {
	code     int
	out, err string
}

func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	if w.variables == nil {
		w.variables = map[string]string{}
	}
	e := Env{
		Getenv: func(name string) string { return w.variables["env "+name] },
		Stdin:  strings.NewReader(input),
		Stdout: &out,
		Stderr: &errs,
		System: w,
	}
	code := e.Run(`C:\Windows\System32\`+strings.ToUpper(args[0])+`.EXE`, args[1:])
	return result{code, strings.ReplaceAll(out.String(), "\r\n", "\n"), strings.ReplaceAll(errs.String(), "\r\n", "\n")}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTasklist(t *testing.T) {
	w := &fake{tasks: []Task{{
		PID:    4,
		Image:  "System",
		Memory: 8 << 10,
	}, {PID: 3120, Session: 1, Image: "a-name-that-is-longer-than-a-column.exe", Memory: 1234 << 20}}}
	const header = "\nImage Name                     PID Session Name        Session#    Mem Usage\n" +
		"========================= ======== ================ =========== ============\n"
	const first = "System                           4 Services                   0          8 K\n"
	const second = "a-name-that-is-longer-tha     3120 Console                    1  1,263,616 K\n"
	const none = "INFO: No tasks are running which match the specified criteria.\n"
	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"all", nil, result{0, header + first + second, ""}},
		{"image", []string{"/FI", "imagename eq SYS*"}, result{0, header + first, ""}},
		{"not_image", []string{"/fi", "IMAGENAME ne system", "/nh"}, result{0, "\n" + second, ""}},
		{"both", []string{"/fi", "pid gt 4", "/fi", "MEMUSAGE lt 10"}, result{0, none, ""}},
		{"session", []string{"/fi", "session ge 1", "/nh"}, result{0, "\n" + second, ""}},
		{
			"csv",
			[]string{"/fo", "csv", "/nh", "/fi", "sessionname eq services"},
			result{0, `"System","4","Services","0","8 K"` + "\n", ""},
		},
		{
			"list",
			[]string{"/fo", "LIST", "/fi", "pid le 4"},
			result{0, "\nImage Name:   System\nPID:          4\nSession Name: Services\nSession#:     0\nMem Usage:    8 K\n", ""},
		},
		{
			"bad_filter",
			[]string{"/fi", "color eq red"},
			result{1, "", "ERROR: The search filter cannot be recognized.\n"},
		},
		{"bad_number", []string{"/fi", "pid eq x"}, result{1, "", "ERROR: The search filter cannot be recognized.\n"}},
		{"unknown", []string{"/m"}, result{
			1, "",
			"ERROR: Invalid argument/option - '/m'.\nType \"TASKLIST /?\" for usage.\n",
		}},
		{"no_value", []string{"/fi"}, result{
			1, "",
			"ERROR: Invalid syntax. Value expected for '/fi'.\nType \"TASKLIST /?\" for usage.\n",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, w, "", append([]string{"tasklist"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	w.err = errors.New("no snapshot")
	if got := run(t, w, "", "tasklist"); got.code != 1 || got.err != "ERROR: no snapshot\n" {
		t.Errorf("%+v", got)
	}
}

func TestTimeout(t *testing.T) {
	for _, tc := range []struct {
		name string
		keys []rune
		args []string
		code int
		text string
	}{
		{
			"no_console", nil,
			[]string{"1"},
			1,
			"ERROR: Input redirection is not supported, exiting the process immediately.\n",
		},
		{"key", []rune{'x'}, []string{"/t", "99999"}, 0, "\nWaiting for 99999 seconds, press a key to continue ...\n"},
		{"any_key", []rune{'x'}, []string{"-1"}, 0, "\nPress any key to continue ...\n"},
		{"over", []rune{}, []string{"0", "/nobreak"}, 0, "\nWaiting for 0 seconds, press CTRL+C to quit ...\n"},
		{"range", []rune{}, []string{"100000"}, 1, "Valid range is -1 to 99999 seconds."},
		{"twice", []rune{}, []string{"1", "2"}, 1, "Default option is not allowed more than '1' time(s)."},
		{"nothing", []rune{}, nil, 1, "ERROR: Invalid syntax."},
		{"unknown", []rune{}, []string{"/z"}, 1, "ERROR: Invalid argument/option - '/z'."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, &fake{keys: tc.keys}, "", append([]string{"timeout"}, tc.args...)...)
			if got.code != tc.code || !strings.Contains(got.out+got.err, tc.text) {
				t.Errorf("%+v, want %d, %q", got, tc.code, tc.text)
			}
		})
	}
}

func TestSetx(t *testing.T) {
	const saved = "\nSUCCESS: Specified value was saved.\n"
	for _, tc := range []struct {
		name       string
		args       []string
		want       result
		key, value string
	}{
		{"user", []string{"A", "b c"}, result{0, saved, ""}, "A", "b c"},
		{"machine", []string{"A", "b", "/M"}, result{0, saved, ""}, "machine A", "b"},
		{"like_an_option", []string{"A", "/x"}, result{0, saved, ""}, "A", "/x"},
		{
			"key",
			[]string{"A", "/k", `HKLM\Software\X\Y`},
			result{0, "Extracted value is: value of Y. \n" + saved, ""},
			"A", "value of Y",
		},
		{
			"no_key",
			[]string{"A", "/k", `HKLM\None\Y`},
			result{1, "", "ERROR: The specified registry key or value does not exist.\n"},
			"A", "",
		},
		{
			"long",
			[]string{"A", strings.Repeat("x", 1025)},
			result{0, "\nWARNING: The data being saved is truncated to 1024 characters.\n" + saved, ""},
			"A",
			strings.Repeat("x", 1024),
		},
		{"no_value", []string{"A"}, result{1, "", "ERROR: Invalid syntax. \nType \"SETX /?\" for usage.\n"}, "A", ""},
		{
			"unknown",
			[]string{"/z", "A", "b"},
			result{1, "", "ERROR: Invalid argument/option - '/z'.\nType \"SETX /?\" for usage.\n"},
			"A", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &fake{}
			got := run(t, w, "", append([]string{"setx"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(result{})); diff != "" ||
				w.variables[tc.key] != tc.value {
				t.Errorf("%s\n%v", diff, w.variables)
			}
		})
	}
	if got := run(t, &fake{err: syscall.EACCES}, "", "setx", "A", "b"); got.code != 1 ||
		got.err != "ERROR: "+syscall.EACCES.Error()+"\n" {
		t.Errorf("%+v", got)
	}
}

func TestSysteminfo(t *testing.T) {
	got := run(t, &fake{}, "", "systeminfo")
	for _, line := range []string{
		"\nHost Name:                 WIN-1\n", "\nOS Version:                10.0.20348 N/A Build 20348\n",
		"\nTotal Physical Memory:     8,192 MB\n",
		"\nProcessor(s):              2 Processor(s) Installed.\n                           [01]: one\n",
		"                                 [01]: 192.0.2.1\n",
		"\nSystem Boot Time:          1/2/2026, 3:04:05 AM\n",
	} {
		if got.code != 0 || !strings.Contains(got.out, line) {
			t.Errorf("%q is not in %+v", line, got)
		}
	}
	if got := run(t, &fake{}, "", "systeminfo", "/fo", "csv"); !strings.HasPrefix(got.out,
		`"Host Name","OS Name","OS Version",`) || strings.Count(got.out, "\n") != 2 {
		t.Errorf("%+v", got)
	}
	if got := run(t, &fake{}, "", "systeminfo", "/fo", "table", "/nh"); !strings.HasPrefix(got.out,
		"\nWIN-1     Microsoft Windows") {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"/z"}, {"/fo", "xml"}, {"/nh"}} {
		if got := run(t, &fake{}, "", append([]string{"systeminfo"}, args...)...); got.code != 1 || got.err == "" ||
			got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestFC(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{
		"a": "1\n2\n3\n4\n5\n", "b": "1\n2\nX\n4\n5\n", "c": "1\n2\n4\n5\n6\n", "upper": "A b\n", "lower": "a  b\n",
		"e": "", "p.exe": "abc", "q.exe": "aXcd",
	})
	const same = "FC: no differences encountered\n\n"
	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"same", []string{"a", "a"}, result{0, "Comparing files a and A\n" + same, ""}},
		{"line", []string{"a", "b"}, result{
			1,
			"Comparing files a and B\n***** a\n2\n3\n4\n***** B\n2\nX\n4\n*****\n\n\n", "",
		}},
		{
			"numbers",
			[]string{"/n", "a", "b"},
			result{1, "Comparing files a and B\n***** a\n    2:  2\n    3:  3\n    4:  4\n***** B\n    2:  2\n    3:  X\n    4:  4\n*****\n\n\n", ""},
		},
		{
			"gone_and_new",
			[]string{"a", "c"},
			result{1, "Comparing files a and C\n***** a\n2\n3\n4\n***** C\n2\n4\n*****\n\n***** a\n5\n***** C\n5\n6\n*****\n\n\n", ""},
		},
		{
			"empty",
			[]string{"e", "upper"},
			result{1, "Comparing files e and UPPER\n***** e\n***** UPPER\nA b\n*****\n\n\n", ""},
		},
		{
			"case_and_space",
			[]string{"/c", "/w", "upper", "lower"},
			result{0, "Comparing files upper and LOWER\n" + same, ""},
		},
		{
			"bytes",
			[]string{"p.exe", "q.exe"},
			result{1, "Comparing files p.exe and Q.EXE\n00000001: 62 58\nFC: Q.EXE longer than p.exe\n\n\n", ""},
		},
		{"bytes_same", []string{"/b", "a", "a"}, result{0, "Comparing files a and A\n" + same, ""}},
		{"missing", []string{"a", "none"}, result{2, "", "FC: cannot open none - No such file or folder\n\n"}},
		{"one", []string{"a"}, result{-1, "", "FC: Insufficient number of file specifications\n\n"}},
		{"unknown", []string{"/z", "a", "b"}, result{-1, "", "FC: Invalid Switch\n\n"}},
		{
			"too_different",
			[]string{"/lb1", "a", "upper"},
			result{1, "Comparing files a and UPPER\nResync Failed.  Files are too different.\n***** a\n1\n2\n3\n4\n5\n***** UPPER\nA b\n*****\n\n\n", ""},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, &fake{}, "", append([]string{"fc"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNet(t *testing.T) {
	const done = "The command completed successfully.\n\n"
	w := &fake{groups: filepath.Join(t.TempDir(), "LocalGroups")}
	t.Chdir(t.TempDir())
	if err := os.Mkdir(`\\fs\data`, 0o700); err != nil { // to Linux it is a name
		t.Fatal(err)
	}
	failure := func(code, text string) result {
		return result{2, "", "System error " + code + " has occurred.\n\n" + text + "\n\n"}
	}
	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"other", []string{"use", "x"}, result{7, "wine's net use x\n", ""}},
		{"share", []string{"use", `\\fs\data`}, result{0, done, ""}},
		{"no_share", []string{"use", `\\fs\none`}, failure("53", "The network path was not found.")},
		{"add", []string{"localgroup", "Builders", "/ADD", "/comment:who Build"}, result{0, done, ""}},
		{
			"add_again",
			[]string{"localgroup", "builders", "/add"},
			failure("1379", "The specified local group already exists."),
		},
		{"add_member", []string{"localgroup", "builders", "guest", `nt authority\system`, "/add"}, result{0, done, ""}},
		{
			"add_member_again",
			[]string{"localgroup", "builders", "Guest", "/add"},
			failure("1378", "The specified account name is already a member of the group."),
		},
		{
			"stranger",
			[]string{"localgroup", "builders", "nobody", "/add"},
			result{2, "", "There is no such global user or group: nobody.\n\nMore help is available by typing NET HELPMSG 3783.\n\n"},
		},
		{
			"show",
			[]string{"LOCALGROUP", "builders"},
			result{0, "Alias name     Builders\nComment        who Build\n\nMembers\n\n" + strings.Repeat("-",
				79) + "\nGuest\nNT AUTHORITY\\SYSTEM\n" + done, ""},
		},
		{"leave", []string{"localgroup", "builders", "guest", "/delete"}, result{0, done, ""}},
		{
			"leave_again",
			[]string{"localgroup", "builders", "guest", "/delete"},
			failure("1377", "The specified account name is not a member of the group."),
		},
		{"delete", []string{"localgroup", "builders", "/delete"}, result{0, done, ""}},
		{
			"delete_again",
			[]string{"localgroup", "builders", "/delete"},
			failure("1376", "The specified local group does not exist."),
		},
		{
			"delete_built_in",
			[]string{"localgroup", "Users", "/delete"},
			failure("1371", "Cannot perform this operation on built-in accounts."),
		},
		{"bad_name", []string{"localgroup", "a*b", "/add"}, failure("87", "The parameter is incorrect.")},
		{"show_none", []string{"localgroup", "builders"}, failure("1376", "The specified local group does not exist.")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, w, "", append([]string{"net"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, args := range [][]string{
		{"/add"},
		{"x", "/zzz"},
		{"x", "y"},
		{"x", "/add", "/delete"},
		{"x", "/delete", "/comment:y"},
	} {
		if got := run(t, w, "", append([]string{"net", "localgroup"}, args...)...); got.code != 1 ||
			!strings.HasPrefix(got.err, "The syntax of this command is:\n") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	list := run(t, w, "", "net", "localgroup")
	if !strings.HasPrefix(list.out, "\nAliases for \\\\WIN-1\n\n---") ||
		strings.Count(list.out, "\n*") != len(localgroup.BuiltIn()) {
		t.Errorf("%+v", list)
	}
}

func TestNames(t *testing.T) {
	if got := run(t, &fake{}, "", "calc"); got.code != exitUnknown || !strings.Contains(got.err, "findstr") {
		t.Errorf("%+v", got)
	}
}
