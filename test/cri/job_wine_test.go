//go:build wine

package cri

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	hnsserver "mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/node/agent/compute"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

// TestJobObject: a program on the host opens the job object of a container by its name and reads the container's limits
// and figures, also after an update; it can change nothing. A program in the container sees its own limits, and neither
// its own nor another container by name.
func TestJobObject(t *testing.T) {
	n := newHostNode(t)
	n.serveCompute(t)
	n.putOnHost(t, `C:\winprog.exe`, filepath.Join(n.machine.dir, "winprog.exe"))
	pod, config := n.pod(t, "jobs")
	id := n.run1(t, pod, config, []string{"sleep"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows.Resources = &runtimeapi.WindowsContainerResources{
			CpuMaximum:         2500,
			MemoryLimitInBytes: 200 << 20,
			AffinityCpus:       []*runtimeapi.WindowsCpuGroupAffinity{{CpuMask: 1}},
		}
	})
	n.waitLog(t, id, "sleeping")
	own := func() string { return n.execIn(t, id, `C:\app\winprog.exe`, "job") }
	said := func(affinity string, rate, memory int) string {
		return fmt.Sprintf("groups: 0:%s\nrate: 0x5 %d\nlimits: 0x200 %d\n", affinity, rate, memory)
	}

	const figures = "accounting: some time true, active true\nmemory: some true\nnetwork: " +
		"[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]\nstorage: flags 1\nlist: Incorrect function.\n" +
		"end: Access is denied.\nby a duplicate: <nil>\n"
	name := `\Container_` + id
	if got, want := n.onHost(t, `C:\winprog.exe`, "job", name), said("1", 2500, 200<<20)+figures; got != want {
		t.Errorf("on the host:\n%s\nwant\n%s", got, want)
	}

	if got, want := own(), "in a job: 1\n"+said("1", 2500, 200<<20); !strings.HasPrefix(got, want) {
		t.Errorf("in the container:\n%s\nwant\n%s", got, want)
	}

	all := fmt.Sprintf("%b", 1<<runtime.NumCPU()-1)
	mask := uint64(1)<<runtime.NumCPU() - 1
	_, err := n.UpdateContainerResources(t.Context(), &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: id,
		Windows: &runtimeapi.WindowsContainerResources{
			CpuMaximum:         5000,
			MemoryLimitInBytes: 300 << 20,
			AffinityCpus:       []*runtimeapi.WindowsCpuGroupAffinity{{CpuMask: mask}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	if got, want := n.onHost(t, `C:\winprog.exe`, "job", name), said(all, 5000, 300<<20)+figures; got != want {
		t.Errorf("on the host after the update:\n%s\nwant\n%s", got, want)
	}
	if got, want := own(), "in a job: 1\n"+said(all, 5000, 300<<20); !strings.HasPrefix(got, want) {
		t.Errorf("in the container after the update:\n%s\nwant\n%s", got, want)
	}

	const none = "open: NTSTATUS 0xc0000034\n"
	for _, other := range []string{`\Container_`, `\Container_` + strings.Repeat("0", 64), `\Container_` + strings.Repeat("0", 4000)} {
		if got := n.onHost(t, `C:\winprog.exe`, "job", other); got != none {
			t.Errorf("%.20s on the host: %s", other, got)
		}
	}

	if got := n.execIn(t, id, `C:\app\winprog.exe`, "job", name); got != none {
		t.Errorf("by name in the container: %s", got)
	}
	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	if got := n.onHost(t, `C:\winprog.exe`, "job", name); got != none {
		t.Errorf("after the container's end: %s", got)
	}
}

// execIn runs a program in a container and returns what it writes.
func (n *node) execIn(t *testing.T, id string, cmd ...string) string {
	t.Helper()
	resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id,
		Cmd:         cmd,
		Timeout:     30,
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(resp.GetStdout()), "\r\n", "\n")
}

// putOnHost copies a file of the machine to the host's C:.
func (n *node) putOnHost(t *testing.T, to, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}

	file, err := wine.UnixPath(n.hostDrive(), to)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// show makes the host show other processors than the machine's.
func (n *node) show(t *testing.T, p spec.Processors) {
	t.Helper()
	file := filepath.Join(n.dir, "processors")
	if err := os.WriteFile(file, []byte(p.File()), 0o600); err != nil {
		t.Fatal(err)
	}
	n.putOnHost(t, `C:\ProgramData\Mullion\processors`, file)
	n.processors = p.Count()
}

// serveCompute starts what answers the host's programs about containers, as the node's agent does.
func (n *node) serveCompute(t *testing.T) {
	t.Helper()
	const token = "a-token-of-the-test"
	file := filepath.Join(n.dir, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}

	n.putOnHost(t, `C:\ProgramData\Mullion\hns.token`, file)
	service, err := hnsserver.Open(t.Context(), hnsserver.Config{
		Model: hns.Config{
			Version:   wire.Version{Major: 16},
			Adapters:  []string{"eth0"},
			Addresses: []netip.Addr{netip.MustParseAddr("10.250.0.1")},
		},
		Store:     hnsserver.FileStore{Path: filepath.Join(n.dir, "hns", "state.json")},
		DataPlane: &dataplane.Fake{},
		Log:       slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		Compute:   compute.Service{Pods: n.server}.Call,
	})
	if err != nil {
		t.Fatal(err)
	}

	var l net.Listener
	err = netns.Do(n.host.Netns, func() (err error) {
		l, err = net.Listen("tcp4", "127.0.0.1:10290")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var served sync.WaitGroup
	served.Go(func() {
		if err := service.Serve(ctx, l, token); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); served.Wait() })
}
