//go:build wine

package winapi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
)

// The files that a container's C library reads, in the form that package cri gives them.
const (
	namesResolv   = "nameserver 127.0.0.1\nsearch svc.test\noptions timeout:1 attempts:3 edns0\n"
	linuxResolv   = "nameserver 127.0.0.1\nsearch none.test svc.test\noptions timeout:1 attempts:3 edns0 ndots:5\n"
	namesHosts    = "127.0.0.1 localhost\n192.0.2.9 local legacy.example\n192.0.2.10 db.example.com db.example\n"
	namesNsswitch = "passwd: files\nhosts: files dns\n"
)

// zone is what the name server knows: for a name in lower case its address, or the name that its PTR or CNAME record
// holds.
var zone = map[string]string{
	"one.svc.test": "192.0.2.1", "one.other.svc.test": "192.0.2.2", "whole.example": "192.0.2.3",
	"alias.svc.test": "one.svc.test", "1.2.0.192.in-addr.arpa": "one.svc.test", "53.0.0.127.in-addr.arpa": "dns.test",
}

// TestNames runs the tests of names in package prog, and nslookup, in a network namespace with a name server.
func TestNames(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	ns := netnstest.New(t, "names")
	serveNames(t, ns)
	p := newPrefix(t)
	p.moveServer(t, ns)
	p.copyShim(t, "wintools.exe", "nslookup.exe")
	program := filepath.Join(p.dir, "drive_c/winapi.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "./prog")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test program: %v\n%s", err, out)
	}

	inProgram(t, p.inNames(t, ns, `C:\winapi.exe`, "-test.v", "-test.run=^TestNames", "-test.timeout=120s"), 5)
	inProgram(t, p.resolvingBy(t, linuxResolv, ns, `C:\winapi.exe`, "-test.v", "-test.run=^TestLinuxNames",
		"-test.timeout=120s"), 2)
	t.Run("nslookup", func(t *testing.T) { nslookup(t, p, ns) })
}

// inProgram runs tests of package prog, at least so many.
func inProgram(t *testing.T, run *exec.Cmd, atLeast int) {
	t.Helper()
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	runErr := run.Run()
	results := parseResults(&out)
	if len(results) < atLeast {
		t.Fatalf("%d tests ran: %v\n%s", len(results), runErr, out.String())
	}

	for _, r := range results {
		t.Run(r.name, func(t *testing.T) {
			if r.verdict != "PASS" {
				t.Error(r.verdict, r.output)
			}
		})
	}
}

func nslookup(t *testing.T, p prefix, ns string) {
	t.Helper()
	for _, tt := range []struct {
		args, want string
		fails      bool
	}{
		{"one", "Server:  dns.test\nAddress:  127.0.0.53\n\nName:    one.svc.test\nAddress:  192.0.2.1\n", false},
		{"one.other", "Name:    one.other.svc.test\nAddress:  192.0.2.2\n", false},
		{"-nosearch one.other", "*** dns.test can't find one.other: Non-existent domain\n", true},
		{"alias", "Name:    one.svc.test\nAddress:  192.0.2.1\nAliases:  alias.svc.test\n", false},
		{"192.0.2.1", "Name:    one.svc.test\nAddress:  192.0.2.1\n", false},
		{"-type=cname alias", "alias.svc.test\tcanonical name = one.svc.test\n", false},
		{"-type=what one", "unknown query type: what\n", true},
	} {
		// A server by its address, as the namespace has no adapter that would name one.
		args := append(append([]string{`C:\windows\system32\nslookup.exe`}, strings.Fields(tt.args)...), "127.0.0.53")
		out, err := p.inNames(t, ns, args...).CombinedOutput()
		got := strings.ReplaceAll(string(out), "\r", "")
		if (err != nil) != tt.fails || !strings.Contains(got, tt.want) {
			t.Errorf("nslookup %s: got %v\n%s\nwant\n%s", tt.args, err, got, tt.want)
		}
	}
}

// moveServer ends the prefix' wineserver and starts one in the namespace, as that is who makes sockets. It stays, so
// that not every program starts another.
func (p prefix) moveServer(t *testing.T, ns string) {
	t.Helper()
	for _, flag := range []string{"-k", "-w"} {
		stop := exec.CommandContext(t.Context(), p.wine.Server, flag)
		stop.Env = p.env()
		_ = stop.Run() // it may have ended by itself
	}

	start := exec.CommandContext(t.Context(), "nsenter", "--net="+ns, p.wine.Server, "--persistent")
	start.Env = p.env()
	// Without pipes, which it and the services that the first program starts would hold open.
	if err := start.Run(); err != nil {
		t.Fatalf("start wineserver: %v", err)
	}
	if err := p.inNames(t, ns, "cmd", "/c", "exit").Run(); err != nil {
		t.Fatalf("start the services: %v", err)
	}
}

// copyShim copies a shim into the prefix under a name of Windows.
func (p prefix) copyShim(t *testing.T, name, as string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../bin/windows/shim", name))
	if err != nil {
		t.Fatalf("the shims are not built: run `make shims` first: %v", err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "drive_c/windows/system32", as), data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// inNames returns a command in the namespace, with the files of names in place of the machine's.
func (p prefix) inNames(t *testing.T, ns string, args ...string) *exec.Cmd {
	t.Helper()
	return p.resolvingBy(t, namesResolv, ns, args...)
}

// resolvingBy is inNames with another resolv.conf.
func (p prefix) resolvingBy(t *testing.T, resolv, ns string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	script := ""
	for name, text := range map[string]string{
		"resolv.conf": resolv, "hosts": namesHosts,
		"nsswitch.conf": namesNsswitch,
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		script += fmt.Sprintf("mount --bind %s $(readlink -f /etc/%s) && ", file, name)
	}

	cmd := p.command(t, args...)
	wrapped := append([]string{"--net=" + ns, "unshare", "--mount", "sh", "-c", script + `exec "$@"`, "sh"},
		cmd.Args...)
	wrapper := exec.CommandContext(t.Context(), "nsenter", wrapped...)
	wrapper.Env = append(cmd.Env, "WINAPI_NAMES=1")
	wrapper.Dir = filepath.Join(p.dir, "drive_c")

	return wrapper
}

// serveNames answers questions on port 53 of 127.0.0.1 and 127.0.0.53 in the namespace until the test ends.
func serveNames(t *testing.T, ns string) {
	t.Helper()
	for _, address := range []string{"127.0.0.1:53", "127.0.0.53:53"} {
		var conn net.PacketConn
		err := netns.Do(ns, func() error {
			var err error
			conn, err = net.ListenPacket("udp4", address)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			buffer := make([]byte, 1500)
			for {
				n, from, err := conn.ReadFrom(buffer)
				if err != nil {
					return
				}
				if reply := answerName(buffer[:n]); reply != nil {
					_, _ = conn.WriteTo(reply, from)
				}
			}
		}()
	}
}

// answerName returns the reply to a DNS message with one question (RFC 1035). As servers do, it has an OPT record at
// its end if the question had one (RFC 6891), and otherwise ends in the answer's data.
func answerName(message []byte) []byte {
	const header, typeA, typeCNAME, typePTR, notFound = 12, 1, 5, 12, 3
	at, labels := header, []string{}
	for at < len(message) && message[at] != 0 {
		end := at + 1 + int(message[at])
		if end >= len(message) {
			return nil
		}
		labels, at = append(labels, string(message[at+1:end])), end
	}
	if at+5 > len(message) {
		return nil
	}

	kind, question := binary.BigEndian.Uint16(message[at+1:]), message[header:at+5]
	value, known := zone[strings.ToLower(strings.Join(labels, "."))]
	reply := append([]byte{message[0], message[1], 0x85, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	record := func(name []byte, kind uint16, data []byte) {
		reply[7]++
		reply = append(append(reply, name...), byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 30, byte(len(data)>>8),
			byte(len(data)))
		reply = append(reply, data...)
	}

	address, err := netip.ParseAddr(value)
	first := []byte{0xc0, header} // the question's name
	switch {
	case !known:
		reply[3] |= notFound
	case err == nil && kind == typeA:
		record(first, typeA, address.AsSlice())
	case err != nil && strings.HasSuffix(labels[len(labels)-1], "arpa"):
		record(first, typePTR, encodeName(value))
	case err != nil:
		record(first, typeCNAME, encodeName(value))
		if target, err := netip.ParseAddr(zone[value]); err == nil && kind == typeA {
			record(encodeName(value), typeA, target.AsSlice())
		}
	}

	if message[11] == 1 {
		reply[11]++
		reply = append(reply, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0)
	}
	return reply
}

func encodeName(name string) []byte {
	var out []byte
	for label := range strings.SplitSeq(name, ".") {
		out = append(append(out, byte(len(label))), label...)
	}
	return append(out, 0)
}
