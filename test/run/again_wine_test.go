//go:build wine

package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBeginAnew has a container that has ended begin anew, with what it was run with and the C: of its image.
func TestBeginAnew(t *testing.T) {
	r := theRoom(t)
	const gone = "mullion: anew has the C: of its image again: what it had written there went with its program\n"
	id := r.waiting(t, "--name", "anew", "-e", "A=of the container", "-h", "box", "-p", "127.0.0.1::80", r.program(), "wait")
	r.container(t, "start", "anew").is(t, "start of one that runs", 0, "anew\n", "")
	r.container(t, "exec", "anew", `C:\app\prog.exe`, "write", `C:\note.txt`).is(t, "write", 0, "", "")

	r.container(t, "stop", "anew").is(t, "stop", 0, "anew\n", "")
	r.container(t, "start", "anew").is(t, "start", 0, "anew\n", gone)
	if got := strings.TrimSpace(r.container(t, "inspect", "-f", "{{.Id}} {{.State.Status}}", "anew").out); got != id+" running" {
		t.Errorf("it is %s", got)
	}

	r.container(t, "exec", "anew", `C:\app\prog.exe`, "where").is(t, "its own", 0,
		`C:\app box ContainerAdministrator of the container`+"\n", "")
	r.container(t, "exec", "anew", "cmd", "/c", "type", `C:\note.txt`).is(t, "its C:", 1, "", "")
	if at := r.container(t, "port", "anew", "80"); at.code != 0 || !strings.HasPrefix(at.out, "127.0.0.1:") {
		t.Errorf("its port: %+v", at)
	}

	restarted := r.container(t, "restart", "-t", "20", "anew")
	restarted.is(t, "restart", 0, "anew\n", gone)
	r.says(t, "anew", "waiting\ntold: terminated\nwaiting\ntold: terminated\nwaiting\n")
	r.container(t, "kill", "anew").is(t, "kill", 0, "anew\n", "")
	if got := r.status(t, "anew"); got != "exited 137" {
		t.Errorf("it is %s", got)
	}

	// What a container puts in the place of a folder that it was shown is not shown to it then.
	inside := filepath.Join(r.dir, "shown", "inside")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}

	shown := []string{"-v", inside + `:C:\inside`, r.program()}
	r.run(t, "", append([]string{"--name", "shown"}, shown...)...).is(t, "with a folder", 0, "hello\n", "")
	r.container(t, "start", "shown").is(t, "start with a folder", 0, "shown\n", "")
	r.container(t, "wait", "shown").is(t, "wait", 0, "0\n", "")
	if err := errors.Join(os.Rename(inside, inside+"-old"), os.Symlink("/etc", inside)); err != nil {
		t.Fatal(err)
	}

	r.container(t, "start", "shown").is(t, "start with a link in its place", 125, "",
		"it is another one than when the container was run")
	if got := r.status(t, "shown"); got != "exited 0" {
		t.Errorf("it is %s", got)
	}
	r.container(t, "rm", "shown").is(t, "rm", 0, "shown\n", "")

	folder := filepath.Join(r.dir, "app")
	r.run(t, "", "--name", "once", folder, `C:\prog.exe`).is(t, "of a folder", 0, "hello\n", "")
	r.container(t, "start", "once").is(t, "start of a folder", 1, "", "its image was made for its first run alone")
	r.container(t, "rm", "once").is(t, "rm", 0, "once\n", "")
	r.container(t, "start", "once").is(t, "start of none", 1, "", "No such container: once")
}

// TestRenamed has a container go on under another name, by which the others find it.
func TestRenamed(t *testing.T) {
	r := theRoom(t)
	id := r.detach(t, "--name", "before", r.program(), "serve", ":80")
	ask := func(name string) result { return r.run(t, "", "--rm", r.program(), "ask", "tcp", name+":80", "hello") }
	if !within(30*time.Second, func() bool { return strings.HasSuffix(ask("before").out, " hello") }) {
		t.Errorf("by its first name: %+v", ask("before"))
	}

	r.container(t, "rename", "before", "after").is(t, "rename", 0, "", "")
	if got := ask("after"); !strings.HasSuffix(got.out, " hello") {
		t.Errorf("by its new name: %+v", got)
	}
	if got := ask("before"); strings.HasSuffix(got.out, " hello") {
		t.Errorf("by its old name: %+v", got)
	}

	r.container(t, "inspect", "-f", "{{.Name}}", id).is(t, "its name", 0, "/after\n", "")
	r.container(t, "logs", "before").is(t, "its old name", 1, "", "No such container: before")
	r.detach(t, "--name", "before", r.program(), "wait")
	r.container(t, "rename", "after", "before").is(t, "a name that is taken", 1, "",
		`mullion: Conflict. The container name "/before" is already in use`)
}

// TestListed finds containers by their labels and states, and prints what a template says.
func TestListed(t *testing.T) {
	r := theRoom(t)
	r.waiting(t, "--name", "listed", "-l", "team=web", "-l", "bare", r.program(), "wait")
	r.run(t, "", "--name", "listed-too", "-l", "team=db", r.program()).is(t, "run", 0, "hello\n", "")
	ls := func(args ...string) string {
		t.Helper()
		return r.container(t, append([]string{"ls", "--format", "{{.Names}}"}, args...)...).out
	}

	for want, args := range map[string][]string{
		"listed\n":             {"-f", "label=team", "-f", "name=listed"},
		"listed-too\n":         {"-f", "name=listed", "-f", "status=exited"},
		"listed-too\nlisted\n": {"-a", "-f", "label=team"},
		"":                     {"-a", "-f", "label=team=web", "-f", "label=bare=x"},
	} {
		if got := ls(args...); got != want {
			t.Errorf("ls %q: %q, want %q", args, got, want)
		}
	}

	if got := ls("-l"); got != "listed-too\n" {
		t.Errorf("the newest is %q", got)
	}
	r.container(t, "rm", "listed-too").is(t, "rm", 0, "listed-too\n", "")

	until := r.container(t, "logs", "--until", "24h", "listed")
	until.is(t, "logs of before", 0, "", "")
	begun := time.Now()
	r.container(t, "logs", "-f", "--until", time.Now().Add(2*time.Second).Format(time.RFC3339Nano), "listed").is(t,
		"logs until soon", 0, "waiting\n", "")
	if took := time.Since(begun); took < time.Second {
		t.Errorf("it followed for %v", took)
	}
}

// TestExposed publishes the ports that are exposed, and those of a range, at ports that are free.
func TestExposed(t *testing.T) {
	r := theRoom(t)
	r.detach(t, "--name", "exposed", "-P", "--expose", "80", "-p", "18090-18091:81-82", r.program(), "serve", ":80")
	at := strings.TrimSpace(r.container(t, "port", "exposed", "80/tcp").out)
	if !within(30*time.Second, func() bool { return strings.HasSuffix(asks(at, "hello"), " hello") }) {
		t.Errorf("at %q: %q", at, asks(at, "hello"))
	}
	r.container(t, "port", "exposed", "81").is(t, "port of a range", 0, "127.0.0.1:18090\n", "")
	r.container(t, "port", "exposed", "9").is(t, "port of none", 1, "", "no public port '9/tcp' published for exposed")
	want := fmt.Sprintf("%s->80/tcp, 127.0.0.1:18090-18091->81-82/tcp", at)
	if got := r.container(t, "ls", "--format", "{{.Ports}}", "-f", "name=exposed").out; got != want+"\n" {
		t.Errorf("its ports are %q, want %q", got, want)
	}
}

// TestUsed shows what a container uses.
func TestUsed(t *testing.T) {
	r := theRoom(t)
	r.waiting(t, "--name", "used", "-m", "512m", r.program(), "wait")
	got := r.container(t, "stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}} {{.PIDs}} {{.NetIO}}", "used")
	var memory, pids string
	if n, err := fmt.Sscanf(got.out, "used %s / 512MiB %s", &memory, &pids); n != 2 || err != nil || memory == "0B" || pids == "0" {
		t.Errorf("stats: %+v", got)
	}
	if table := r.container(t, "stats", "--no-stream").out; !strings.Contains(table, "CONTAINER ID") ||
		!strings.Contains(table, "   used   ") {
		t.Errorf("stats of all: %s", table)
	}
}

// TestExecDetached leaves a program running in a container.
func TestExecDetached(t *testing.T) {
	r := theRoom(t)
	r.waiting(t, "--name", "left", r.program(), "wait")
	exec := func(args ...string) result { return r.container(t, append([]string{"exec", "-d", "left"}, args...)...) }
	exec(`C:\app\prog.exe`, "serve", ":80").is(t, "exec -d", 0, "", "")
	ask := func() result { return r.run(t, "", "--rm", r.program(), "ask", "tcp", "left:80", "hello") }
	if !within(30*time.Second, func() bool { return strings.HasSuffix(ask().out, " hello") }) {
		t.Errorf("what was left running: %+v", ask())
	}
	exec(`C:\none.exe`).is(t, "exec -d of none", 127, "", "cannot find the file")
	r.container(t, "logs", "left").is(t, "its log", 0, "waiting\n", "")
	r.container(t, "rm", "-f", "left").is(t, "rm -f", 0, "left\n", "")
}
