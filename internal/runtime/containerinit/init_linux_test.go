package containerinit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
)

// asInit makes the test program be mullion-init: Run takes over a process's children and signals.
const asInit = "CONTAINERINIT_TEST"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && filepath.Base(os.Args[1]) == launcher {
		launcherMain(os.Args[2:])
		return
	}
	if socket := os.Getenv(asClient); socket != "" {
		client(socket)
		return
	}
	if os.Getenv(asInit) == "" {
		os.Exit(m.Run())
	}

	// Orphans come to this process although it is no PID 1.
	const prSetChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		os.Exit(125)
	}
	cfg, err := Parse(os.Args[1:], os.Environ())
	if err != nil {
		os.Exit(126)
	}

	code, err := Run(cfg, os.Stderr)
	if err != nil {
		os.Exit(126)
	}
	os.Exit(code)
}

func command(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], argv...)
	cmd.Env = append(os.Environ(), asInit+"=1")
	return cmd
}

func TestRunExitCode(t *testing.T) {
	for _, tt := range []struct {
		name string
		argv []string
		want int
	}{
		{"success", []string{"/bin/sh", "-c", "exit 0"}, 0},
		{"failure", []string{"/bin/sh", "-c", "exit 7"}, 7},
		{"killed", []string{"/bin/sh", "-c", "kill -9 $$"}, 128 + 9},
		{"outlived_by_a_child", []string{"/bin/sh", "-c", "sleep 30 >/dev/null 2>&1 & echo $! ; exit 3"}, 3},
		{"missing", []string{"/no/such/program"}, 126},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := command(t, tt.argv...).Output()
			if got := code(t, err); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
			if pid := strings.TrimSpace(string(out)); pid != "" {
				_ = exec.CommandContext(t.Context(), "kill", pid).Run()
			}
		})
	}
}

func TestRunForwardsSignals(t *testing.T) {
	cmd := command(t, "/bin/sh", "-c", `trap 'echo asked; exit 9' TERM; echo ready; while :; do sleep 0.05; done`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	buffer := make([]byte, 64)
	if n, err := out.Read(buffer); err != nil || string(buffer[:n]) != "ready\n" {
		t.Fatalf("read %q, %v", buffer[:n], err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	if got := code(t, cmd.Wait()); got != 9 {
		t.Errorf("exit code %d, want 9", got)
	}
}

// TestRunReapsOrphans starts processes that outlive their parents and looks for zombies among the children of the first
// process.
func TestRunReapsOrphans(t *testing.T) {
	script := `(sh -c 'sleep 0.1' &) ; (sh -c 'exit 1' &)
children() { for f in /proc/[0-9]*/stat; do read -r stat <$f; set -- ${stat##*) }; [ "$2" = $PPID ] && echo "$1"; done 2>/dev/null; }
for i in $(seq 300); do all=$(children); [ $(echo "$all" | wc -l) = 1 ] && break; sleep 0.1; done; echo "$all"`
	out, err := command(t, "/bin/sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	// the script itself is the one child that is left
	if got := strings.Fields(string(out)); len(got) != 1 || got[0] == "Z" {
		t.Errorf("states of the children %q, want one that lives", got)
	}
}

// TestRunEndsWithWineServer runs a main program that never ends, and kills a process with the name of Wine's server.
func TestRunEndsWithWineServer(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}

	for script, want := range map[string]int{
		// its parent has ended before, so the first process reaps it
		`server=$(%[1]s 60 >/dev/null & echo $!); until [ "$(cat /proc/$server/comm)" = wineserver64 ]; do sleep 0.05; done; kill -9 $server; sleep 20`: 128 + int(syscall.SIGKILL),
		`(%[1]s 0.1 &); sleep 0.5; exit 7`: 7, // the server ends by itself when it has nothing to do
	} {
		server := filepath.Join(t.TempDir(), "wineserver64")
		if err := os.Symlink(sleep, server); err != nil {
			t.Fatal(err)
		}
		if got := code(t, command(t, "/bin/sh", "-c", fmt.Sprintf(script, server)).Run()); got != want {
			t.Errorf("%s: exit code %d, want %d", script, got, want)
		}
	}
}

// TestRunSettles: Wine's server has its time to end after the main program, and the exit code stays that one's.
func TestRunSettles(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	server, written := filepath.Join(dir, "wineserver64"), filepath.Join(dir, "written")
	if err := os.Symlink(shell, server); err != nil {
		t.Fatal(err)
	}

	script := fmt.Sprintf(`trap 'sleep 0.3; echo registry >%[2]s; exit 1' TERM; : >%[2]s.on; while :; do sleep 0.1; done`, server, written)
	main := fmt.Sprintf(`(%s -c '%s' >/dev/null 2>&1 &); until [ -e %s.on ]; do sleep 0.05; done; exit 7`, server,
		strings.ReplaceAll(script, "'", `'\''`), written)

	if got := code(t, command(t, "--settle", "--", "/bin/sh", "-c", main).Run()); got != 7 {
		t.Errorf("exit code %d, want 7", got)
	}
	if text, err := os.ReadFile(written); err != nil || string(text) != "registry\n" {
		t.Errorf("what the server wrote at its end: %q, %v", text, err)
	}
}

func code(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

func TestOwnServer(t *testing.T) {
	for stat, want := range map[string]bool{
		"12 (wineserver64) S 7 1 1": true,
		"12 (wineserver) S 7 1 1":   true,
		"12 (wineserver) S 8 1 1":   false,
		"12 (a) wineserver) S 7":    false,
		"12 (wineserver64":          false,
		"12 (wineserver64) S":       false,
		"":                          false,
	} {
		if got := ownServer(stat, 7); got != want {
			t.Errorf("%q: %t", stat, got)
		}
	}
}

// TestNoteLeft names the programs that run as the container ends: not those of Wine, nor what has ended.
func TestNoteLeft(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	proc, report := t.TempDir(), filepath.Join(t.TempDir(), "report")
	cfg := Config{Argv: []string{"wine64", "mullion-run.exe", "--report", report, "--", "x"}}
	for pid, stat := range map[string]string{
		"1": "1 (mullion-init) S 0", "7": "7 (mullion-run.exe) S 1", "8": "8 (services.exe) S 1", "9": "9 (prog.exe) S 1",
		"10": "10 (prog.exe) R 1", "11": "11 (a) b,\n(c.exe) S 1", "12": "12 (gone.exe) Z 1", "13": "13", "self": "9 (prog.exe) S 1",
	} {
		if err := errors.Join(os.Mkdir(filepath.Join(proc, pid), 0o700),
			os.WriteFile(filepath.Join(proc, pid, "stat"), []byte(stat), 0o600)); err != nil {
			t.Fatal(err)
		}
	}

	noteLeft(cfg, proc) // without a report, as of a container that was killed in its start, nothing is made
	if _, err := os.Stat(report); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a report was made: %v", err)
	}
	if err := os.WriteFile(report, []byte("started 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	noteLeft(cfg, proc)
	noteLeft(cfg, t.TempDir()) // nothing is left
	got, err := os.ReadFile(report)
	if want := "started 4\nleft 3 a) b??(c.exe, prog.exe\n"; err != nil || string(got) != want {
		t.Errorf("report: got %q, %v, want %q", got, err, want)
	}
}

func TestServicesRun(t *testing.T) {
	proc := t.TempDir()
	add := func(pid, name string) {
		if err := os.Mkdir(filepath.Join(proc, pid), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "comm"), []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add("1", "mullion-init")
	add("self", "services.exe")
	if servicesRun(proc) {
		t.Error("services run without a service control manager")
	}

	add("20", "services.exe")
	if !servicesRun(proc) {
		t.Error("the service control manager was not seen")
	}
	if servicesRun(filepath.Join(proc, "none")) {
		t.Error("services run in a container without /proc")
	}
}

// TestExplain counts Wine's lines of a program that also writes other text, long lines, and more kinds than are kept.
func TestExplain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "explain")
	script := `for i in 1 2 3; do echo "01$i""4:fixme:win:GetPointerDevices (00000002283076$i""8 0x$i): partial stub" >&3; done
echo "0114:err:module:import_dll Library x.dll (which is needed by L\"a.exe\") not found" >&3
echo "wine: Call from 00006FFFFFC4B7D8 to unimplemented function user32.dll.EndTask, aborting" >&3
echo "some text of a debugger" >&3
head -c 9000 /dev/zero | tr '\\0' x >&3; echo >&3
echo out; echo err >&2; exit 5`

	cmd := command(t, "--explain", file, "--", "/bin/sh", "-c", script)
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if got := code(t, cmd.Run()); got != 5 || out.String() != "out\n" || errOut.String() != "err\n" {
		t.Errorf("exit code %d, output %q, %q", got, out.String(), errOut.String())
	}

	text, err := os.ReadFile(file)
	want := "1 err:module:import_dll Library x.dll (which is needed by L\"a.exe\") not found\n" +
		"3 fixme:win:GetPointerDevices (# #): partial stub\n" +
		"1 wine: Call from # to unimplemented function user32.dll.EndTask, aborting\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, text, want)
	}

	many := command(t, "--explain", file, "--", "/bin/sh", "-c", "for i in $(seq 700); do echo fixme:x:f kind $i; done >&3")
	if got := code(t, many.Run()); got != 0 {
		t.Errorf("exit code %d", got)
	}
	text, err = os.ReadFile(file)
	if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); err != nil || len(lines) != maxKinds+1 || lines[maxKinds] != "200" {
		t.Errorf("%d lines, the last is %q, %v", len(lines), lines[len(lines)-1], err)
	}
}

// TestExplainHostile has a program put a link, and then a pipe that nobody reads, where the file is written.
func TestExplainHostile(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	dir := t.TempDir()
	file, victim := filepath.Join(dir, "explain"), filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, attack := range []string{"ln -s victim", "mkfifo", "mkdir"} {
		script := "cd " + dir + " && rm -rf explain.new && " + attack + " explain.new && echo fixme:x:f said >&3"
		if got := code(t, command(t, "--explain", file, "--", "/bin/sh", "-c", script).Run()); got != 0 {
			t.Errorf("%s: exit code %d", attack, got)
		}
		text, err := os.ReadFile(file)
		if err != nil || string(text) != "1 fixme:x:f said\n" {
			t.Errorf("%s: %q, %v", attack, text, err)
		}
		_ = os.Remove(file)
	}

	if kept, err := os.ReadFile(victim); err != nil || string(kept) != "kept" {
		t.Errorf("the link was followed: %q, %v", kept, err)
	}
}
