package containerinit

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/containerinit/wire"
)

// asLauncher says how the test program behaves in mullion-run.exe's place, when it is to stay.
const asLauncher = "CONTAINERINIT_TEST_LAUNCHER"

// launcherMain is the test program in mullion-run.exe's place. Started for one program it says "own", and ends with
// 3; staying it says "resident" and its process id for each, and 4 is the exit code.
func launcherMain(args []string) {
	switch {
	case len(args) == 2 && args[0] == "--serve":
		stay(os.Getenv(asLauncher))
	case slices.Contains(args, "main"):
		for {
			_ = syscall.Pause()
		}
	default:
		os.Stdout.WriteString("own " + args[len(args)-1])
		os.Exit(3)
	}
}

func stay(how string) {
	syscall.CloseOnExec(3)
	buffer, control := make([]byte, wire.MostRequest), make([]byte, syscall.CmsgSpace(3*4))
	for {
		if how == "dies at once" {
			os.Exit(9)
		}
		n, used, _, _, err := syscall.Recvmsg(3, buffer, control, 0)
		if err != nil || n == 0 {
			os.Exit(0)
		}

		messages, _ := syscall.ParseSocketControlMessage(control[:used])
		files, _ := syscall.ParseUnixRights(&messages[0])
		said := bytes.Split(buffer[:n-1], []byte{0})
		say := func(packet string) { _, _ = syscall.Write(3, []byte(packet)) }

		switch how {
		case "refuses":
			say("n")
			os.Exit(0)
		case "ends what it has not taken":
			say("e\x04\x00\x00\x00")
			continue
		case "babbles":
			say(strings.Repeat("x", 100))
			continue
		case "takes twice":
			say("t")
			say("t")
			continue
		case "is slow":
			say("t")
			<-time.After(200 * time.Millisecond)
			say("e\x00\x00\x00\x00")
			continue
		case "dies with it":
			say("t")
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			for {
				_ = syscall.Pause() // the signal may be another thread's
			}
		}

		say("t")
		id, last := string(said[0]), string(said[len(said)-1])
		_, _ = syscall.Write(files[1], []byte("resident "+strconv.Itoa(os.Getpid())+" "+id+" "+last))
		for _, file := range files {
			_ = syscall.Close(file)
		}
		say("e\x04\x01\x00\x00")
	}
}

// launched is a first process whose main program is a launcher.
type launched struct {
	socket string
	launch []string // the beginning of a launcher's command line
}

func launching(t *testing.T) launched {
	t.Helper()
	launch := []string{os.Args[0], filepath.Join(t.TempDir(), launcher)}
	return launched{socket: containedMain(t, append(slices.Clone(launch), "main")...), launch: launch}
}

// request asks for a program of a launcher.
func (l launched) request(id, how, arg string) wire.Request {
	return wire.Request{
		Dir:  "/",
		Args: append(slices.Clone(l.launch), "--", arg),
		Env:  []string{asLauncher + "=" + how, marker + id},
	}
}

// run asks for a program, and returns its output and exit code.
func (l launched) run(t *testing.T, id, how, arg string) (string, uint32) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()

	conn := dial(t, l.socket)
	ask(t, conn, encode(t, l.request(id, how, arg)), null(t), write, null(t))
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}

	if r := reply(t, conn); r.Verb != wire.Started {
		t.Fatalf("first reply: %v", r)
	}
	r := reply(t, conn)
	if r.Verb != wire.Ended {
		t.Fatalf("second reply: %v", r)
	}
	if err := read.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(read)
	if err != nil {
		t.Fatalf("somebody has the program's output: %v", err)
	}
	return string(said), r.Value
}

func testID(i int) string { return strings.Repeat(strconv.Itoa(i), idSize) }

// TestResident: one launcher starts one program after the other, and when it has been killed another one does.
func TestResident(t *testing.T) {
	l := launching(t)
	pids := map[string]bool{}
	for i := range 5 {
		said, code := l.run(t, testID(i), "", "word")
		fields := strings.Fields(said)
		if len(fields) != 4 || fields[0] != "resident" || fields[2] != testID(i) || fields[3] != "word" || code != 4 {
			t.Fatalf("program %d says %q, code %d", i, said, code)
		}
		pids[fields[1]] = true
	}
	if len(pids) != 1 {
		t.Errorf("the programs were started by %v, want one", pids)
	}
}

// TestResidentOfAnotherKind: what a launcher that stays cannot start as it is asked for is started otherwise.
func TestResidentOfAnotherKind(t *testing.T) {
	l := launching(t)
	if said, _ := l.run(t, testID(1), "", "first"); !strings.HasPrefix(said, "resident ") {
		t.Fatalf("the first one says %q", said)
	}

	for name, tt := range map[string]struct{ id, how, arg string }{
		"another environment": {testID(2), "other", "word"},
		"no id":               {"", "", "word"},
		"a long id":           {testID(3) + "0", "", "word"},
		"no text":             {testID(4), "", "a\xffb"},
	} {
		if said, code := l.run(t, tt.id, tt.how, tt.arg); said != "own "+tt.arg || code != 3 {
			t.Errorf("%s: it says %q, code %d", name, said, code)
		}
	}
}

// TestResidentThatFails: whatever a launcher that stays does, a program that it has not taken is started otherwise, and
// one that it has taken ends with it.
func TestResidentThatFails(t *testing.T) {
	for how, want := range map[string]struct {
		said string
		code uint32
	}{
		"dies at once":               {"own word", 3},
		"refuses":                    {"own word", 3},
		"ends what it has not taken": {"own word", 3},
		"babbles":                    {"own word", 3},
		"takes twice":                {"", 128 + 9},
		"dies with it":               {"", 128 + 15},
	} {
		t.Run(strings.ReplaceAll(how, " ", "_"), func(t *testing.T) {
			l := launching(t)
			for i := range mostUntaken + 2 {
				said, code := l.run(t, testID(i), how, "word")
				if said != want.said || code != want.code {
					t.Errorf("program %d says %q, code %d; want %q, %d", i, said, code, want.said, want.code)
				}
			}
		})
	}
}

// TestResidentOfNobody: a launcher whose caller has gone is not given another program: it is about to be killed.
func TestResidentOfNobody(t *testing.T) {
	l := launching(t)
	started := func(how string) (*net.UnixConn, uint32) {
		conn := dial(t, l.socket)
		ask(t, conn, encode(t, l.request(testID(1), how, "word")), null(t), null(t), null(t))
		return conn, reply(t, conn).Value
	}

	conn, first := started("is slow")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Second) // until it has told nobody
	conn, second := started("is slow")
	if second == first {
		t.Errorf("launcher %d starts a program after it was given up", first)
	}
	if r := reply(t, conn); r != (wire.Reply{Verb: wire.Ended}) {
		t.Errorf("the next program ends with %v", r)
	}
}

// TestResidentIsOver: of a launcher that says no more nothing is used further. The number of its socket is another
// connection's by then.
func TestResidentIsOver(t *testing.T) {
	process := exec.Command("sleep", "60")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Wait() })

	pair := func() [2]int {
		ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return ends
	}

	ends := pair()
	s := &starter{waiting: map[int]int{}}
	l := &resident{
		pid:    process.Process.Pid,
		socket: ends[0],
		idle:   time.NewTimer(time.Hour),
	}
	s.resident = l
	_ = syscall.Close(ends[1])
	s.listenTo(l)

	others := pair()
	defer func() { _ = errors.Join(syscall.Close(others[0]), syscall.Close(others[1])) }()
	if !slices.Contains(others[:], ends[0]) {
		t.Skip("the number of the socket was not given again")
	}

	if l.send([]byte("word"), nil) {
		t.Error("another connection gets what was meant for the launcher")
	}
	s.residentEnded(0)
	if !send(others[0], []byte("word")) || !send(others[1], []byte("word")) {
		t.Error("another connection has ended with the launcher")
	}
}

// TestTell: whoever tells the end of a program learns whether anybody hears it.
func TestTell(t *testing.T) {
	ours, theirs, err := socketpair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if !tell(theirs, 0) {
		t.Error("nobody hears the end of a program whose caller waits")
	}

	ours, theirs, err = socketpair()
	if err != nil {
		t.Fatal(err)
	}
	ours.Close()
	if tell(theirs, 0) {
		t.Error("a caller that has gone hears the end of its program")
	}
}

func socketpair() (net.Conn, int, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	file := os.NewFile(uintptr(ends[0]), "socket")
	defer file.Close()
	conn, err := net.FileConn(file)
	return conn, ends[1], err
}
