//go:build kernel

package nat_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/gateway"
)

// inside is the variable of a test process that is in namespaces of its own: they are the machine's.
const inside = "MULLION_TEST_NAT_INSIDE"

// TestMain runs the tests in namespaces of their own, and is mullion-nat when it is started as that.
func TestMain(m *testing.M) {
	if os.Args[0] == "mullion-nat" {
		if err := gateway.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}

	if os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}

	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin = os.Stdin
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Unshareflags: unix.CLONE_NEWNS, // with it, what is mounted stays there
		Pdeathsig:    unix.SIGKILL,
	}

	_ = cmd.Run() // its code is passed on
	os.Exit(cmd.ProcessState.ExitCode())
}

// The addresses of the bed: the machine's, and that of a server beyond it.
const (
	machine = "192.0.2.1"
	outside = "192.0.2.2"
	cluster = "10.213.0.1"
)

// bed is a machine with a network, beyond which is a server.
type bed struct {
	net     *nat.Network
	outside string // the pin of the server's namespace
	dir     string
}

func run(tb testing.TB, ns, command string) string {
	tb.Helper()
	var out []byte
	do := func() (err error) {
		out, err = exec.Command("sh", "-c", command).CombinedOutput()
		return err
	}

	err := do
	if ns != "" {
		err = func() error { return netns.Do(ns, do) }
	}
	if err := err(); err != nil {
		tb.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

func newBed(tb testing.TB) *bed {
	tb.Helper()
	b := &bed{dir: tb.TempDir()}
	run(tb, "", "mount -t proc proc /proc; ip link set lo up; echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range")
	b.outside = filepath.Join(b.dir, "outside")
	if _, err := netns.Ensure(b.outside); err != nil {
		tb.Fatal(err)
	}

	ns := fmt.Sprintf("nsenter --net=%s ", b.outside)
	run(tb, "", "ip link add out type veth peer name in && ip link set in netns /proc/$$/fd/9 9<"+b.outside)
	run(tb, "", "ip addr add "+machine+"/24 dev out && ip link set out up && ip route add default via "+outside)
	run(tb, "", ns+"ip addr add "+outside+"/24 dev in && "+ns+"ip link set in up && "+ns+"ip route add default via "+machine)
	resolv := filepath.Join(b.dir, "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver 127.0.0.1\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
	run(tb, "", "mount --bind "+resolv+" /etc/resolv.conf")

	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}

	b.net = nat.New(nat.Config{
		Program:  program,
		Pins:     filepath.Join(b.dir, "pins"),
		Clusters: "mullion ip_forward=",
		Log:      slog.New(slog.NewTextHandler(tb.Output(), nil)),
		Output:   os.Stderr,
	})

	tb.Cleanup(func() {
		if err := b.net.Close(); err != nil {
			tb.Error(err)
		}
		if left, _ := os.ReadDir(filepath.Join(b.dir, "pins")); len(left) > 0 {
			tb.Errorf("pins are left: %v", left)
		}

		run(tb, "", "umount /etc/resolv.conf; ip link del out; umount /proc")
		if err := netns.Remove(b.outside); err != nil {
			tb.Error(err)
		}
	})

	return b
}

// join connects a container.
func (b *bed) join(t *testing.T, c nat.Container) *nat.Member {
	t.Helper()
	m, err := b.net.Join(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Leave(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// echo serves TCP and UDP in a namespace ("": the machine's): what comes goes back, after the client's address.
func echo(t *testing.T, ns, at string) {
	t.Helper()
	var l net.Listener
	var p net.PacketConn
	listen := func() (err error) {
		if l, err = net.Listen("tcp", at); err != nil {
			return err
		}
		p, err = net.ListenPacket("udp", at)
		return err
	}

	err := listen
	if ns != "" {
		err = func() error { return netns.Do(ns, listen) }
	}
	if err := err(); err != nil {
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
				fmt.Fprintln(c, host)
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

// dial connects from a namespace.
func dial(t *testing.T, ns, network, to string) (net.Conn, error) {
	t.Helper()
	var c net.Conn
	err := netns.Do(ns, func() (err error) {
		c, err = (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), network, to)
		return err
	})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	}
	return c, err
}

// says connects by TCP, sends a text, and returns what comes back until the end.
func says(t *testing.T, ns, to, text string) string {
	t.Helper()
	c, err := dial(t, ns, "tcp", to)
	if err != nil {
		return err.Error()
	}
	go func() {
		_, _ = io.WriteString(c, text)
		_ = c.(*net.TCPConn).CloseWrite()
	}()

	all, err := io.ReadAll(c)
	if err != nil {
		return err.Error()
	}
	return string(all)
}

// packet sends a packet, and returns the one that comes back.
func packet(t *testing.T, ns, to, text string) string {
	t.Helper()
	c, err := dial(t, ns, "udp", to)
	if err != nil {
		return err.Error()
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		return err.Error()
	}

	answer := make([]byte, 1<<16)
	n, err := c.Read(answer)
	if err != nil {
		return err.Error()
	}

	return string(answer[:n])
}

// lookUp asks for a name at the gateway.
func lookUp(t *testing.T, from *nat.Member, network, name string) string {
	t.Helper()
	r := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		//nolint:contextcheck // it dials with the test's context
		return dial(t, from.Netns, network, netip.AddrPortFrom(from.DNS, 53).String())
	}}
	found, err := r.LookupNetIP(t.Context(), "ip4", name+".")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(found[0])
}

// nameServer answers the machine's questions at its loopback: www.example.com is 203.0.113.9.
func nameServer(t *testing.T) {
	t.Helper()
	answer := func(question []byte) []byte {
		var m dnsmessage.Message
		if m.Unpack(question) != nil {
			return nil
		}

		m.Response, m.Additionals = true, nil
		if name := m.Questions[0].Name; name.String() == "www.example.com." && m.Questions[0].Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{
					Name:  name,
					Class: dnsmessage.ClassINET,
					TTL:   1,
				},
				Body: &dnsmessage.AResource{A: [4]byte{203, 0, 113, 9}},
			}}
		} else {
			m.RCode = dnsmessage.RCodeNameError
		}

		packed, _ := m.Pack()
		return packed
	}

	p, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = p.Close(); _ = l.Close() })
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := p.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(answer(buffer[:n]), from)
		}
	}()

	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buffer := make([]byte, 1<<16)
			n, _ := c.Read(buffer)
			reply := answer(buffer[2:max(n, 2)])
			_, _ = c.Write(append([]byte{byte(len(reply) >> 8), byte(len(reply))}, reply...))
			_ = c.Close()
		}
	}()
}
