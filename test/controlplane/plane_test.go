//go:build kernel

package controlplane_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/test/built"
)

// plane is a control plane under test.
type plane struct {
	config  controlplane.Config
	units   []component.Unit
	manager *component.Manager
	netns   string
}

// machineAddresses returns those of a machine with many interfaces, some of which are bridges of other programs.
func machineAddresses() []netip.Prefix {
	var all []netip.Prefix
	for i := range 500 {
		all = append(all, netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 17, byte(i / 250), byte(i % 250)}), 32))
	}
	return append(all, netip.MustParsePrefix("2001:db8:17::1/128"))
}

// newPlane makes a namespace and a control plane that is not started; both are gone after the test.
func newPlane(tb testing.TB) *plane {
	tb.Helper()
	return newPlaneOf(tb, version.Kubernetes)
}

// newPlaneOf makes a control plane of a version of Kubernetes.
func newPlaneOf(tb testing.TB, kubernetes string) *plane {
	tb.Helper()
	name := fmt.Sprintf("mt-controlplane-%d", os.Getpid())
	ip(tb, "netns", "add", name)
	tb.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			tb.Errorf("delete namespace: %v: %s", err, out)
		}
	})
	ip(tb, "-n", name, "link", "set", "lo", "up")
	ip(tb, "-n", name, "addr", "add", "10.213.0.1/24", "dev", "lo")
	dir := tb.TempDir()
	runDir, err := os.MkdirTemp("/tmp", "mcp") //nolint:usetesting // the socket's path has to be short
	if err != nil {
		tb.Fatal(err)
	}

	tb.Cleanup(func() { _ = os.RemoveAll(runDir) })
	p := &plane{
		netns: name,
		config: controlplane.Config{
			Name:          "mullion",
			Programs:      programs(tb, kubernetes),
			Version:       kubernetes,
			Dir:           dir,
			RunDir:        runDir,
			LogDir:        filepath.Join(dir, "logs"),
			Marker:        dir,
			Netns:         "/run/netns/" + name,
			Address:       netip.MustParseAddrPort("10.213.0.1:6443"),
			PodSubnet:     netip.MustParsePrefix("10.244.0.0/16"),
			NodeNetworks:  []netip.Prefix{netip.MustParsePrefix("10.213.0.0/24")},
			ServicePools:  []netip.Prefix{netip.MustParsePrefix("10.213.0.224/28")},
			OwnPorts:      []int{10250, 10256},
			Log:           slog.New(slog.NewTextHandler(tb.Output(), nil)),
			ServiceSubnet: netip.MustParsePrefix("10.96.0.0/16"),
			DNS:           dnsConfig(),
			Machines:      machinesConfig(tb),

			MachineAddresses: machineAddresses(),
		},
	}

	p.units, err = controlplane.Units(p.config)
	if err != nil {
		tb.Fatal(err)
	}

	p.manager, err = component.NewManager(p.units, func(e component.Event) {
		if e.Elapsed > 0 {
			tb.Logf("%-24s %-8s %6d ms", e.Unit, e.State, e.Elapsed.Milliseconds())
		}
	})
	if err != nil {
		tb.Fatal(err)
	}

	return p
}

// programs returns the folder of the control plane's programs; with -gogc, of scripts that start them with that GOGC.
func programs(tb testing.TB, kubernetes string) string {
	tb.Helper()
	b := bundle.At(built.Dir(tb), kubernetes)
	if missing := b.Missing(); len(missing) > 0 {
		tb.Fatal(missing)
	}
	if *gogc == "" {
		return b.Server()
	}

	dir := tb.TempDir()
	for _, name := range names() {
		script := fmt.Sprintf("#!/bin/sh\nGOGC=%s exec %s \"$@\"\n", *gogc, filepath.Join(b.Server(), name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			tb.Fatal(err)
		}
	}

	return dir
}

// names returns the control plane's programs.
func names() []string {
	return []string{controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager, controlplane.Scheduler}
}

// ip runs ip(8), which must succeed.
func ip(tb testing.TB, args ...string) {
	tb.Helper()
	if out, err := exec.CommandContext(tb.Context(), "ip", args...).CombinedOutput(); err != nil {
		tb.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func (p *plane) start(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	begin := time.Now()
	if err := p.manager.Start(ctx); err != nil {
		tb.Fatal(err)
	}
	tb.Logf("ready after %d ms", time.Since(begin).Milliseconds())
	p.logCost(tb)
}

// stop stops the plane and checks that no process is left.
func (p *plane) stop(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), time.Minute)
	defer cancel()
	begin := time.Now()
	if err := p.manager.Stop(ctx); err != nil {
		tb.Error(err)
	}

	tb.Logf("stopped after %d ms", time.Since(begin).Milliseconds())
	left, err := proc.Labelled(p.config.Marker)
	if err != nil || len(left) > 0 {
		tb.Errorf("left: %v, %v", left, err)
	}
	files, err := os.ReadDir(p.config.RunDir)
	if err != nil || len(files) > 0 {
		tb.Errorf("left in the run folder: %v, %v", files, err)
	}
}

// client returns a client by a kubeconfig file.
func (p *plane) client(t *testing.T, path string) *kubeclient.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return p.clientFor(t, config)
}

func (p *plane) clientFor(t *testing.T, config *rest.Config) *kubeclient.Client {
	t.Helper()
	config.Dial, config.QPS = proc.DialIn(p.config.Netns), -1
	client, err := kubeclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// stated is a unit that is a process.
type stated interface {
	component.Component
	State() proc.State
}

func (p *plane) process(tb testing.TB, name string) stated {
	tb.Helper()
	for _, u := range p.units {
		if pr, ok := u.Component.(stated); ok && u.ID() == component.Sole(name) {
			return pr
		}
	}
	tb.Fatalf("no process %q", name)
	return nil
}

// eventually polls until ok returns nil, and fails the test after a minute.
func eventually(t *testing.T, what string, ok func() error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if err = ok(); err == nil {
			return
		}
	}
	t.Fatalf("waited a minute in vain: %s: %v", what, err)
}

// logCost tells the programs' memory and the processor time they have had so far.
func (p *plane) logCost(tb testing.TB) {
	tb.Helper()
	for _, name := range names() {
		dir := fmt.Sprintf("/proc/%d/", p.process(tb, name).State().PID)
		stat, err := os.ReadFile(dir + "stat")
		if err != nil {
			tb.Error(err)
			continue
		}

		rollup, err := os.ReadFile(dir + "smaps_rollup")
		if err != nil {
			tb.Error(err)
			continue
		}

		var user, system, rss, pss, anonymous int
		after := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		_, _ = fmt.Sscan(after[11]+" "+after[12], &user, &system)
		for line := range strings.Lines(string(rollup)) {
			_, _ = fmt.Sscanf(line, "Rss: %d kB", &rss)
			_, _ = fmt.Sscanf(line, "Pss: %d kB", &pss)
			_, _ = fmt.Sscanf(line, "Anonymous: %d kB", &anonymous)
		}

		tb.Logf("%-24s cpu %5d ms, rss %4d MB, pss %4d MB, anonymous %4d MB", name, (user+system)*10, rss>>10, pss>>10,
			anonymous>>10)
	}
}

// idle is how long BenchmarkControlPlane waits before it looks at the memory: longer than the time of generous garbage
// collection.
var idle = flag.Duration("idle", 30*time.Second, "how long a control plane idles before its memory is measured")

// gogc replaces the setting the units have.
var gogc = flag.String("gogc", "", "GOGC of all programs, to compare")

// BenchmarkControlPlane measures a warm start (state is there) and the memory of an idle control plane.
func BenchmarkControlPlane(b *testing.B) {
	p := newPlane(b)
	p.start(b)
	p.stop(b)
	for b.Loop() {
		p.start(b)
		b.StopTimer()
		<-time.After(*idle)
		p.logCost(b)
		p.stop(b)
		b.StartTimer()
	}
}
