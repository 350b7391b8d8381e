//go:build kernel

package view

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mullion.dev/mullion/internal/base/filecopy"
)

// asks is the variable by which this program becomes one that asks the socket that it names.
const asks = "VIEW_TEST_ASKS"

func TestMain(m *testing.M) {
	socket := os.Getenv(asks)
	if socket == "" {
		os.Exit(m.Run())
	}

	conn, err := net.Dial("unix", socket)
	if err == nil {
		_, _ = io.WriteString(conn, "GET /v1/json HTTP/1.1\r\nHost: x\r\n\r\n") // a stranger is not read
		_, err = io.Copy(os.Stdout, conn)
	}
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	os.Exit(0)
}

// askAs asks the socket as another user, by a copy of this program that every user may start.
func askAs(t *testing.T, program, socket string, who syscall.Credential) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = []string{asks + "=" + socket}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &who}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ask as user %d: %v\n%s", who.Uid, err, out)
	}
	return string(out)
}

// TestPeers: the kernel says who asks. A user that was noted, and one of the group by its first or another group, are
// answered; a stranger is told in one line, and the socket of a killed server is taken over.
func TestPeers(t *testing.T) {
	dir, err := os.MkdirTemp("", "view") //nolint:usetesting // nobody else gets into that of a test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}

	program := filepath.Join(dir, "asks")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filecopy.Onto(self, program, 0o755); err != nil {
		t.Fatal(err)
	}

	socket, file := filepath.Join(dir, "view.sock"), filepath.Join(dir, "viewers.json")
	if err := Note(file, []string{"SUDO_UID=4001"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(socket, []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}

	l, err := Listen(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}

	g := &gate{
		Listener: l,
		access:   access{file: file, group: func() (uint32, bool) { return 4500, true }},
		log:      slog.New(slog.DiscardHandler),
		ofAll:    8,
		ofUser:   2,
		byUser:   map[uint32]int{},
	}

	ended := make(chan error, 1)
	go func() {
		ended <- Config{
			Socket:   socket,
			Requests: table(),
			Log:      slog.New(slog.DiscardHandler),
		}.serve(t.Context(), g)
	}()

	many := make([]uint32, 300) // more than the kernel is asked for at first
	for i := range many {
		many[i] = uint32(5000 + i)
	}

	for name, tt := range map[string]struct {
		who  syscall.Credential
		want string
	}{
		"root":  {syscall.Credential{}, "200 OK"},
		"noted": {syscall.Credential{Uid: 4001, Gid: 4001}, "200 OK"},
		"group": {syscall.Credential{Uid: 4002, Gid: 4500}, "200 OK"},
		"supplementary": {syscall.Credential{
			Uid:    4002,
			Gid:    4002,
			Groups: []uint32{27, 4500},
		}, "200 OK"},
		"many-groups": {syscall.Credential{
			Uid:    4002,
			Gid:    4002,
			Groups: append(many, 4500),
		}, "200 OK"},
		"stranger": {syscall.Credential{
			Uid:    4002,
			Gid:    4002,
			Groups: []uint32{0, 27},
		}, "403 Forbidden"},
		"roots-group": {syscall.Credential{Uid: 4002, Gid: 0}, "403 Forbidden"},
		"many-others": {syscall.Credential{
			Uid:    4002,
			Gid:    4002,
			Groups: many,
		}, "403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			got := askAs(t, program, socket, tt.who)
			if !strings.Contains(got, tt.want) {
				t.Errorf("answered %q, want %s", got, tt.want)
			}
			if strings.HasPrefix(tt.want, "403") &&
				!strings.Contains(got, `user 4002 is neither root, nor who ran`) {
				t.Errorf("a stranger is told %q", got)
			}
		})
	}

	// One whom the machine knows is called by name.
	if u, err := user.Lookup("nobody"); err == nil {
		number, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		got := askAs(t, program, socket, syscall.Credential{Uid: uint32(number), Gid: 4002})
		if !strings.Contains(got, "user nobody ("+u.Uid+") is neither root, nor who ran") {
			t.Errorf("nobody is told %q", got)
		}
	}

	// A stranger takes nobody's place, however many they are.
	for range 20 {
		askAs(t, program, socket, syscall.Credential{Uid: 4002, Gid: 4002})
	}

	if got := askAs(t, program, socket, syscall.Credential{Uid: 4001, Gid: 4001}); !strings.Contains(got, "200 OK") {
		t.Errorf("after strangers: %q", got)
	}
}
