//go:build cluster

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
)

// dualYAML uses other subnets than the other tests' clusters. Windows Server 2019 has no dual stack, so that node has
// IPv4 only.
const dualYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-dual
networking:
  enableDSR: true
  underlaySubnet: 10.207.0.0/24,fd00:207::/64
  podSubnet: 10.206.0.0/16,fd00:206::/56
  serviceSubnet: 10.98.0.0/16,fd00:98::/112
nodes:
- windowsVersion: ltsc2022
- windowsVersion: ltsc2025
- windowsVersion: ltsc2019
- os: linux
`

// beyond makes a place that the machine reaches by IPv6, with a web server that answers with the caller's address. It
// knows the way to the nodes.
func beyond(t *testing.T) {
	t.Helper()
	ns := netnstest.New(t, "beyond")
	script := `set -e
ip link add me-beyond type veth peer name eth0 netns /proc/self/fd/3
ip addr add 2001:db8:207::1/64 dev me-beyond nodad; ip link set me-beyond up`

	inside := "set -e; ip addr add 2001:db8:207::2/64 dev eth0 nodad; ip link set eth0 up; " +
		"ip route add fd00::/16 via 2001:db8:207::1"
	pin, err := os.Open(ns)
	if err != nil {
		t.Fatal(err)
	}
	defer pin.Close()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.ExtraFiles = []*os.File{pin}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	t.Cleanup(func() {
		if out, err := exec.Command("ip", "link", "del", "me-beyond").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})

	var l net.Listener
	err = netns.Do(ns, func() error {
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", inside).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		var err error
		l, err = net.Listen("tcp", "[2001:db8:207::2]:80")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "beyond sees", r.RemoteAddr)
		}),
		ReadHeaderTimeout: time.Second,
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
}

// TestDualStack brings up a cluster of both families, runs testdata/dual in it and carries out the flows that Windows
// documents, over both and with direct server return.
func TestDualStack(t *testing.T) {
	needs(t)
	sideBySide(t)
	c, given := givenCluster(t)
	if !given {
		beyond(t)
		c.bringUp(t, dualYAML)
	}

	out, err := c.mullion(t.Context(), t, "kubectl", "get", "nodes", "-o", "jsonpath={.items[*].spec.podCIDRs}")
	if dual := strings.Contains(out, "::"); err != nil || (!dual && !given) {
		t.Fatalf("the cluster is not of both families: %s, %v", out, err)
	} else if !dual {
		t.Skip("E2E_DATA_DIR names a cluster of one family")
	}

	c.image(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "dual"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands(),
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "MULLION_DATA_DIR="+c.data, "KUBECONFIG="+c.kubeconfig,
				"PATH="+c.bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
			return nil
		},
	})

	if t.Failed() {
		logs(t, c)
	}
	c.netTest(t, "l2bridge")
}
