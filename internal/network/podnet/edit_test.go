package podnet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/network/podnet"
)

// TestEditedConfiguration: a person's changes of the configuration hold for the pods that come. A pod that was
// connected before is disconnected as it was connected, and a file that cannot be read is said by the pods that come.
func TestEditedConfiguration(t *testing.T) {
	r := newRig(t)
	n := r.open(t, podnet.Config{Mode: "l2bridge"})
	if err := n.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/24")...); err != nil {
		t.Fatal(err)
	}

	one, two := podA(), podA()
	two.ID, two.Name = strings.Repeat("b", 64), "two"
	if _, err := n.Setup(t.Context(), one); err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(r.dir, "c", "Program Files/containerd/cni/conf/10-cbr0.conflist")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	put(t, file, strings.Replace(string(text), `"win-bridge"`, `"mine"`, 1))
	r.since()
	if _, err := n.Setup(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	if calls := strings.Join(r.since(), "\n"); !strings.Contains(calls, `\mine.exe`) || strings.Contains(calls, "win-bridge.exe") {
		t.Errorf("a pod that comes after the change: %s", calls)
	}

	if err := n.Teardown(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if calls := strings.Join(r.since(), "\n"); !strings.Contains(calls, `\win-bridge.exe`) || strings.Contains(calls, "mine.exe") {
		t.Errorf("a pod that came before the change: %s", calls)
	}

	put(t, file, "{")
	three := podA()
	three.ID, three.Name = strings.Repeat("c", 64), "three"
	if _, err := n.Setup(t.Context(), three); err == nil || !strings.Contains(err.Error(), "10-cbr0.conflist") {
		t.Errorf("a file that is spoilt: %v", err)
	}
	if err := n.Teardown(t.Context(), two); err != nil {
		t.Errorf("a pod that is there: %v", err)
	}
}
