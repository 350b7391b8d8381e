package containerinit

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/containerinit/wire"
)

// asClient makes the test program ask at a socket and say what it hears.
const asClient = "CONTAINERINIT_TEST_SOCKET"

func client(socket string) {
	conn, err := net.Dial("unixpacket", socket)
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	heard, _ := io.ReadAll(conn) // until it is closed
	os.Stdout.WriteString("heard " + string(heard))
}

// contained runs a first process in a PID namespace of its own, which listens at the returned socket.
func contained(t *testing.T) string {
	t.Helper()
	return containedMain(t, "/bin/sh", "-c", "while :; do sleep 1; done")
}

// containedMain is contained with a main program.
func containedMain(t *testing.T, argv ...string) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), wire.SocketName)
	cmd := command(t, append([]string{"--listen", socket, "--"}, argv...)...)
	own := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: own,
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}

	if err := cmd.Start(); err != nil {
		t.Skipf("no PID namespace: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	for deadline := time.Now().Add(10 * time.Second); ; {
		if conn, err := net.Dial("unixpacket", socket); err == nil {
			_ = conn.Close()
			return socket
		}
		if time.Now().After(deadline) {
			t.Fatal("the first process does not listen")
		}
		<-time.After(5 * time.Millisecond)
	}
}

// dial connects, and hears the first process's hello.
func dial(t *testing.T, socket string) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unixpacket", socket)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = c.Close() })
	conn := c.(*net.UnixConn)
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, 16)
	if n, err := conn.Read(packet); err != nil || string(packet[:n]) != wire.Hello {
		t.Fatalf("hello is %q, %v", packet[:n], err)
	}

	return conn
}

// ask sends a packet with files.
func ask(t *testing.T, conn *net.UnixConn, packet []byte, files ...*os.File) {
	t.Helper()
	var rights []byte
	if len(files) > 0 {
		var descriptors []int
		for _, f := range files {
			descriptors = append(descriptors, int(f.Fd()))
		}
		rights = syscall.UnixRights(descriptors...)
	}
	if _, _, err := conn.WriteMsgUnix(packet, rights, nil); err != nil {
		t.Fatal(err)
	}
}

func reply(t *testing.T, conn *net.UnixConn) wire.Reply {
	t.Helper()
	packet := make([]byte, 16)
	n, err := conn.Read(packet)
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	r, err := wire.DecodeReply(packet[:n])
	if err != nil {
		t.Fatalf("reply %q: %v", packet[:n], err)
	}
	return r
}

func encode(t *testing.T, r wire.Request) []byte {
	t.Helper()
	packet, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return packet
}

func null(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// shell returns a request for a shell that runs a script.
func shell(script string) wire.Request {
	return wire.Request{
		Dir:  "/",
		Args: []string{"/bin/sh", "-c", script},
		Env:  []string{"GIVEN=yes"},
	}
}

func TestStarterStarts(t *testing.T) {
	socket := contained(t)
	for _, tt := range []struct {
		script string
		code   uint32
		out    string
	}{
		{`cat; echo "$PWD $GIVEN $HOME"; exit 7`, 7, "typed/ yes \n"},
		{"kill -9 $$", 128 + 9, ""},
		{"exit 0", 0, ""},
	} {
		in, typing, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		reading, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}

		conn := dial(t, socket)
		ask(t, conn, encode(t, shell(tt.script)), in, out, null(t))
		for _, f := range []*os.File{in, out} {
			_ = f.Close()
		}

		if r := reply(t, conn); r.Verb != wire.Started || r.Value < 2 {
			t.Fatalf("%s: the first reply is %v", tt.script, r)
		}
		_, _ = typing.WriteString("typed") // it may have ended
		_ = typing.Close()
		if said, err := io.ReadAll(reading); err != nil || string(said) != tt.out {
			t.Errorf("%s: it says %q, %v, want %q", tt.script, said, err, tt.out)
		}

		_ = reading.Close()
		if r := reply(t, conn); r != (wire.Reply{Verb: wire.Ended, Value: tt.code}) {
			t.Errorf("%s: the last reply is %v, want code %d", tt.script, r, tt.code)
		}
	}
}

func TestStarterRefuses(t *testing.T) {
	socket := contained(t)
	missing, foreign := shell("exit 0"), shell("exit 0")
	missing.Args, foreign.UID = []string{"/no/such/program"}, 1000
	file := null(t)
	for _, tt := range []struct {
		name   string
		packet []byte
		files  []*os.File
		want   syscall.Errno
	}{
		{"program_that_is_missing", encode(t, missing), []*os.File{file, file, file}, syscall.ENOENT},
		{"program_of_another_user", encode(t, foreign), []*os.File{file, file, file}, syscall.EPERM},
		{"two_files", encode(t, shell("exit 0")), []*os.File{file, file}, syscall.EPERM},
		{"no_files", encode(t, shell("exit 0")), nil, syscall.EPERM},
		{"many_files", encode(t, shell("exit 0")), []*os.File{file, file, file, file, file, file, file, file}, 0},
		{"nonsense", []byte("start something"), []*os.File{file, file, file}, 0},
		{"too_long", make([]byte, wire.MostRequest+2), []*os.File{file, file, file}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn := dial(t, socket)
			ask(t, conn, tt.packet, tt.files...)
			if r := reply(t, conn); r != (wire.Reply{Verb: wire.Refused, Value: uint32(tt.want)}) {
				t.Errorf("the reply is %v, want it refused with %d", r, tt.want)
			}
			if n, err := conn.Read(make([]byte, 16)); !errors.Is(err, io.EOF) {
				t.Errorf("after the refusal come %d bytes, %v", n, err)
			}
		})
	}

	// after all of that it serves
	conn := dial(t, socket)
	ask(t, conn, encode(t, shell("exit 3")), file, file, file)
	if first, last := reply(t, conn), reply(t, conn); first.Verb != wire.Started || last.Value != 3 {
		t.Errorf("at last the replies are %v and %v", first, last)
	}
}

// TestStarterServesNoProgramOfItsOwn: what runs in the container hears nothing.
func TestStarterServesNoProgramOfItsOwn(t *testing.T) {
	socket := contained(t)
	reading, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	r := wire.Request{
		Dir:  "/",
		Args: []string{os.Args[0]},
		Env:  []string{asClient + "=" + socket},
	}

	conn := dial(t, socket)
	ask(t, conn, encode(t, r), null(t), out, null(t))
	_ = out.Close()
	if said, err := io.ReadAll(reading); err != nil || string(said) != "heard " {
		t.Errorf("a program of the container says %q, %v", said, err)
	}
}

// TestStarterOutlivesItsClients: a client that goes leaves the first process serving.
func TestStarterOutlivesItsClients(t *testing.T) {
	socket, file := contained(t), null(t)
	for range 20 {
		conn := dial(t, socket)
		ask(t, conn, encode(t, shell("exit 0")), file, file, file)
		_ = conn.Close()
	}
	conn := dial(t, socket)
	ask(t, conn, encode(t, shell("exit 5")), file, file, file)
	if first, last := reply(t, conn), reply(t, conn); first.Verb != wire.Started || last.Value != 5 {
		t.Errorf("the replies are %v and %v", first, last)
	}
}

// TestRunWithoutListening: a socket that cannot be made is no reason not to run.
func TestRunWithoutListening(t *testing.T) {
	err := command(t, "--listen", "/no/such/folder/socket", "--", "/bin/sh", "-c", "exit 4").Run()
	if got := code(t, err); got != 4 {
		t.Errorf("exit code %d, want 4", got)
	}
}
