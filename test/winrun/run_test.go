//go:build wine

package winrun

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWinrun runs all cases in one prefix: making one takes longer than they do together.
func TestWinrun(t *testing.T) {
	p := newPrefix(t)

	t.Run("arguments", func(t *testing.T) { testArguments(t, p) })
	t.Run("program_names", func(t *testing.T) { testNames(t, p) })
	t.Run("refusals", func(t *testing.T) { testRefusals(t, p) })
	t.Run("exit_codes", func(t *testing.T) { testExitCodes(t, p) })
	t.Run("killed", func(t *testing.T) { testKilled(t, p) })
	t.Run("environment", func(t *testing.T) { testEnvironment(t, p) })
	t.Run("service_links", func(t *testing.T) { testServiceLinks(t, p) })

	t.Run("prefix_boot", func(t *testing.T) { testBoot(t, p) })
	t.Run("no_helpers", func(t *testing.T) { testNoHelpers(t, p) })
	t.Run("hook", func(t *testing.T) { testHook(t, p) })
	t.Run("control_events", func(t *testing.T) { testCtrl(t, p) })
	t.Run("memory_limit", func(t *testing.T) { testMemory(t, p) })

	t.Run("services", func(t *testing.T) { testServices(t, p) })
	t.Run("services_on_demand", func(t *testing.T) { testOnDemand(t, p) })

	t.Run("output_kept", func(t *testing.T) { testOutputKept(t, p) })
	t.Run("volume", func(t *testing.T) { testVolume(t, p) })
	t.Run("standard_handles", func(t *testing.T) { testStandardHandles(t, p) })
	t.Run("stacks", func(t *testing.T) { testStacks(t, p) })
	t.Run("zone", func(t *testing.T) { testZone(t, p) })

	t.Run("terminal", func(t *testing.T) { testTerminal(t, p) })
	t.Run("watcher", func(t *testing.T) { testWatcher(t, p) })
	t.Run("prompts", func(t *testing.T) { testPrompts(t, p) })
	t.Run("terminal_size_comes_late", func(t *testing.T) { testLateSize(t, p) })

	t.Run("init", func(t *testing.T) { testInit(t, p) })
	t.Run("debug_lines", func(t *testing.T) { testDebugLines(t, p) })
	t.Run("missing_imports", func(t *testing.T) { testMissingImports(t, p) })
	t.Run("counters", func(t *testing.T) { testCounters(t, p) })
	t.Run("tools", func(t *testing.T) { testTools(t, p) })

	t.Run("priority", func(t *testing.T) { testPriority(t, p) })
	t.Run("service_control", func(t *testing.T) { testServiceControl(t, p) })
	t.Run("service_known", func(t *testing.T) { testServiceKnown(t, p) })
	t.Run("service_host", func(t *testing.T) { testServiceHost(t, p) })
	t.Run("backup", func(t *testing.T) { testBackup(t, p) })
	t.Run("service_kept", func(t *testing.T) { testServiceKept(t, p) })
	t.Run("service_end", func(t *testing.T) { testServiceEnd(t, p) })
	t.Run("service_settings", func(t *testing.T) { testServiceSettings(t, p) })
	t.Run("service_automatic", func(t *testing.T) { testServiceAutomatic(t, p) })
	t.Run("service_monitor", func(t *testing.T) { testServiceMonitor(t, p) })
	t.Run("service_failure", func(t *testing.T) { testServiceFailure(t, p) })

	t.Run("log_monitor", func(t *testing.T) { testLogMonitor(t, p) })
	t.Run("cmd", func(t *testing.T) { testCmd(t, p) })
	t.Run("cmd_lines", func(t *testing.T) { testCmdLines(t, p) })
	t.Run("watcher_below", func(t *testing.T) { testFoldersBelow(t, p) })
	t.Run("scheduled_tasks", func(t *testing.T) { testTasks(t, p) })
	t.Run("cmd_constructs", func(t *testing.T) { testConstructs(t, p) })

	t.Run("powershell", func(t *testing.T) { testPowerShell(t, p) })
	t.Run("powershell_registry", func(t *testing.T) { testRegistry(t, p) })
	t.Run("powershell_web_server", func(t *testing.T) { testWebServer(t, p) })
	t.Run("powershell_adapters", func(t *testing.T) { testAdapters(t, p) })

	t.Run("addresses", func(t *testing.T) { testAddresses(t, p) })
	t.Run("get_acl", func(t *testing.T) { testGetACL(t, p) })
	t.Run("native", func(t *testing.T) { testNative(t, p) })
	t.Run("set_acl", func(t *testing.T) { testSetACL(t, p) })
}

// told is what the verb args prints.
type told struct {
	Args []string `json:"args"`
	Exe  string   `json:"exe"`
	Dir  string   `json:"dir"`
}

func parseTold(t *testing.T, o outcome) told {
	t.Helper()
	var got told
	if err := json.Unmarshal([]byte(o.out), &got); err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	return got
}

func testArguments(t *testing.T, p prefix) {
	t.Helper()
	want := []string{
		"a b", `q"x`, `c:\dir\`, `c:\my dir\`, "", `\"`, `x\\"y z\`, "tab\tin", "ü €", "%PATH%", "a^b&c|d",
		"'",
	}
	got := parseTold(t, p.run(t, append([]string{"--", `C:\prog.exe`, "args"}, want...)...))
	if diff := cmp.Diff(want, got.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}

	got = parseTold(t, p.run(t, "--raw", "--cwd", "C:/bin", "--", `"C:\prog.exe"   args "a b"  c`))
	raw := told{
		Args: []string{"a b", "c"},
		Exe:  `C:\prog.exe`,
		Dir:  `C:\bin`,
	}
	if diff := cmp.Diff(raw, got); diff != "" {
		t.Errorf("raw command line (-want +got):\n%s", diff)
	}
}

func testNames(t *testing.T, p prefix) {
	t.Helper()
	env := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(env, []byte("path=C:\\windows\\system32;\"C:\\tools\"\x00"), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ name, cwd, program, want string }{
		{"bare", `C:\`, "prog", `C:\prog.exe`},
		{"slash", `C:\`, "/prog", `C:\prog.exe`},
		{"unix_path", `C:\tools`, "/bin/sh", `C:\bin\sh.exe`},
		{"drive_and_slash", `C:\`, "c:/bin/sh.exe", `C:\bin\sh.exe`},
		{"upper_case", `C:\`, `C:\PROG.EXE`, `C:\prog.exe`},
		{"relative_folder", `C:\`, `.\bin\sh`, `C:\bin\sh.exe`},
		{"working_folder", `C:\bin`, "sh", `C:\bin\sh.exe`},
		{"path_variable", `C:\`, "tool", `C:\tools\tool.exe`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := parseTold(t, p.run(t, "--cwd", tt.cwd, "--env-file", env, "--", tt.program, "args", "1"))
			if !strings.EqualFold(got.Exe, tt.want) || !strings.EqualFold(got.Dir, tt.cwd) {
				t.Errorf("ran %s in %s, want %s in %s", got.Exe, got.Dir, tt.want, tt.cwd)
			}
		})
	}

	t.Run("batch_file", func(t *testing.T) {
		if got := p.run(t, "--env-file", env, "--", "script", "x"); got.out != "batch x\n" || got.code != 9 {
			t.Errorf("%+v", got)
		}
	})
}

func testRefusals(t *testing.T, p prefix) {
	t.Helper()
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		report string
	}{
		{"missing", []string{"--", "nosuch", "x"}, 127, "failed 2 The system cannot find the file specified.\n"},
		{
			"missing_path",
			[]string{"--", `C:\no\such.exe`},
			127,
			"failed 2 The system cannot find the file specified.\n",
		},
		{"a_folder", []string{"--", `C:\tools`}, 127, "failed 2 The system cannot find the file specified.\n"},
		{"no_program", []string{"--", "text"}, 126, "failed 193 %1 is not a valid Win32 application.\n"},
		{
			"missing_folder",
			[]string{"--cwd", `C:\nosuch`, "--", "prog"},
			126,
			"failed 267 The directory name is invalid.\n",
		},
		{"bad_option", []string{"--what", "--", "prog"}, 125, ""},
		{"nothing", []string{"--"}, 125, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := p.run(t, tt.args...)
			told := strings.HasPrefix(got.err, "mullion-run: ") // unless the report tells
			if got.code != tt.code || got.report != tt.report || told != (tt.report == "") || got.out != "" ||
				(!told && got.err != "") {
				t.Errorf("%+v, want code %d, report %q", got, tt.code, tt.report)
			}
		})
	}
}

func testExitCodes(t *testing.T, p prefix) {
	t.Helper()
	for _, tt := range []struct {
		code  uint32
		linux int
	}{{0, 0}, {42, 42}, {256, 1}, {0xC0000005, 5}, {0xFFFFFFFF, 255}} {
		t.Run(fmt.Sprintf("0x%x", tt.code), func(t *testing.T) {
			got := p.run(t, "--", "prog", "exit", fmt.Sprint(tt.code))
			report := regexp.MustCompile(`^started \d+\nexited ` + fmt.Sprint(tt.code) + `\n$`)
			if got.code != tt.linux || !report.MatchString(got.report) {
				t.Errorf("%+v, want %d and %d on Linux", got, tt.code, tt.linux)
			}
		})
	}
}

// testKilled kills a program as the kernel does for lack of memory. To Wine that is an end with exit code 0.
func testKilled(t *testing.T, p prefix) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	r := startReady(t, p.command(t, "--report", report, "--", "prog", "sleep"))
	defer r.stop()
	out, err := exec.Command("pgrep", "-P", fmt.Sprint(r.cmd.Process.Pid)).Output()
	pid, notOne := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || notOne != nil {
		t.Fatalf("the program is not the one child of mullion-run: %q, %v", out, err)
	}

	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait()
	lines, err := os.ReadFile(report)
	if code := r.cmd.ProcessState.ExitCode(); err != nil || code != 137 ||
		!strings.HasSuffix(string(lines), "\nexited 137\n") {
		t.Errorf("ended with %d, report %q, %v, want 137", code, lines, err)
	}
}

func testEnvironment(t *testing.T, p prefix) {
	t.Helper()
	env := filepath.Join(t.TempDir(), "env")
	content := strings.Join([]string{"foo=1", "FOO=2", "Greek=αβγ", "computername=ignored?", "TMP=C:\\x", "E=a=b", ""},
		"\x00")
	if err := os.WriteFile(env, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}

	got := p.run(t, "--env-file", env, "--", "prog", "env", "foo", "GREEK", "TMP", "e", "WINEPREFIX", "LANG", "OS",
		"NUMBER_OF_PROCESSORS", "COMPUTERNAME")
	cpus, err := exec.Command("nproc").Output()
	if err != nil {
		t.Fatal(err)
	}

	want := "foo=2\nGREEK=αβγ\nTMP=C:\\x\ne=a=b\nWINEPREFIX=\nLANG=\nOS=Windows_NT\nNUMBER_OF_PROCESSORS=" +
		strings.TrimSpace(string(cpus)) + "\nCOMPUTERNAME=ignored?\n"
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// testServiceLinks has the variables of a pod in a namespace with 5,000 Services: seven each.
func testServiceLinks(t *testing.T, p prefix) {
	t.Helper()
	var content strings.Builder
	for i := range 5000 {
		for _, name := range []string{
			"SERVICE_HOST", "SERVICE_PORT", "PORT", "PORT_80_TCP", "PORT_80_TCP_PROTO",
			"PORT_80_TCP_PORT", "PORT_80_TCP_ADDR",
		} {
			fmt.Fprintf(&content, "SERVICE_OF_THE_NAMESPACE_%d_%s=tcp://10.96.0.1:%d\x00", i, name, i)
		}
	}

	content.WriteString("OS=\x00=C:=C:\\nowhere\x00nothing\x00Last=one")
	env := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(env, []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	start := time.Now()
	got := p.run(t, "--env-file", env, "--", "prog", "env", "service_of_the_namespace_4999_port",
		"SERVICE_OF_THE_NAMESPACE_0_SERVICE_HOST", "OS", "LAST", "windir")
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}

	want := "service_of_the_namespace_4999_port=tcp://10.96.0.1:4999\nSERVICE_OF_THE_NAMESPACE_0_SERVICE_HOST=tcp://10.96.0.1:0\nOS=\nLAST=one\nwindir=C:\\Windows\n"
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// testBoot looks at what a prefix is told of the machine when wineboot.exe does not run.
func testBoot(t *testing.T, p prefix) {
	t.Helper()
	p.Stop()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}

	got := p.run(t, "--", "prog", "features")
	want := regexp.MustCompile(
		`^feature 10 1\nfeature 13 1\nfeature 23 1\nfeature 38 1\nhostname ` + regexp.QuoteMeta(host) + `\nmajor 10\ncpus [1-9]\d*\n$`)
	if !want.MatchString(got.out) {
		t.Errorf("%+v, want %v", got, want)
	}

	reg := p.run(t, "--", "reg", "query", `HKLM\HARDWARE\DESCRIPTION\System\CentralProcessor\0`, "/v",
		"ProcessorNameString")
	if reg.code != 0 || !strings.Contains(reg.out, "ProcessorNameString") {
		t.Errorf("%+v", reg)
	}
}

// testNoHelpers checks that a console program brings nothing with it but the launcher and the server.
func testNoHelpers(t *testing.T, p prefix) {
	t.Helper()
	p.Stop()
	cmd := p.command(t, "--", "prog", "sleep")
	out := startReady(t, cmd)
	defer out.stop()
	var got []string
	for _, name := range p.processes(t) {
		got = append(got, strings.ToLower(filepath.Base(strings.ReplaceAll(name, `\`, "/"))))
	}

	for _, name := range got {
		switch {
		case strings.HasPrefix(name, "mullion-run.exe"), strings.HasPrefix(name, "prog"),
			strings.HasPrefix(name, "wineserver"):
		default:
			t.Errorf("process %q runs beside the program", name)
		}
	}

	if len(got) != 3 {
		t.Errorf("processes %q, want three", got)
	}
}

// owns reports whether the process of a folder of /proc belongs to the prefix.
func (p prefix) owns(dir string) bool {
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	return err == nil && strings.Contains("\x00"+string(env), "\x00WINEPREFIX="+p.Dir+"\x00")
}

// processes returns the first arguments of the processes that belong to the prefix.
func (p prefix) processes(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, dir := range dirs {
		if !p.owns(dir) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(line) == 0 {
			continue
		}
		name, _, _ := strings.Cut(string(line), "\x00")
		names = append(names, name)
	}

	return names
}

// testHook loads a library into a program before it runs, and sees it there.
func testHook(t *testing.T, p prefix) {
	t.Helper()
	for _, tt := range []struct{ name, hook, want string }{
		{"default", "", "mullionhook.dll loaded\npdh.dll absent\n"},
		// bcryptprimitives.dll brings mullionhook.dll to Go programs
		{"other", `C:\windows\system32\pdh.dll`, "mullionhook.dll loaded\npdh.dll loaded\n"},
		{"missing", `C:\nosuch.dll`, "mullionhook.dll loaded\npdh.dll absent\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"--", "prog", "modules", "mullionhook.dll", "pdh.dll"}
			if tt.hook != "" {
				args = append([]string{"--hook", tt.hook}, args...)
			}
			if got := p.run(t, args...); got.out != tt.want {
				t.Errorf("%+v, want %q", got, tt.want)
			}
		})
	}
}

// running is a program that has said "ready".
type running struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startReady(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	r := &running{cmd: cmd, lines: bufio.NewScanner(pipe)}
	if line := r.next(); line != "ready" {
		r.stop()
		t.Fatalf("the program said %q, want ready", line)
	}

	return r
}

func (r *running) next() string {
	r.lines.Scan()
	return strings.TrimRight(r.lines.Text(), "\r")
}

// stop ends the program's Linux processes: all of a prefix go when its server is told to, which the next case does.
func (r *running) stop() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

func testCtrl(t *testing.T, p prefix) {
	t.Helper()
	for _, tt := range []struct {
		event, verb, line string
		code              uint32
	}{
		{"shutdown", "signal", "got terminated", 42},
		{"close", "signal", "got terminated", 42},
		{"c", "signal", "got interrupt", 42},
		{"break", "signal", "got interrupt", 42},
		{"shutdown", "sleep", "", 0xC000013A},
	} {
		t.Run(tt.event+"_"+tt.verb, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report")
			r := startReady(t, p.command(t, "--report", report, "--", "prog", tt.verb))
			defer r.stop()
			if got := p.run(t, "--ctrl", tt.event); got.code != 0 {
				t.Fatalf("deliver: %+v", got)
			}
			if line := r.next(); line != tt.line {
				t.Errorf("the program said %q, want %q", line, tt.line)
			}

			_ = r.cmd.Wait()
			lines, err := os.ReadFile(report)
			if err != nil || !strings.HasSuffix(string(lines), fmt.Sprintf("\nexited %d\n", tt.code)) {
				t.Errorf("report %q, %v, want exited %d", lines, err, tt.code)
			}
		})
	}

	t.Run("window", func(t *testing.T) { testWindow(t, p) })
	t.Run("nobody_there", func(t *testing.T) {
		if got := p.run(t, "--ctrl", "shutdown"); got.code != 1 {
			t.Errorf("%+v, want code 1", got)
		}
	})

	t.Run("unknown", func(t *testing.T) {
		if got := p.run(t, "--ctrl", "alarm"); got.code != 125 {
			t.Errorf("%+v, want code 125", got)
		}
	})
}

// testWindow has a program with a window and without a console in a container that ends: it is told nothing, and runs
// on until it is killed.
func testWindow(t *testing.T, p prefix) {
	t.Helper()
	p.CopyIn(t, build(t, "./prog", "windows", "-ldflags=-H=windowsgui"), "windowed.exe")
	r := startReady(t, p.command(t, "--", "windowed", "window"))
	defer r.stop()
	if got := p.run(t, "--ctrl", "shutdown"); got.code != 1 {
		t.Errorf("deliver: %+v, want code 1: nobody gets the event", got)
	}
	if got := p.run(t, "--", "taskkill", "/f", "/im", "windowed.exe"); got.code != 0 {
		t.Errorf("it is not there any more: %+v", got)
	}
	if line := r.next(); line != "" {
		t.Errorf("the window got %q", line)
	}
}

func testMemory(t *testing.T, p prefix) {
	t.Helper()
	if got := p.run(t, "--", "prog", "allocate", "256"); got.out != "got 256 MiB\n" {
		t.Errorf("without a limit: %+v", got)
	}
	got := p.run(t, "--memory-limit", fmt.Sprint(128<<20), "--", "prog", "allocate", "256")
	if strings.Contains(got.out, "got 256") || !strings.Contains(got.report, "exited ") {
		t.Errorf("with a limit of 128 MiB: %+v", got)
	}
	if got := p.run(t, "--memory-limit", fmt.Sprint(128<<20), "--", "prog", "allocate",
		"64"); got.out != "got 64 MiB\n" {
		t.Errorf("64 MiB of 128: %+v", got)
	}
}

// testServices asks for something that needs a service, before and after.
func testServices(t *testing.T, p prefix) {
	t.Helper()
	p.Stop()
	r := startReady(t, p.command(t, "--hook", "none", "--", "prog", "sleep"))
	defer r.stop()
	for range 2 {
		if got := p.run(t, "--services"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}

	if got := p.run(t, "--hook", "none", "--", "ping", "-n", "1", "127.0.0.1"); !strings.Contains(got.out,
		"Received = 1") {
		t.Errorf("%+v", got)
	}
	p.Stop()
}

func testPowerShell(t *testing.T, p prefix) {
	t.Helper()
	for _, name := range []string{
		"powershell", "powershell.exe", "pwsh",
		`C:\windows\system32\WindowsPowerShell\v1.0\powershell.exe`,
	} {
		got := p.run(t, "--", name, "-Command", "Write-Host hello; Start-Sleep -Milliseconds 1; exit 9")
		if got.code != 9 || got.out != "hello\n" {
			t.Errorf("%s: %+v", name, got)
		}
	}

	for script, want := range map[string]string{
		`cmd.exe /c "echo from cmd"; $env:OS`: "from cmd\nWindows_NT\n", `(Get-Process powershell).Name | Where-Object { $_ } | ForEach-Object { $_.ToUpper() }`: "POWERSHELL\n",
		`Set-Content C:\ps.txt one; (Get-Item C:\ps.txt).Length; Get-Content /ps.txt`: "5\none\n", `Test-Path c:/windows; Test-Path C:\none`: "True\nFalse\n",
		`Start-Job { sleep 0 } | Out-Null; (Get-Job | Wait-Job).State`: "Completed\n",
	} {
		if got := p.run(t, "--", "powershell", "-c", script); got.code != 0 || got.out != want {
			t.Errorf("%s: %+v, want %q", script, got, want)
		}
	}

	t.Run("image", func(t *testing.T) { // an image's own pwsh.exe, here a program that prints its arguments
		p.CopyIn(t, p.Path("prog.exe"), "Program Files/PowerShell/7/pwsh.exe")
		defer os.Remove(p.Path("Program Files/PowerShell/7/pwsh.exe"))
		got := p.run(t, "--", "pwsh", "args", `a "b`, "")
		if got.code != 0 || !strings.Contains(got.out, `["a \"b",""]`) ||
			!strings.Contains(got.out, `C:\\Program Files\\PowerShell\\7\\pwsh.exe`) {
			t.Errorf("%+v", got)
		}

		if got := p.run(t, "--", "pwsh", "exit", "7"); got.code != 7 {
			t.Errorf("%+v", got)
		}
	})

	got := p.run(t, "--", "powershell", "/c", "echo before; Optimize-Volume x")
	if got.code != 1 || strings.TrimSpace(got.out) != "before" ||
		!strings.Contains(got.err, "In Mullion: Windows has the cmdlet Optimize-Volume") {
		t.Errorf("%+v, want an error of the statement that lacks something", got)
	}
}
