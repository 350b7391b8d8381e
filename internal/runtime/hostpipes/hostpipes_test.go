package hostpipes

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

func TestCommandLine(t *testing.T) {
	if got := CommandLine(nil); got != "" {
		t.Errorf("without pipes: %q", got)
	}
	const want = `C:\Windows\System32\mullion-pipe.exe "--event" "mullion_pipes" "\\.\pipe\mine" ` +
		`"\\?\unix\run\mullion-pipes\0" "\\.\pipe\my other" "\\?\unix\run\mullion-pipes\1"`
	got := CommandLine([]Pipe{{Host: `\\.\pipe\a`, Container: `\\.\pipe\mine`}, {Host: `\\.\pipe\b`, Container: `\\.\pipe\my other`}})
	if got != want {
		t.Errorf("the command line is %s, want %s", got, want)
	}
}

func TestCheck(t *testing.T) {
	const name = `\\.\pipe\a`
	var many []Pipe
	for i := range maxPipes {
		many = append(many, Pipe{Host: name, Container: name + strconv.Itoa(i)})
	}
	if err := Check(many); err != nil {
		t.Error(err)
	}
	if Check(append(many, Pipe{Host: name, Container: name})) == nil {
		t.Error("a container has any number of pipes")
	}
	if Check([]Pipe{{name, name}, {name, strings.ToUpper(name)}}) == nil {
		t.Error("two pipes have one name in a container")
	}

	for _, bad := range []string{"", `C:\pipe`, `\\.\pipe\`, `\\.\pipe\a" --event "b`, `\\.\pipe\a\`, "\\\\.\\pipe\\a\nb"} {
		if Check([]Pipe{{bad, name}}) == nil || Check([]Pipe{{name, bad}}) == nil {
			t.Errorf("%q is taken for a pipe", bad)
		}
	}
}

// TestServe: connections lead to the host's pipe as the user, a pipe that is not there closes them, those beyond what
// a container may have at a time are closed, and the end closes all. Nothing that serves is left.
func TestServe(t *testing.T) {
	var running sync.WaitGroup
	server := Server{
		Connect: func(_ context.Context, user piperelay.User, pipe string) (net.Conn, error) {
			if strings.HasSuffix(pipe, "gone") {
				return nil, errors.New("no such pipe")
			}
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				_, _ = io.WriteString(theirs, string(user)+" "+pipe)
				_, _ = io.Copy(io.Discard, theirs)
			}()
			return ours, nil
		},
		Go: running.Go,
	}

	dir := filepath.Join(t.TempDir(), strings.Repeat("a long name", 20)) // more than an address of a socket has room for
	mount, err := Mount(dir)
	if err != nil || mount.Source != dir {
		t.Fatalf("%+v, %v", mount, err)
	}
	pipes := []Pipe{{Host: `\\.\pipe\one`}, {Host: `\\.\pipe\gone`}, {Host: `\\.\pipe\second`}}
	end, err := server.Serve(t.Context(), dir, piperelay.Unprivileged, pipes)
	if err != nil {
		t.Fatal(err)
	}

	const want = `ContainerUser \\.\pipe\one`
	if got := read(t, dial(t, dir, "0"), len(want)); got != want {
		t.Errorf("the pipe says %q, want %q", got, want)
	}
	if got := read(t, dial(t, dir, "1"), 1); got != "" {
		t.Errorf("a pipe that is not there says %q", got)
	}

	var last net.Conn
	for i := range maxConns { // one more than there are with the first
		last = dial(t, dir, []string{"0", "2"}[i%2])
		if i < maxConns-1 {
			read(t, last, 1)
		}
	}
	if got := read(t, last, 1); got != "" {
		t.Errorf("the connection beyond what a container may have says %q", got)
	}

	end()
	running.Wait()
	if _, err := net.Dial("unix", short(t, dir, "0")); err == nil {
		t.Error("the end left the pipe open")
	}
	if _, err := server.Serve(t.Context(), filepath.Join(dir, "absent"), piperelay.Unprivileged, pipes); err == nil {
		t.Error("pipes are served in a folder that is not there")
	}
}

// short returns a path to a socket that an address has room for.
func short(t *testing.T, dir, name string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "d")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(link, name)
}

func dial(t *testing.T, dir, name string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", short(t, dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// read returns so many bytes of a connection, or fewer if it ends.
func read(t *testing.T, conn net.Conn, size int) string {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, size)
	n, _ := io.ReadFull(conn, text)
	return string(text[:n])
}

// crowded is a listener of a process that has no descriptor left for its first client.
type crowded struct {
	net.Listener
	failed bool
}

func (c *crowded) Accept() (net.Conn, error) {
	if !c.failed {
		c.failed = true
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return c.Listener.Accept()
}

// TestServeWithoutRoom: that there is no room for a connection, which another container may bring about, ends no pipe.
func TestServeWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	l, err := listenBelow(t.Context(), dir, "0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		serve(t.Context(), &crowded{Listener: l}, make(chan struct{}, 1), func() (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _, _ = io.WriteString(theirs, "here") }()
			return ours, nil
		})
	}()

	if got := read(t, dial(t, dir, "0"), 4); got != "here" {
		t.Errorf("the pipe says %q", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-served:
	case <-time.After(20 * time.Second):
		t.Error("a pipe that was closed is served")
	}
}
