//go:build wine

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
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

// container runs `mullion container` with arguments.
func (r *room) container(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	cmd := r.containerCommand(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code is looked at
	if ctx.Err() != nil {
		t.Fatalf("mullion container %q does not end: %s%s", args, &out, &errs)
	}
	plain := func(b bytes.Buffer) string { return strings.ReplaceAll(b.String(), "\r\n", "\n") }
	return result{
		out:  plain(out),
		err:  plain(errs),
		code: cmd.ProcessState.ExitCode(),
	}
}

func (r *room) containerCommand(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"--data-dir", r.data, "container"}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "mullion"), args...)
	cmd.Dir = r.dir
	return cmd
}

// detach starts a container, which is removed at the test's end, and returns its id.
func (r *room) detach(t *testing.T, args ...string) string {
	t.Helper()
	got := r.run(t, "", append([]string{"-d"}, args...)...)
	id := strings.TrimSpace(got.out)
	if got.code != 0 || len(id) != 64 || got.out != id+"\n" {
		t.Fatalf("run -d %q: code %d, out %q, err %q", args, got.code, got.out, got.err)
	}
	t.Cleanup(func() { r.containerQuietly(t, "rm", "-f", id) })
	return id
}

// waiting starts a container whose program waits, and returns when that has said so.
func (r *room) waiting(t *testing.T, args ...string) string {
	t.Helper()
	id := r.detach(t, args...)
	r.says(t, id, "waiting\n")
	return id
}

// says waits until a container's log ends so.
func (r *room) says(t *testing.T, name, text string) {
	t.Helper()
	if !within(30*time.Second, func() bool { return strings.HasSuffix(r.container(t, "logs", name).out, text) }) {
		t.Fatalf("it does not say %q: %+v", text, r.container(t, "logs", name))
	}
}

func (r *room) containerQuietly(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	_ = r.containerCommand(ctx, args...).Run() // it may be gone already
}

// is holds how a command ended and what it said.
func (got result) is(t *testing.T, what string, code int, out, errs string) {
	t.Helper()
	if got.code != code || got.out != out || !strings.Contains(got.err, errs) {
		t.Errorf("%s: code %d, out %q, err %q; want %d, %q, %q", what, got.code, got.out, got.err, code, out, errs)
	}
}

// status returns what is known of a container's state and exit code.
func (r *room) status(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(r.container(t, "inspect", "-f", "{{.State.Status}} {{.State.ExitCode}}", name).out)
}

// TestDetached has the life of a container that outlives its client: it is listed, read, entered, stopped and removed.
func TestDetached(t *testing.T) {
	r := theRoom(t)
	id := r.waiting(t, "--name", "web", "-e", "A=of the container", "-h", "box", r.program(), "wait")
	short := id[:12]

	list := r.container(t, "ls")
	if !strings.HasPrefix(list.out, "CONTAINER ID   IMAGE") || !strings.Contains(list.out, "\n"+short+"   ") ||
		!strings.Contains(list.out, "Up ") || !strings.Contains(list.out, "   web\n") {
		t.Errorf("ls: %+v", list)
	}
	for _, name := range []string{"web", "/web", id, short, id[:5]} {
		r.container(t, "logs", name).is(t, "logs "+name, 0, "waiting\n", "")
	}

	r.run(t, "", "--name", "web", r.program()).is(t, "the same name", 125, "",
		`mullion: Conflict. The container name "/web" is already in use by container "`+id+`".`)

	exec := func(args ...string) result { return r.container(t, append([]string{"exec"}, args...)...) }
	exec("web", `C:\app\prog.exe`, "where").is(t, "exec", 0,
		`C:\app box ContainerAdministrator of the container`+"\n", "")
	exec("-e", "A=own", "-w", `C:\Windows`, "-u", "ContainerAdministrator", "web", `C:\app\prog.exe`, "where").is(t,
		"exec -e -w -u", 0, `C:\Windows box ContainerAdministrator own`+"\n", "")
	exec("-u", "ContainerUser", "web", "cmd").is(t, "exec as another user", 126, "",
		"all programs of this container are ContainerAdministrator's")
	exec("web", `C:\app\prog.exe`, "exit", "7").is(t, "exec's code", 7, "", "leaving")
	exec("web", `C:\none.exe`).is(t, "exec of none", 127, "", "cannot find the file")
	exec("-u", "nobody", "web", "cmd").is(t, "exec as nobody", 126, "", "0x52e")
	r.container(t, "logs", "web").is(t, "logs are the container's own program's", 0, "waiting\n", "")

	r.container(t, "rm", "web").is(t, "rm of one that runs", 1, "",
		`mullion: cannot remove container "/web": container is running: stop the container before removing or force remove`)
	r.container(t, "stop", "web").is(t, "stop", 0, "web\n", "")
	if got := r.status(t, "web"); got != "exited 3" {
		t.Errorf("it is %s", got)
	}

	r.container(t, "logs", "web").is(t, "logs after its end", 0, "waiting\ntold: terminated\n", "")
	r.container(t, "wait", "web").is(t, "wait", 0, "3\n", "")
	r.container(t, "stop", "web").is(t, "stop once more", 0, "web\n", "")
	exec("web", "cmd").is(t, "exec after its end", 1, "", "container "+id+" is not running")
	r.container(t, "kill", "web").is(t, "kill after its end", 1, "", "is not running")
	if list := r.container(t, "ls", "-q"); strings.Contains(list.out, short) {
		t.Errorf("ls has one that has ended: %s", list.out)
	}

	if list := r.container(t, "ls", "-aq"); !strings.Contains(list.out, short+"\n") {
		t.Errorf("ls -a lacks one that has ended: %s", list.out)
	}
	r.container(t, "rm", "web").is(t, "rm", 0, "web\n", "")
	r.container(t, "logs", "web").is(t, "logs of none", 1, "", "No such container: web")
	if left, _ := filepath.Glob(filepath.Join(r.data, "*", "containers", id+"*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestEnds holds how containers end, and what is kept of them then.
func TestEnds(t *testing.T) {
	r := theRoom(t)
	r.waiting(t, "--name", "deaf", "--stop-timeout", "30", r.program(), "deaf")
	begun := time.Now()
	r.container(t, "stop", "-t", "1", "deaf").is(t, "stop of the deaf", 0, "deaf\n", "")
	if took := time.Since(begun); took > 15*time.Second || r.status(t, "deaf") != "exited 137" {
		t.Errorf("after %v it is %s", took, r.status(t, "deaf"))
	}

	r.waiting(t, "--name", "killed", r.program(), "wait")
	r.container(t, "kill", "killed").is(t, "kill", 0, "killed\n", "")
	if got := r.status(t, "killed"); got != "exited 137" {
		t.Errorf("it is %s", got)
	}
	r.waiting(t, "--name", "told", r.program(), "wait")
	r.container(t, "kill", "-s", "INT", "told").is(t, "kill -s INT", 0, "told\n", "")
	r.container(t, "wait", "told").is(t, "wait", 0, "3\n", "")

	r.waiting(t, "--name", "goes", "--rm", r.program(), "wait")
	r.container(t, "stop", "goes").is(t, "stop", 0, "goes\n", "")
	r.container(t, "logs", "goes").is(t, "--rm", 1, "", "No such container: goes")

	seen := r.run(t, "", "--name", "seen", r.program(), "exit", "0xC0000005")
	seen.is(t, "in the foreground", 5, "", "access violation")
	r.container(t, "wait", "seen").is(t, "all bits of its code", 0, "3221225477\n", "")
	r.container(t, "logs", "seen").is(t, "its log", 0, "", "leaving\n")
	r.run(t, "", "--rm", "--name", "unseen", r.program()).is(t, "with --rm", 0, "hello\n", "")
	r.container(t, "inspect", "unseen").is(t, "and then", 1, "[]\n", "No such container: unseen")

	got := r.run(t, "", "-d", "--name", "none", bare, `C:\none.exe`)
	got.is(t, "one that does not start", 127, "", "cannot find the file")
	r.container(t, "rm", "none").is(t, "and leaves nothing", 1, "", "No such container: none")

	r.waiting(t, "--name", "forced", r.program(), "wait")
	r.container(t, "rm", "-f", "forced", "seen").is(t, "rm -f", 0, "forced\nseen\n", "")

	pruned := r.container(t, "prune", "-f")
	if pruned.code != 0 || !strings.HasPrefix(pruned.out, "Deleted Containers:\n") {
		t.Errorf("prune: %+v", pruned)
	}
	r.container(t, "ls", "-aq").is(t, "after prune", 0, "", "")
}

// TestLogsFollowed reads what a container says while it says it, until it has ended.
func TestLogsFollowed(t *testing.T) {
	r := theRoom(t)
	r.detach(t, "--name", "talks", r.program(), "lines", "30", "20ms")
	follow := r.container(t, "logs", "-f", "talks")
	if lines := strings.Split(strings.TrimSpace(follow.out), "\n"); len(lines) != 15 || lines[14] != "line 28" ||
		strings.Count(follow.err, "\n") != 15 {
		t.Errorf("followed: %+v", follow)
	}

	r.container(t, "logs", "--tail", "2", "talks").is(t, "logs --tail", 0, "line 28\n", "line 29\n")
	r.container(t, "logs", "--since", "1h", "-n", "1", "talks").is(t, "logs --since", 0, "", "line 29\n")
	later := time.Now().Add(time.Hour).Format(time.RFC3339)
	r.container(t, "logs", "--since", later, "talks").is(t, "logs of later", 0, "", "")

	// One that is removed at its end is read to its end, too.
	r.detach(t, "--name", "talks-rm", "--rm", r.program(), "lines", "30", "50ms")
	follow = r.container(t, "logs", "-f", "talks-rm")
	if follow.code != 0 || !strings.Contains(follow.err, "line 29\n") {
		t.Errorf("followed with --rm: %+v", follow)
	}
}

// TestManyLines: a log is bounded, and private.
func TestManyLines(t *testing.T) {
	r := theRoom(t)
	id := r.detach(t, "--name", "much", r.program(), "lines", "900000", "0s")
	r.container(t, "wait", "much").is(t, "wait", 0, "0\n", "")
	files, err := filepath.Glob(filepath.Join(r.data, "logs", "containers", id+".log*"))
	if err != nil || len(files) != 3 {
		t.Errorf("the log has %v, %v", files, err)
	}

	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Size() > 10<<20 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	got := r.container(t, "logs", "much")
	if !strings.HasSuffix(got.out, "\nline 899998\n") || !strings.HasSuffix(got.err, "\nline 899999\n") {
		t.Errorf("its end: %.100q, %.100q", got.out[max(0, len(got.out)-100):], got.err[max(0, len(got.err)-100):])
	}
	if strings.Contains(got.out+got.err, "line 0\n") {
		t.Error("its beginning is kept, too")
	}
}

// TestExecTerminal types at a prompt in a container that runs.
func TestExecTerminal(t *testing.T) {
	r := theRoom(t)
	r.waiting(t, "--name", "entered", r.program(), "wait")
	cmd := r.containerCommand(t.Context(), "exec", "-it", "entered", "cmd")
	term := tty.Open(t, cmd, unix.Winsize{Row: 30, Col: 100})
	term.Expect(t, `C:\app>`)
	term.Send(t, "prog size\r")
	term.Expect(t, "100 columns, 30 rows")
	term.Resize(t, 132, 40)
	term.Expect(t, "132 columns, 40 rows")
	term.Send(t, "\x03")
	term.Expect(t, `C:\app>`)
	term.Send(t, "exit 5\r")
	_ = cmd.Wait() // the code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 5 {
		t.Errorf("it ended with %d", code)
	}

	if got := r.status(t, "entered"); got != "running 0" {
		t.Errorf("the container is %s", got)
	}

	// A shell without a client waits for one.
	r.detach(t, "--name", "shell", "-i", "-t", bare, "cmd")
	if got := r.status(t, "shell"); got != "running 0" {
		t.Errorf("a shell is %s", got)
	}
}

// TestExecEnds: a program that is run in a container ends with its client, and the container does not.
func TestExecEnds(t *testing.T) {
	r := theRoom(t)
	r.waiting(t, "--name", "host", r.program(), "wait")
	for _, s := range []os.Signal{os.Interrupt, os.Kill} {
		cmd := r.containerCommand(t.Context(), "exec", "host", `C:\app\prog.exe`, "wait")
		out := &lines{}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !within(30*time.Second, func() bool { return strings.Contains(out.String(), "waiting") }) {
			t.Fatalf("the program does not run: %s", out)
		}

		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it may be killed
		if s == os.Interrupt && cmd.ProcessState.ExitCode() != 137 {
			t.Errorf("Ctrl-C: exit code %d", cmd.ProcessState.ExitCode())
		}

		count := func() int { return len(r.programs("prog.exe wait")) }
		if !within(20*time.Second, func() bool { return count() <= 1 }) {
			t.Errorf("%v: there still are %v", s, r.programs("prog.exe wait"))
		}
	}

	if got := r.status(t, "host"); got != "running 0" {
		t.Errorf("the container is %s", got)
	}
	cmd := r.containerCommand(t.Context(), "exec", "-i", "host", `C:\app\prog.exe`, "upper")
	cmd.Stdin = strings.NewReader("abc\n")
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "ABC" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestCopy copies a folder into a container and back, and files into a folder and to a name.
func TestCopy(t *testing.T) {
	r := theRoom(t)
	r.waiting(t, "--name", "copied", r.program(), "wait")
	for name, text := range map[string]string{"conf/a b.txt": "one", "conf/sub/ä.txt": "two"} {
		file := filepath.Join(r.dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink("/etc/passwd", filepath.Join(r.dir, "conf/link")); err != nil {
		t.Fatal(err)
	}

	cp := func(from, to string) result { return r.container(t, "cp", from, to) }
	cp("conf", `copied:C:\new`).is(t, "a folder by a new name", 0, "", "conf/link is left out")
	cp("conf", `copied:C:\new`).is(t, "a folder into a folder", 0, "", "")
	cp("conf/a b.txt", `copied:C:/new/c.txt`).is(t, "a file by a new name", 0, "", "")
	cp(`copied:C:\NEW`, "back").is(t, "back by a new name", 0, "", "")
	cp(`copied:C:\new\c.txt`, "back").is(t, "a file into a folder", 0, "", "")
	mask := unix.Umask(0o077)
	cp(`copied:C:\new\c.txt`, "back/own").is(t, "a file of one's own", 0, "", "")
	unix.Umask(mask)
	if info, err := os.Stat(filepath.Join(r.dir, "back", "own")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("with a person's umask: %v, %v", info, err)
	}

	for name, want := range map[string]string{
		"a b.txt": "one", "sub/ä.txt": "two", "conf/a b.txt": "one", "conf/sub/ä.txt": "two", "c.txt": "one",
	} {
		if got, err := os.ReadFile(filepath.Join(r.dir, "back", name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}

	cp(`copied:C:\none`, ".").is(t, "none", 1, "", `mullion: Could not find the file C:\none in container copied`)
	cp("conf", `copied:C:\none\none`).is(t, "into no folder", 1, "", "could not chdir")
	cp("conf", `none:C:\`).is(t, "into no container", 1, "", "No such container: none")
}

// programs returns the engine's processes whose command line ends so.
func (r *room) programs(last string) (found []string) {
	for _, l := range r.engine() {
		if args := strings.Join(l.Args, " "); strings.HasSuffix(args, last) && !strings.Contains(args, "mullion-run") {
			found = append(found, args)
		}
	}
	return found
}

// TestOneNameAtOnce asks for the same name many times at once: one gets it.
func TestOneNameAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	r := theRoom(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{}
	for range 4 {
		all.Go(func() {
			got := r.run(t, "", "-d", "--name", "only", r.program(), "wait")
			mu.Lock()
			defer mu.Unlock()
			codes[got.code]++
		})
	}

	all.Wait()
	if codes[0] != 1 || codes[125] != 3 {
		t.Errorf("exit codes: %v", codes)
	}
	r.container(t, "rm", "-f", "only").is(t, "rm -f", 0, "only\n", "")
}

// TestDetachedKilled kills each part of the engine while a container runs without a client: it has ended with it, is
// listed so by the next engine with its log, and nothing of it is left. One with --rm is gone.
func TestDetachedKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	r := theRoom(t)
	for name, is := range map[string]func([]string) bool{"server": isServer, "keeper": isKeeper} {
		t.Run(name, func(t *testing.T) {
			r.waiting(t, "--name", "kept-"+name, r.program(), "wait")
			r.waiting(t, "--name", "rm-"+name, "--rm", r.program(), "wait")
			waits := r.containerCommand(t.Context(), "wait", "kept-"+name)
			if err := waits.Start(); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(r.process(is), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}

			if !within(20*time.Second, func() bool { return r.process(isInit) == 0 }) {
				t.Fatalf("there still are %v", r.engine())
			}
			if got := r.status(t, "kept-"+name); got != "exited 255" {
				t.Errorf("it is %s", got)
			}

			r.container(t, "logs", "kept-"+name).is(t, "its log", 0, "waiting\n", "")
			r.container(t, "logs", "rm-"+name).is(t, "the other one", 1, "", "No such container: rm-"+name)
			_ = waits.Wait() // whether it was told or not, it ends
			r.container(t, "rm", "kept-"+name).is(t, "rm", 0, "kept-"+name+"\n", "")
			if left, _ := filepath.Glob(filepath.Join(r.data, "*", "containers", "*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestEngineEnds: an engine that is told to end notes what has ended with it; the next one knows it.
func TestEngineEnds(t *testing.T) {
	r := theRoom(t)
	r.waiting(t, "--name", "ends", r.program(), "wait")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if left := r.left(); left != "" {
		t.Errorf("left: %s", left)
	}

	var all []struct {
		State struct{ Status, Error string }
	}
	if got := r.container(t, "inspect", "ends"); json.Unmarshal([]byte(got.out), &all) != nil || len(all) != 1 ||
		all[0].State.Status != "exited" || all[0].State.Error != "the engine has ended" {
		t.Errorf("%+v", got)
	}
	r.container(t, "rm", "ends").is(t, "rm", 0, "ends\n", "")
}

// TestIdleEnd has an engine that ends soon: not while a container runs, then by itself, and the next one knows what has
// ended.
func TestIdleEnd(t *testing.T) {
	r := theRoom(t)
	r.run(t, "", "--rm", r.program()).is(t, "the control", 0, "hello\n", "") // Windows may have to be prepared
	if err := r.end(); err != nil {
		t.Fatal(err)
	}

	args := []string{"--data-dir", r.data, "run-engine", "--idle", "2s"}
	keeper := exec.CommandContext(t.Context(), filepath.Join(r.bin, "mullion"), args...)
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}

	over := make(chan error, 1)
	go func() { over <- keeper.Wait() }()
	answers := func() bool {
		conn, err := net.Dial("unix", r.paths.Engine())
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	if !within(20*time.Second, answers) {
		t.Fatal("the engine does not serve")
	}

	r.waiting(t, "--name", "busy", r.program(), "wait")
	select {
	case err := <-over:
		t.Fatalf("it has ended while a container ran: %v", err)
	case <-time.After(4 * time.Second):
	}

	r.container(t, "stop", "busy").is(t, "stop", 0, "busy\n", "")
	select {
	case err := <-over:
		if err != nil {
			t.Errorf("it has ended: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}

	if left := r.left(); left != "" {
		t.Errorf("left: %s", left)
	}
	if got := r.status(t, "busy"); got != "exited 3" {
		t.Errorf("the next engine says it is %s", got)
	}
}

// TestClientKilled kills the client of `run -d` before it has its id: the container is whole, or not there.
func TestClientKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	r := theRoom(t)
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 120 * time.Millisecond} {
		cmd := r.command(t.Context(), "-d", "--name", "early", r.program(), "wait")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		<-time.After(after)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		settled := func() bool { status := r.status(t, "early"); return status == "" || status == "running 0" }
		if !within(20*time.Second, settled) {
			t.Errorf("after %v it is %s", after, r.status(t, "early"))
		}

		r.containerQuietly(t, "rm", "-f", "early")
		if !within(20*time.Second, func() bool { return r.process(isInit) == 0 }) {
			t.Errorf("after %v there still are %v", after, r.engine())
		}
	}
}
