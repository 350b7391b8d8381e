//go:build wine

package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/test/tty"
)

const bare = "mcr.microsoft.com/windows/nanoserver:ltsc2025"

// TestLines runs what a person types, and looks at what it says and how it ends.
func TestLines(t *testing.T) {
	r := theRoom(t)
	folders(t, r)
	app := "./app/prog.exe"
	for _, tc := range []struct {
		name  string
		args  []string
		input string
		code  int
		out   string // all of standard output
		err   string // a part of standard error
	}{
		{name: "a program", args: []string{app}, out: "hello\n"},
		{name: "arguments", args: []string{app, "args", "a b", `c"d`, "-v", "%PATH%"}, out: `a b|c"d|-v|%PATH%` + "\n"},
		{
			name: "the place", args: []string{"-h", "box", "-u", "ContainerUser", "-e", "A=b c", app, "where"},
			out: `C:\app box ContainerUser b c` + "\n",
		},
		{
			name: "another folder", args: []string{"-w", `C:\Windows`, "-h", "box", app, "where"},
			out: `C:\Windows box ContainerAdministrator ` + "\n",
		},
		{
			name: "variables of a file", args: []string{"--env-file", "env", "-h", "box", app, "where"},
			out: `C:\app box ContainerAdministrator from file` + "\n",
		},
		{name: "a code", args: []string{app, "exit", "7"}, code: 7, err: "leaving\n"},
		{name: "a code that 256 divides", args: []string{app, "exit", "512"}, code: 1},
		{
			name: "an exception's code", args: []string{app, "exit", "0xC0000005"}, code: 5,
			err: "mullion: the program ended with 0xC0000005 (access violation)",
		},
		{name: "a fault of Go", args: []string{app, "fault"}, code: 2, err: "nil pointer dereference"},
		{name: "an input", args: []string{"-i", app, "upper"}, input: "abc\n", out: "ABC\n"},
		{name: "no input", args: []string{app, "upper"}, input: "abc\n"},
		{name: "an image", args: []string{bare, "cmd", "/c", "echo %OS%"}, out: "Windows_NT\n"},
		{
			name: "an image's build", args: []string{
				"--windows-version", "ltsc2022", "--memory", "256m", "--cpus", "0.5",
				"mcr.microsoft.com/windows/nanoserver:ltsc2022", "cmd", "/c", "ver",
			},
			out: "\nMicrosoft Windows [Version 10.0.20348.2762]\n",
		},
		{
			name: "the build of the image", args: []string{"mcr.microsoft.com/windows/nanoserver:ltsc2022", "cmd", "/c", "ver"},
			out: "\nMicrosoft Windows [Version 10.0.20348.2762]\n",
		},
		{
			name: "a build that the image is not for", args: []string{
				"--windows-version", "ltsc2022", "mcr.microsoft.com/windows/nanoserver:ltsc2025", "cmd", "/c", "ver",
			},
			code: 125, err: "leave --windows-version out, or give it its own: --windows-version ltsc2025",
		},
		{name: "a folder", args: []string{"./image"}, out: "from the description\n"},
		{name: "a folder, other arguments", args: []string{"./image", "args", "x"}, out: "x\n"},
		{name: "an entry point", args: []string{"--entrypoint", "cmd", "./image", "/c", "dir /b"}, out: "prog.exe\n"},
		{name: "a folder of a person's", args: []string{"-v", `./own:C:\own`, app, "write", `C:\own\new`}},
		{
			name: "to be read only", args: []string{"-v", `./own:C:\own:ro`, app, "write", `C:\own\newer`}, code: 1,
			out: "open C:\\own\\newer: Access is denied.\n",
		},
		{
			name: "a folder of root's", args: []string{"-v", `./roots:C:\roots`, app, "write", `C:\roots\new`}, code: 1,
			out: "open C:\\roots\\new: Access is denied.\n",
		},
		{name: "not in the container", args: []string{bare, `C:\none.exe`}, code: 127, err: "cannot find the file"},
		{name: "not on the machine", args: []string{"./app/none.exe"}, code: 127, err: "it is not there"},
		{
			name: "no program in the container", args: []string{"-v", `./env:C:\env.exe:ro`, bare, `C:\env.exe`}, code: 126,
			err: "mullion: start the program: ",
		},
		{name: "a text", args: []string{"./env"}, code: 126, err: "it is no Windows program"},
		{name: "no image", args: []string{"--pull", "never", "example.invalid/none:1"}, code: 125, err: `there is no image`},
		{name: "no user", args: []string{"-u", "nobody", bare, "cmd"}, code: 126, err: "0x52e"},
		{name: "no command", args: []string{"./bare"}, code: 125, err: "no command specified"},
		{
			name: "another's folder of data", args: []string{"--data-dir", "own", app}, code: 125,
			err: "it holds files that Mullion did not make",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := r.run(t, tc.input, tc.args...)
			if got.code != tc.code || got.out != tc.out || !strings.Contains(got.err, tc.err) {
				t.Errorf("code %d, out %q, err %q; want %d, %q, %q", got.code, got.out, got.err, tc.code, tc.out, tc.err)
			}
		})
	}

	info, err := os.Stat(filepath.Join(r.dir, "own", "new"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 1234 {
		t.Errorf("what the container has written belongs to %d, not to the folder's owner", owner)
	}
}

// folders makes what the lines name.
func folders(t *testing.T, r *room) {
	t.Helper()
	program, err := os.ReadFile(r.program())
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{
		"env":              "# a comment\n\nA=from file\nOUTSIDE\n",
		"image/image.yaml": "target: app\nworkingDir: C:\\app\nentrypoint: ['C:\\app\\prog.exe']\ncmd: [args, from the description]\n",
		"image/prog.exe":   string(program),
		"bare/text":        "nothing to run\n",
		"own/old":          "",
		"roots/old":        "",
	} {
		file := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	own := filepath.Join(r.dir, "own")
	if err := os.Chown(own, 1234, 1234); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(own, 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestSignals holds what a program is told, and what ends it when it does not listen.
func TestSignals(t *testing.T) {
	r := theRoom(t)
	const killed = 128 + 9
	for _, tc := range []struct {
		name    string
		args    []string
		signals []os.Signal
		code    int
		out     string
	}{
		{"Ctrl-C", []string{r.program(), "wait"}, []os.Signal{os.Interrupt}, 3, "waiting\ntold: interrupt\n"},
		{
			"Ctrl-C twice",
			[]string{r.program(), "deaf"},
			[]os.Signal{os.Interrupt, os.Interrupt},
			killed,
			"waiting\ntold: interrupt\n",
		},
		{"SIGTERM", []string{r.program(), "wait"}, []os.Signal{syscall.SIGTERM}, 3, "waiting\ntold: terminated\n"},
		{
			"SIGTERM to the deaf",
			[]string{"--stop-timeout", "1", r.program(), "deaf"},
			[]os.Signal{syscall.SIGTERM},
			killed,
			"waiting\ntold: terminated\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := r.begin(t, tc.args...)
			for i, s := range tc.signals {
				if i > 0 && !within(20*time.Second, func() bool { return strings.Contains(run.out.String(), "told") }) {
					t.Errorf("the program was not told: %s", run.out)
				}
				run.signal(t, s)
			}

			if got := run.ends(t); got.code != tc.code || got.out != tc.out {
				t.Errorf("code %d, out %q, err %q; want %d, %q", got.code, got.out, got.err, tc.code, tc.out)
			}
		})
	}
}

// TestManyAtOnce has several runs, also the first ones of an engine, each with its own streams.
func TestManyAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	r := theRoom(t)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}

	var all sync.WaitGroup
	for n := range 20 {
		word := fmt.Sprintf("word-%d", n)
		all.Go(func() {
			got := r.run(t, word, "-i", r.program(), "upper")
			if got.code != 0 || got.out != strings.ToUpper(word) {
				t.Errorf("%s: code %d, out %q, err %q", word, got.code, got.out, got.err)
			}
		})
	}

	all.Wait()
	if len(r.engine()) == 0 {
		t.Error("the engine has not stayed for the next run")
	}
}

// TestKilled kills the client and each part of the engine, while a container runs, and looks for what is left.
func TestKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	r := theRoom(t)
	for _, tc := range []struct {
		name string
		pid  func(run running) int
		err  string // what the client says, if it still can
		gone bool   // the engine
	}{
		{"the client", func(run running) int { return run.cmd.Process.Pid }, "", false},
		{"the server", func(running) int { return r.process(isServer) }, "the engine has ended", true},
		{"the keeper", func(running) int { return r.process(isKeeper) }, "the engine has ended", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := r.begin(t, r.program(), "wait")
			if r.process(isInit) == 0 {
				t.Fatalf("the control: there is no container in %v", r.engine())
			}
			pid := tc.pid(run)
			if pid == 0 {
				t.Fatalf("it is not there: %v", r.engine())
			}

			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if got := run.ends(t); tc.gone && (got.code != 125 || !strings.Contains(got.err, tc.err)) {
				t.Errorf("the client ended with %d: %s", got.code, got.err)
			}

			over := func() bool { return r.process(isInit) == 0 && (!tc.gone || len(r.engine()) == 0) }
			if !within(20*time.Second, over) {
				t.Errorf("there still are %v", r.engine())
			}
			if got := r.run(t, "", r.program()); got.code != 0 || got.out != "hello\n" {
				t.Errorf("the next run: code %d, out %q, err %q", got.code, got.out, got.err)
			}
		})
	}
}

// TestTerminal types at a prompt in a container.
func TestTerminal(t *testing.T) {
	r := theRoom(t)
	if got := r.run(t, "", bare, "cmd", "/c", "exit"); got.code != 0 { // Windows may have to be prepared, which takes long
		t.Fatalf("code %d, err %q", got.code, got.err)
	}

	cmd := r.command(t.Context(), "-it", "-v", `./app:C:\app:ro`, bare, "cmd")
	term := tty.Open(t, cmd, unix.Winsize{Row: 30, Col: 100})
	term.Expect(t, `C:\>`)
	term.Send(t, "app\\prog size\r")
	term.Expect(t, "100 columns, 30 rows")
	term.Resize(t, 132, 40)
	term.Expect(t, "132 columns, 40 rows")
	term.Send(t, "\x03") // is for the program, and not for `mullion run`
	term.Expect(t, `C:\>`)
	term.Send(t, "echo again\r")
	term.Expect(t, "\nagain\r")
	term.Send(t, "exit 5\r")
	_ = cmd.Wait() // the code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 5 {
		t.Errorf("it ended with %d", code)
	}
}

// TestDown removes the engine while a container runs, and all that it has, and does so once more. It is the last test:
// another one would prepare Windows again.
func TestDown(t *testing.T) {
	r := theRoom(t)
	r.waiting(t, "--name", "down", r.program(), "wait")
	run := r.begin(t, r.program(), "wait")
	for range 2 {
		down := exec.CommandContext(t.Context(), filepath.Join(r.bin, "mullion"), "--data-dir", r.data, "down", "--run")
		if out, err := down.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}

	if got := run.ends(t); got.code != 125 {
		t.Errorf("the client ended with %d: %s", got.code, got.err)
	}
	if left := r.engine(); len(left) > 0 {
		t.Errorf("there still are %v", left)
	}

	for _, dir := range []string{r.data, r.paths.Run()} {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

// TestUnderSudo begins the engine as sudo does, without core files, and as root of a container, that may not get them
// back: containers run.
func TestUnderSudo(t *testing.T) {
	r := theRoom(t)
	if err := r.end(); err != nil { // the next run begins one
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})

	plain := r.command(t.Context(), "--name", "under-sudo", r.program(), "exit", "7")
	as := []string{"--core=0:0", "setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource"}
	cmd := exec.CommandContext(t.Context(), "prlimit", append(as, plain.Args...)...)
	cmd.Dir, cmd.Env = plain.Dir, plain.Env
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d: %v\n%s", code, err, out)
	}
}
