//go:build wine

package hnswine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns/netnstest"
)

// TestExceptionList edits the list of win-bridge's configuration by hand, as the documents say, and looks at what
// packets do. An address in the list gets a pod's packets as they are, and its answer finds no way back; without it
// they have the host's address, and are answered. An edit holds for the pods that come after it, and for them alone.
func TestExceptionList(t *testing.T) {
	c := newCluster(t)
	h := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	netnstest.Serve(t, c.outside, "outside", "198.51.100.2:80")
	answers := func(name, ns string, want bool) {
		t.Helper()
		who, from, err := netnstest.Ask(ns, "tcp4", "198.51.100.2:80", 3*time.Second)
		switch {
		case want && (err != nil || who != "outside" || from.String() != "198.51.100.1"):
			t.Errorf("%s is answered by %q, which saw it as %s: %v", name, who, from, err)
		case !want && err == nil:
			t.Errorf("%s is answered by %q, which saw it as %s", name, who, from)
		}
	}

	file := filepath.Join(h.prefix, "drive_c", "Program Files/containerd/cni/conf/10-cbr0.conflist")
	edit := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), from) != 1 {
			t.Fatalf("%s has %s not once: %v\n%s", file, from, err, text)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	before := h.setup(t, pod("before")).NetNS
	answers("a pod of the first configuration", before, true)

	const own, more = `"10.213.0.0/24"`, `"10.213.0.0/24", "198.51.100.0/24"`
	edit(own, more)
	excepted := h.setup(t, pod("excepted")).NetNS
	answers("a pod for which the outside is excepted", excepted, false)
	answers("a pod from before the edit", before, true)

	edit(more, own)
	answers("a pod for which it was not excepted any more", h.setup(t, pod("after")).NetNS, true)
	answers("a pod from between the edits", excepted, false)
	if out := run(t, excepted, "ping -c 1 -W 1 10.213.0.11"); !strings.Contains(out, "1 received") {
		t.Errorf("the host does not answer a pod without a way out: %s", out)
	}
}
