//go:build kernel

package cgroup_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
)

const (
	fillEnv = "MULLION_TEST_FILL_SOCKETS"
	// most is what sockets may hold in this test, and filled what is sent.
	most, filled = 32 << 20, 256 << 20
)

// TestLimitSocketsHolds: what a program sends to itself and never reads ends at the cgroup's limit, of sockets in
// cgroup v1 and of memory in v2. In v1 the same program without a limit of sockets sends all.
func TestLimitSocketsHolds(t *testing.T) {
	if os.Getenv(fillEnv) != "" {
		fillSockets(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	top := fmt.Sprintf("/mullion-test-sockets-%d", os.Getpid())
	t.Cleanup(func() { remove(t, top+"/limited", top+"/open", top) })
	for _, name := range []string{"/limited", "/open"} {
		if err := cgroup.LimitMemory(top+name, 4*most); errors.Is(err, cgroup.ErrNoController) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	}

	if err := cgroup.LimitSockets(top+"/limited", most); errors.Is(err, cgroup.ErrNoController) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}

	v2 := exists("/sys/fs/cgroup/cgroup.controllers")
	if got := filledIn(t, top+"/limited"); got > 5*most {
		t.Errorf("%d MiB were sent, of %d MiB", got>>20, most>>20)
	}
	if got := filledIn(t, top+"/open"); v2 != (got < filled) {
		t.Errorf("control: without a limit %d MiB were sent, of %d MiB (cgroup v2: %v)", got>>20, filled>>20, v2)
	}
}

// filledIn returns how many bytes are sent by a program in the cgroup; by one that the kernel ends, until then.
func filledIn(t *testing.T, name string) int64 {
	t.Helper()
	dir := folderOf("memory", name)
	t.Cleanup(func() { killAll(t, dir) })
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", "sh", "-c",
		"echo $$ > "+dir+"/cgroup.procs && ip link set lo up && exec "+os.Args[0]+
			" -test.run '^TestLimitSocketsHolds$' -test.v")

	cmd.Env = append(os.Environ(), fillEnv+"=1")
	out, err := cmd.Output()
	var sent int64
	for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); {
		_, _ = fmt.Sscanf(s.Text(), "sent %d", &sent)
	}

	if err != nil && (!errors.As(err, new(*exec.ExitError)) || sent == 0) {
		t.Fatalf("%v\n%s", err, out)
	}

	return sent
}

// fillSockets sends over the loopback what nobody reads, and says how much that was.
func fillSockets(t *testing.T) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	chunk := make([]byte, 1<<20)
	sent := 0
	for sent < filled {
		conn, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		_ = conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		n, _ := conn.Write(chunk)
		sent += n
		fmt.Println("sent", sent)
		if n < len(chunk)/2 { // what a connection has at least is not refused
			return
		}
	}
}

// TestSocketMemoryInANamespace: a node's network namespace does not have the machine's setting, and the answer is much
// the same.
func TestSocketMemoryInANamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	machine, err := cgroup.SocketMemory()
	if err != nil {
		t.Fatal(err)
	}

	err = netns.OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		// Of the thread's namespace: /proc/sys/net is that of whoever reads it.
		got, err := cgroup.SocketMemory()
		if err == nil && (got < machine/2 || got > machine*2) {
			t.Errorf("sockets may hold %d bytes, in a namespace %d", machine, got)
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}
}
