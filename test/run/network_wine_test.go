//go:build wine

package run

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/testrun"
)

// The addresses of the machine and of a server beyond it, of a range for examples (RFC 5737).
const (
	machineAddr = "198.51.100.1"
	outsideAddr = "198.51.100.2"
)

// outside makes a network of this machine with a server in it, which answers at port 8000.
func outside(t *testing.T) {
	t.Helper()
	pin := filepath.Join(t.TempDir(), "outside")
	if _, err := netns.Ensure(pin); err != nil {
		t.Fatal(err)
	}

	sh := func(command string) {
		t.Helper()
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}

	t.Cleanup(func() {
		sh("ip link del mulliontest")
		if err := netns.Remove(pin); err != nil {
			t.Error(err)
		}
	})

	in := "nsenter --net=" + pin + " "
	sh("ip link add mulliontest type veth peer name in && ip link set in netns /proc/$$/fd/9 9<" + pin)
	sh("ip addr add " + machineAddr + "/30 dev mulliontest && ip link set mulliontest up")
	sh(in + "ip addr add " + outsideAddr + "/30 dev in && " + in + "ip link set in up")
	answer(t, pin, outsideAddr+":8000")
}

// answer has a server in a namespace: by TCP it says who the client is and sends back what comes, by UDP the latter.
func answer(t *testing.T, ns, at string) {
	t.Helper()
	var l net.Listener
	var p net.PacketConn
	err := netns.Do(ns, func() (err error) {
		if l, err = net.Listen("tcp", at); err != nil {
			return err
		}
		p, err = net.ListenPacket("udp", at)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close(); _ = p.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}

			go func() {
				defer c.Close()
				host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
				fmt.Fprintf(c, "%s ", host)
				_, _ = io.Copy(c, c)
			}()
		}
	}()

	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := p.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(buffer[:n], from)
		}
	}()
}

// asks sends a text to a server from this machine, and returns what comes back.
func asks(to, text string) string {
	c, err := net.DialTimeout("tcp", to, 5*time.Second)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		return err.Error()
	}

	_ = c.(*net.TCPConn).CloseWrite()
	all, err := io.ReadAll(c)
	if err != nil {
		return err.Error()
	}

	return string(all)
}

// TestNetworkOut has a Windows program reach a server beyond the machine, and neither the machine nor, without a
// network, anything.
func TestNetworkOut(t *testing.T) {
	r := theRoom(t)
	outside(t)
	answer(t, netns.Self, "0.0.0.0:18000")
	if got := asks("127.0.0.1:18000", "x"); got != "127.0.0.1 x" {
		t.Fatalf("the control: the machine's server says %q", got)
	}

	for _, tc := range []struct {
		name string
		args []string
		code int
		out  string // a part of what it says
	}{
		{"TCP", []string{"./app/prog.exe", "ask", "tcp", outsideAddr + ":8000", "hello"}, 0, machineAddr + " hello"},
		{"TCP as ContainerUser", []string{"-u", "ContainerUser", "./app/prog.exe", "ask", "tcp", outsideAddr + ":8000", "hello"}, 0, machineAddr + " hello"},
		{"UDP", []string{"./app/prog.exe", "ask", "udp", outsideAddr + ":8000", "hello"}, 0, "hello"},
		{"nobody there", []string{"./app/prog.exe", "ask", "tcp", outsideAddr + ":8001", "x"}, 1, "refused"},
		{"the machine's loopback", []string{"./app/prog.exe", "ask", "tcp", "127.0.0.1:18000", "x"}, 1, "refused"},
		{"the machine's own address", []string{"./app/prog.exe", "ask", "tcp", machineAddr + ":18000", "x"}, 1, "refused"},
		{"its own name", []string{"-h", "box", bare, "cmd", "/c", "ping -n 1 box"}, 0, "bytes=32"},
		{"ping", []string{bare, "cmd", "/c", "ping -n 1 127.0.0.1"}, 0, "bytes=32"},
		{"ping without a network", []string{"--network", "none", bare, "cmd", "/c", "ping -n 1 127.0.0.1"}, 0, "bytes=32"},
		{"nothing without a network", []string{"--network", "none", "./app/prog.exe", "ask", "tcp", outsideAddr + ":8000", "x"}, 1, "unreachable"},
		{"an adapter", []string{bare, "cmd", "/c", "ipconfig"}, 0, "Default Gateway"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := r.run(t, "", tc.args...)
			if got.code != tc.code || !strings.Contains(got.out, tc.out) {
				t.Errorf("code %d, out %q, err %q", got.code, got.out, got.err)
			}
		})
	}
}

// TestNetworkPublish reaches a Windows program by a port of the machine, from the machine alone, also after the gateway
// has been killed, and not when its container is gone. Another container reaches it by its name.
func TestNetworkPublish(t *testing.T) {
	r := theRoom(t)
	outside(t)
	run := r.begin(t, "-p", "18080:80", "-h", "web", "-u", "ContainerUser", r.program(), "serve", ":80")
	serves := func() bool { return strings.HasSuffix(asks("127.0.0.1:18080", "hello"), " hello") }
	if !serves() {
		t.Errorf("the published port says %q", asks("127.0.0.1:18080", "hello"))
	}

	if got := asks(machineAddr+":18080", "hello"); !strings.Contains(got, "refused") {
		t.Errorf("at another address of the machine: %q", got)
	}
	if got := r.run(t, "", r.program(), "ask", "tcp", "web:80", "hello"); got.code != 0 || !strings.HasSuffix(got.out, " hello") {
		t.Errorf("another container, by the name: %+v", got)
	}

	got := r.run(t, "", "-p", "18080:80", r.program())
	const want = "mullion: publish 127.0.0.1:18080/tcp: another program of this machine has the port\n→ choose another port of this machine (-p 18081:80)"
	if got.code != 125 || !strings.Contains(got.err, want) {
		t.Errorf("a port that is taken: %+v", got)
	}

	gateway := r.process(isGateway)
	if gateway == 0 {
		t.Fatalf("there is no gateway in %v", r.engine())
	}
	if err := syscall.Kill(gateway, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	if !within(20*time.Second, serves) {
		t.Errorf("after the gateway's end: %q", asks("127.0.0.1:18080", "hello"))
	}

	if err := run.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.cmd.Wait() // it was killed
	free := func() bool { return strings.Contains(asks("127.0.0.1:18080", ""), "refused") }
	if !within(20*time.Second, free) {
		t.Errorf("after the client's end: %q", asks("127.0.0.1:18080", ""))
	}

	if left, _ := filepath.Glob(filepath.Join(r.paths.Pins(), "*")); !within(10*time.Second, func() bool {
		left, _ = filepath.Glob(filepath.Join(r.paths.Pins(), "*"))
		return len(left) == 0
	}) {
		t.Errorf("namespaces are left: %v", left)
	}
}

// TestNetworkBuild has RUN reach a server, and not when it is to be alone.
func TestNetworkBuild(t *testing.T) {
	r := theRoom(t)
	outside(t)
	dir := t.TempDir()
	program, err := os.ReadFile(r.program())
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "prog.exe"), program, 0o755); err != nil {
		t.Fatal(err)
	}

	build := func(flags string) (string, error) {
		text := "# escape=`\nFROM " + bare + "\nCOPY prog.exe C:\\\nRUN " + flags + `C:\prog.exe ask tcp ` + outsideAddr + ":8000 hello\n"
		if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(r.bin, "mullion"), "--data-dir", r.data,
			"image", "build", dir, "-t", "mullion.local/net:1", "-o", filepath.Join(t.TempDir(), "image.tar"))
		cmd.Env = append(os.Environ(), "MULLION_CACHE_DIR="+t.TempDir()) // nothing was built before
		out, err := cmd.CombinedOutput()

		return string(out), err
	}

	if out, err := build(""); err != nil || !strings.Contains(out, machineAddr+" hello") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := build("--network=none "); err == nil || !strings.Contains(out, "unreachable") {
		t.Errorf("alone: %v: %s", err, out)
	}
}

// TestNetworkKilled kills the server of the engine while a port is published: the port is free, and nothing of the
// network is left on the machine.
func TestNetworkKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	r := theRoom(t)
	state := func() string {
		out, err := exec.Command("sh", "-c", "ip -o link | cut -d: -f2; ip route; nft list ruleset; cat /proc/sys/net/ipv4/ip_forward").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}

	before := state()
	run := r.begin(t, "-p", "18080:80", r.program(), "serve", ":80")
	if got := state(); got != before {
		t.Errorf("with a container the machine's network is\n%s\nbefore\n%s", got, before)
	}
	if err := syscall.Kill(r.process(isServer), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	run.ends(t)
	if !within(20*time.Second, func() bool { return len(r.engine()) == 0 }) {
		t.Errorf("there still are %v", r.engine())
	}
	if got := asks("127.0.0.1:18080", ""); !strings.Contains(got, "refused") {
		t.Errorf("the port: %q", got)
	}

	if got := state(); got != before {
		t.Errorf("after it the machine's network is\n%s\nbefore\n%s", got, before)
	}
	if got := r.run(t, "", "-p", "18080:80", r.program()); got.code != 0 || got.out != "hello\n" {
		t.Errorf("the next run: %+v", got)
	}
}

func isGateway(args []string) bool { return len(args) == 1 && args[0] == "mullion-nat" }
