//go:build wine

package winapi

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/base/netns/netnstest"
)

// TestNetwork runs the tests of routes and adapters in package prog, in a network namespace with the interface
// 192.0.2.1/24, and others that have aliases.
func TestNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	ns := netnstest.New(t, "network")
	for _, args := range [][]string{
		{"link", "add", "eth0", "type", "veth", "peer", "name", "eth1"},
		{"addr", "add", "192.0.2.1/24", "dev", "eth0"},
		{"link", "set", "eth0", "up"},
		{"link", "set", "eth1", "up"},
		{"link", "add", "eth2", "type", "veth", "peer", "name", "eth3"},
		{"link", "set", "eth2", "alias", "vEthernet (Ethernet)", "up"},
		{"link", "set", "eth3", "alias", "somebody else's", "up"},
		{"link", "add", "eth4", "type", "veth", "peer", "name", "eth5"},
		{"link", "set", "eth4", "alias", "Ethernet", "up"},
	} {
		if out, err := exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + ns, "ip"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v\n%s", args, err, out)
		}
	}

	p := newPrefix(t)
	p.moveServer(t, ns)
	program := filepath.Join(p.dir, "drive_c/winapi.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "./prog")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test program: %v\n%s", err, out)
	}

	cmd := p.command(t, `C:\winapi.exe`, "-test.v", "-test.run=^Test(Routes|Adapters)OfPrograms$", "-test.timeout=60s")
	in := exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + ns}, cmd.Args...)...)
	in.Env = append(cmd.Env, "WINAPI_NETWORK=1")
	in.Dir = filepath.Join(p.dir, "drive_c")
	inProgram(t, in, 2)
}
