//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDocumentsSample applies the first manifest of Kubernetes' documents for Windows unchanged, on a machine that
// reaches no registry: a stand-in takes the place of Microsoft's image, and the manifest's PowerShell script serves.
func TestDocumentsSample(t *testing.T) {
	needs(t, ownCluster("E2E_DATA_DIR names a cluster of this machine, which may reach a registry"))
	sideBySide(t)

	c := newCluster(t)
	c.netns = offline(t)
	c.downAfter(t)
	c.must(t, "up", "--windows-version", "ltsc2019")
	c.must(t, "kubectl", "apply", "-f", "../../examples/kubernetes-docs/win-webserver.yaml")
	c.must(t, "kubectl", "rollout", "status", "deployment/win-webserver", "--timeout=3m")
	address := c.must(t, "kubectl", "get", "node", "win-1", "-o", "jsonpath={.status.addresses[0].address}")
	port := c.must(t, "kubectl", "get", "service", "win-webserver", "-o", "jsonpath={.spec.ports[0].nodePort}")

	// The script counts its callers' addresses, and shows its own address.
	for _, want := range []string{"<H1>Windows Container Web Server</H1>", "<p>IP 10.244.", " callerCount "} {
		poll(t, settle, func(ctx context.Context) error {
			return c.fetch(ctx, "http://"+net.JoinHostPort(address, port)+"/", want)
		})
	}

	if out, err := c.mullion(t.Context(), t, "image", "ls"); err != nil || !strings.Contains(out, "(stand-in)") {
		t.Errorf("mullion image ls: %v\n%s", err, out)
	}
}

// offline makes a network namespace that reaches nothing, for as long as the test lasts, and returns its path: a
// machine on which no registry can be reached.
func offline(t *testing.T) string {
	t.Helper()
	ns := fmt.Sprintf("mt-documents-%d", os.Getpid())
	for _, args := range [][]string{{"netns", "add", ns}, {"-n", ns, "link", "set", "lo", "up"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", ns).CombinedOutput(); err != nil {
			t.Errorf("delete the namespace: %v: %s", err, out)
		}
	})
	return "/run/netns/" + ns
}
