package winnode

import (
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/node/kubenode"
)

// TestProgram: a person's own kubelet.exe is copied to C: and run from there, and gone when it is taken back.
func TestProgram(t *testing.T) {
	c := sample(t)
	if err := os.MkdirAll(c.drive("k"), 0o755); err != nil {
		t.Fatal(err)
	}

	upstream := func() {
		t.Helper()
		for name, want := range map[string]string{"kubelet.exe": `C:\k\kubelet.exe`, "kube-proxy.exe": `C:\k\kube-proxy.exe`} {
			if got, err := c.program(name); err != nil || got != want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}

		if left, _ := os.ReadDir(c.drive("k", "own")); len(left) > 0 {
			t.Errorf("on C: is still %v", left)
		}
	}
	upstream()
	if err := os.MkdirAll(kubenode.OwnDir(c.Dir), 0o755); err != nil {
		t.Fatal(err)
	}

	own := filepath.Join(kubenode.OwnDir(c.Dir), "kubelet.exe")
	for _, text := range []string{"one", "another"} {
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := c.program("kubelet.exe"); err != nil || got != `C:\k\own\kubelet.exe` {
			t.Errorf("own: %q, %v", got, err)
		}
		if got, err := os.ReadFile(c.drive("k", "own", "kubelet.exe")); err != nil || string(got) != text {
			t.Errorf("on C: is %q, %v, want %q", got, err, text)
		}
	}

	if got, err := c.program("kube-proxy.exe"); err != nil || got != `C:\k\kube-proxy.exe` {
		t.Errorf("kube-proxy.exe beside it: %q, %v", got, err)
	}
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	upstream()
}
