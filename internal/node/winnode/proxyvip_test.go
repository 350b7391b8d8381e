package winnode

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/spec"
)

// put writes a file on a host's C: drive.
func put(t *testing.T, c Config, path, text string) {
	t.Helper()
	file := c.drive(path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// On an overlay of others kube-proxy starts without a source VIP, and nobody waits for it until there are a CNI
// configuration and a source VIP.
func TestProxyOnOverlayOfOthers(t *testing.T) {
	c := sample(t)
	c.Network.Mode, c.Network.NoCNI = spec.ModeOverlay, true
	args := func() []string {
		t.Helper()
		vip, err := c.sourceVIP(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c.ProxyArgs(vip)
	}

	hasVIP := func(arg string) bool { return strings.HasPrefix(arg, "--source-vip=") }
	if a := args(); slices.ContainsFunc(a, hasVIP) || !slices.Contains(a, "--network-name=vxlan0") ||
		!c.lacksNetwork() {
		t.Errorf("before there is anything: %v, waits %v", a, c.lacksNetwork())
	}

	put(t, c, "etc/cni/net.d/10-flannel.conf", `{"cniVersion": "0.3.1", "name": "vxlan0", "type": "flannel"}`)
	put(t, c, "k/sourceVip.json", `{"cniVersion":"0.2.0","ip4":{"ip":"10.226.1.2`) // half written
	if a := args(); slices.ContainsFunc(a, hasVIP) || !c.lacksNetwork() {
		t.Errorf("with a CNI configuration alone: %v, waits %v", a, c.lacksNetwork())
	}

	for text, want := range map[string]string{
		`{"cniVersion":"0.2.0","ip4":{"ip":"10.226.1.2/24","gateway":"10.226.1.1"},"dns":{}}`:                       "--source-vip=10.226.1.2",
		`{"cniVersion":"1.0.0","ips":[{"address":"10.226.1.3/24","gateway":"10.226.1.1"}]}`:                         "--source-vip=10.226.1.3",
		"\xff\xfe" + strings.Join(strings.Split(`{"ip4":{"ip":"10.226.1.4/24"}}`, ""), "\x00") + "\x00\r\x00\n\x00": "--source-vip=10.226.1.4",
		"\xef\xbb\xbf" + `{"ip4":{"ip":"10.226.1.5/24"}}`:                                                           "--source-vip=10.226.1.5",
	} {
		put(t, c, "k/sourceVip.json", text)
		if a := args(); !slices.Contains(a, want) || c.lacksNetwork() {
			t.Errorf("with %q: %v, waits %v", text, a, c.lacksNetwork())
		}
	}
}

// What keeps kube-proxy.exe is asked to end when another source VIP is written, and only then.
func TestProxyEndsWhenVIPChanges(t *testing.T) {
	c := sample(t)
	c.Network.Mode, c.Network.NoCNI = spec.ModeOverlay, true
	start := func() *exec.Cmd {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}

	const first = `{"ip4":{"ip":"10.226.1.2/24"}}`
	put(t, c, "k/sourceVip.json", first)
	same := start()
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond) // one look
	defer cancel()
	c.endWhenVIPChanges(ctx, c.writtenVIP(), same.Process)
	if err := same.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("it was ended though the source VIP is the same: %v", err)
	}

	_ = same.Process.Kill()
	_ = same.Wait()
	c.endWhenVIPChanges(t.Context(), c.writtenVIP(), same.Process) // returns, as the process is gone

	other := start()
	before := c.writtenVIP()
	put(t, c, "k/sourceVip.json", strings.Replace(first, "1.2", "1.9", 1))
	c.endWhenVIPChanges(t.Context(), before, other.Process)
	_ = other.Wait()
	if status, ok := other.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", other.ProcessState)
	}
}
