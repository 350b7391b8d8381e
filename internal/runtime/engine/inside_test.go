package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/containerinit/wire"
)

// firstProcess is the first process of a container, for one program: it hears the request, and says what it is told to.
type firstProcess struct {
	hello   string
	replies []wire.Reply
	// files is given the program's files.
	files func(in, out, err *os.File)
}

// serve listens in a folder, as the container's working folder.
func (f firstProcess) serve(t *testing.T) (folder string, heard <-chan wire.Request) {
	t.Helper()
	folder = t.TempDir()
	at := net.UnixAddr{Name: filepath.Join(folder, wire.SocketName), Net: "unixpacket"}
	l, err := net.ListenUnix("unixpacket", &at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })

	requests := make(chan wire.Request, 1)
	go func() {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		defer conn.Close()
		if f.hello == "" {
			_, _ = conn.Read(make([]byte, 1)) // silent until the other end goes
			return
		}

		_, _ = conn.Write([]byte(f.hello))
		packet, control := make([]byte, wire.MostRequest), make([]byte, 1024)
		n, used, _, _, err := conn.ReadMsgUnix(packet, control)
		if err != nil {
			return
		}

		r, _ := wire.Decode(packet[:n])
		requests <- r
		for i, r := range f.replies {
			_, _ = conn.Write(r.Encode())
			if i == 0 {
				f.take(control[:used])
			}
		}
	}()

	return folder, requests
}

// take gives the files of a request away, and closes them.
func (f firstProcess) take(control []byte) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 3 {
		return
	}

	var files []*os.File
	for _, fd := range descriptors {
		files = append(files, os.NewFile(uintptr(fd), "program's"))
	}
	if f.files != nil {
		f.files(files[0], files[1], files[2])
	}

	for _, file := range files {
		_ = file.Close()
	}
}

func insideEngine() *Engine {
	return &Engine{opts: Options{Log: slog.New(slog.DiscardHandler)}}
}

func TestExecInside(t *testing.T) {
	p := firstProcess{
		hello:   wire.Hello,
		replies: []wire.Reply{{Verb: wire.Started, Value: 9}, {Verb: wire.Ended, Value: 137}},
		files: func(in, out, errs *os.File) {
			if flags, err := unix.FcntlInt(out.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
				_, _ = out.WriteString("its output does not block\n")
			}
			typed, _ := io.ReadAll(in)
			_, _ = out.WriteString("it has read " + string(typed))
			_, _ = errs.WriteString("complaint")
		},
	}

	folder, heard := p.serve(t)
	var out, errs bytes.Buffer
	over := -1
	x := ExecSpec{
		ID:     "id",
		Args:   []string{"/wine", "prog"},
		Env:    []string{"A=1"},
		Dir:    "/Files",
		UID:    uint32(os.Getuid()),
		Stdin:  strings.NewReader("what was typed"),
		Stdout: &out,
		Stderr: &errs,
		Inside: folder,
		Over:   func(ended int) { over = ended },
	}

	e := insideEngine()
	exit, err := e.execInside(t.Context(), "container", process{e}, x)
	if err != nil || exit.Code != 137 {
		t.Fatalf("execInside() = %v, %v", exit, err)
	}
	if out.String() != "it has read what was typed" || errs.String() != "complaint" || over != 0 {
		t.Errorf("it has said %q and %q, over is %d", &out, &errs, over)
	}

	r := <-heard
	if r.UID != os.Getuid() || r.Dir != "/Files" || len(r.Args) != 2 || r.Env[len(r.Env)-1] != "MULLION_EXEC=id" {
		t.Errorf("the request is %+v", r)
	}
}

// TestExecInsideOfWhatIsKilled: with the first process, its programs are killed.
func TestExecInsideOfWhatIsKilled(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	folder, _ := firstProcess{hello: wire.Hello, replies: []wire.Reply{{Verb: wire.Started, Value: 9}}}.serve(t)
	e := insideEngine()
	x := ExecSpec{
		ID:     "id",
		Args:   []string{"/prog"},
		UID:    uint32(os.Getuid()),
		Inside: folder,
	}
	if exit, err := e.execInside(t.Context(), "container", process{e}, x); err != nil || exit.Code != 137 {
		t.Errorf("execInside() = %v, %v", exit, err)
	}
}

// TestExecNotInside: whatever is in the container's folder, a program that was not started is started otherwise, and
// soon.
func TestExecNotInside(t *testing.T) {
	at := func(t *testing.T, put func(path string) error) string {
		t.Helper()
		folder := t.TempDir()
		if err := put(filepath.Join(folder, wire.SocketName)); err != nil {
			t.Fatal(err)
		}
		return folder
	}

	serve := func(p firstProcess) func(*testing.T) string {
		return func(t *testing.T) string {
			t.Helper()
			folder, _ := p.serve(t)
			return folder
		}
	}

	for name, folder := range map[string]func(t *testing.T) string{
		"nothing": func(t *testing.T) string { return t.TempDir() },
		"file": func(t *testing.T) string {
			return at(t, func(path string) error { return os.WriteFile(path, nil, 0o600) })
		},
		"pipe": func(t *testing.T) string {
			return at(t, func(path string) error { return unix.Mkfifo(path, 0o600) })
		},
		"link_to_another_socket": func(t *testing.T) string {
			t.Helper()
			other, _ := firstProcess{hello: wire.Hello, replies: []wire.Reply{{Verb: wire.Started}}}.serve(t)
			return at(t, func(path string) error { return os.Symlink(filepath.Join(other, wire.SocketName), path) })
		},
		"nobody_listens": func(t *testing.T) string {
			t.Helper()
			return at(t, func(path string) error {
				l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
				if err != nil {
					return err
				}
				l.SetUnlinkOnClose(false)
				return l.Close()
			})
		},
		"silent":           serve(firstProcess{}),
		"another_language": serve(firstProcess{hello: "2"}),
		"refuses":          serve(firstProcess{hello: wire.Hello, replies: []wire.Reply{{Verb: wire.Refused}}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := insideEngine()
			x := ExecSpec{
				ID:     "id",
				Args:   []string{"/prog"},
				UID:    uint32(os.Getuid()),
				Inside: folder(t),
			}

			x.Over = func(int) { t.Error("a program that was not started is over") }
			began := time.Now()
			if exit, err := e.execInside(t.Context(), "container", process{e}, x); !errors.Is(err, errNotInside) {
				t.Errorf("execInside() = %v, %v", exit, err)
			}
			if took := time.Since(began); took > 2*helloTimeout {
				t.Errorf("it took %s to find out", took)
			}
		})
	}
}

// TestExecNotMeantInside: programs with a terminal, and of more than a request can hold, are not asked for.
func TestExecNotMeantInside(t *testing.T) {
	for name, change := range map[string]func(*ExecSpec){
		"terminal":  func(x *ExecSpec) { x.Terminal = true },
		"long":      func(x *ExecSpec) { x.Args = append(x.Args, strings.Repeat("a", wire.MostRequest)) },
		"no_folder": func(x *ExecSpec) { x.Inside = "" },
	} {
		folder, heard := firstProcess{hello: wire.Hello, replies: []wire.Reply{{Verb: wire.Started}}}.serve(t)
		e := insideEngine()
		x := ExecSpec{
			ID:     "id",
			Args:   []string{"/prog"},
			Inside: folder,
		}
		change(&x)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if exit, err := e.execInside(ctx, "container", process{e}, x); !errors.Is(err, errNotInside) {
			t.Errorf("%s: execInside() = %v, %v", name, exit, err)
		}

		cancel()
		select {
		case r := <-heard:
			t.Errorf("%s: the first process is asked for %v", name, r.Args)
		default:
		}
	}
}

// early tells of the end of a connection before its last packet, as Linux may, and then at each further look.
type early struct{ packets [][]byte }

func (e *early) Read(to []byte) (int, error) {
	next := e.packets[0]
	e.packets = append(e.packets[1:], nil)
	if next == nil {
		return 0, io.EOF
	}
	return copy(to, next), nil
}

func (*early) SetReadDeadline(time.Time) error { return nil }

// late has a packet for who has stopped waiting for it: its context ends while it is read.
type late struct {
	stop context.CancelFunc
	left []byte
}

func (l *late) Read(to []byte) (int, error) {
	l.stop()
	if l.left == nil {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(to, l.left)
	l.left = nil
	return n, nil
}

func (*late) SetReadDeadline(time.Time) error { return nil }

// TestReadReplyIsNotLost: a program's start that was told of in the moment its caller gave up is known to have
// happened. If it were lost, the program would be ended only when its time to start was over.
func TestReadReplyIsNotLost(t *testing.T) {
	testrun.Once(t, testrun.Race)
	ctx, stop := context.WithCancel(t.Context())
	conn := &late{stop: stop, left: []byte("started")}
	if got, err := readPacket(ctx, conn); string(got) != "started" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if got, err := readPacket(ctx, conn); !errors.Is(err, context.Canceled) {
		t.Errorf("after it %q, %v", got, err)
	}
}

// TestLastReplyIsRead: the packet that comes right before the end of a connection is not taken for the end.
func TestLastReplyIsRead(t *testing.T) {
	testrun.Once(t, testrun.Race)
	conn := &early{packets: [][]byte{nil, []byte("last"), nil}}
	if got, err := readPacket(t.Context(), conn); string(got) != "last" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if got, err := readPacket(t.Context(), conn); !errors.Is(err, io.EOF) {
		t.Errorf("after it %q, %v", got, err)
	}
}
