//go:build wine

package winnode_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
	"mullion.dev/mullion/test/built"
)

// bin returns the folder of built programs.
func bin(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{built.Dir(t)}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: build it with `make build`", err)
	}
	return path
}

// network adds a host to the underlay before its first unit.
type network struct {
	*underlay.Underlay
	host string
	addr netip.Addr
}

func (n *network) ID() component.ID { return component.Sole("network") }
func (n *network) Start(ctx context.Context) error {
	if err := n.Up(ctx); err != nil {
		return err
	}
	return n.AddHost(ctx, n.host, n.addr)
}
func (n *network) Stop(context.Context) error { return nil }

// containerd writes its configuration before it starts.
type containerd struct {
	*proc.Process
	daemon engine.DaemonConfig
	config string
}

func (c *containerd) Start(ctx context.Context) error {
	if err := c.daemon.Write(c.config); err != nil {
		return err
	}
	return c.Process.Start(ctx)
}

// rig is a cluster of one Windows host.
type rig struct {
	dir, run string
	tag      string   // in the names of all that the rig makes outside of its folders
	before   []string // traces of others
	host     winnode.Config
	plane    controlplane.Config
	underlay *underlay.Underlay
	manager  *component.Manager
	units    []component.Unit
}

func newRig(t *testing.T, build string) *rig {
	t.Helper()
	b, err := winver.Lookup(build)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	sum := sha256.Sum256([]byte(dir))
	tag := hex.EncodeToString(sum[:4])
	r := &rig{
		dir:    dir,
		tag:    tag,
		before: traces(t),
		run:    filepath.Join("/run/mullion", "t-"+tag),
	} // short, and enterable by containers

	if err := os.MkdirAll(r.run, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}

	subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 219, sum[4], 0}), 24)
	addr := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 219, sum[4], last}) }
	if r.underlay, err = underlay.New(underlay.Config{
		RunDir: r.run,
		Link:   "mt-" + tag,
		Subnet: subnet,
		Fabric: addr(1),
	}); err != nil {
		t.Fatal(err)
	}

	r.plane = controlplane.Config{
		Name:          "t",
		Programs:      bundle.At(bin(t), version.Kubernetes).Server(),
		Dir:           dir,
		RunDir:        r.run,
		LogDir:        filepath.Join(dir, "logs"),
		Marker:        dir,
		Netns:         r.underlay.FabricNetns(),
		Address:       netip.AddrPortFrom(addr(1), 6443),
		PodSubnet:     netip.MustParsePrefix("10.244.0.0/16"),
		NodeNetworks:  []netip.Prefix{subnet},
		ServiceSubnet: netip.MustParsePrefix("10.96.0.0/16"),
		After:         component.Soles("network"),
	}

	planeUnits, err := controlplane.Units(r.plane)
	if err != nil {
		t.Fatal(err)
	}

	layer := winnode.NewSystemLayer(wine.Options{
		Dir:        filepath.Join(dir, "wine"),
		ShimDir:    bin(t, "windows", "shim"),
		InitBinary: bin(t, "mullion-init"),
		Builds:     []winver.Build{b},
	})

	daemon := engine.DaemonConfig{
		Root:   filepath.Join(dir, "containerd"),
		State:  filepath.Join(r.run, "containerd"),
		Socket: filepath.Join(r.run, "containerd.sock"),
	}

	r.host = winnode.Config{
		Administrators: int(engine.DefaultIDs().Base),
		Config: kubenode.Config{
			Name:                "win-1",
			Address:             addr(11),
			Dir:                 filepath.Join(dir, "nodes", "win-1"),
			RunDir:              filepath.Join(r.run, "win-1"),
			Netns:               r.underlay.HostNetns("win-1"),
			LogDir:              filepath.Join(dir, "logs"),
			Marker:              dir,
			Cgroup:              "/mullion-t-" + tag,
			Server:              r.plane.Server(),
			CAFile:              filepath.Join(r.plane.PKIDir(), pki.CA+".crt"),
			BootstrapKubeconfig: r.plane.BootstrapKubeconfig(),
			ProxyKubeconfig:     r.plane.Kubeconfig(pki.KubeProxy()),
			PodSubnet:           r.plane.PodSubnet,
			ServiceSubnet:       r.plane.ServiceSubnet,
			NodeSubnet:          subnet,
			ClusterDNS:          netip.MustParseAddr("10.96.0.10"),
			Taint:               true,
			Labels:              map[string]string{"pool": "test"},
			After:               component.Soles("wine", "containerd", controlplane.Bootstrap),
		},
		Build:               b,
		NodeProgram:         bin(t, "mullion-node"),
		Kubernetes:          bundle.At(bin(t), version.Kubernetes).Node(),
		Programs:            bin(t, "windows"),
		ProgramsDir:         filepath.Join(dir, "programs"),
		System:              layer.System,
		ContainerdSocket:    daemon.Socket,
		ContainerdNamespace: "k8s.io",
	}

	hostUnits, err := winnode.Units(r.host)
	if err != nil {
		t.Fatal(err)
	}

	r.units = append(planeUnits, component.Unit{Component: &network{r.underlay, "win-1", addr(11)}},
		component.Unit{Component: layer},
		component.Unit{Component: &containerd{
			daemon: daemon,
			config: filepath.Join(dir, "containerd.toml"),
			Process: proc.New(proc.Spec{
				ID:      component.Sole("containerd"),
				Path:    bin(t, "containerd"),
				Args:    []string{"--config", filepath.Join(dir, "containerd.toml")},
				Marker:  dir,
				Env:     []string{"PATH=" + bin(t) + ":/usr/sbin:/usr/bin:/sbin:/bin"},
				LogPath: filepath.Join(dir, "logs", "containerd.log"),
				Ready: func(ctx context.Context) error {
					conn, err := (&net.Dialer{}).DialContext(ctx, "unix", daemon.Socket)
					if err != nil {
						return err
					}
					return conn.Close()
				},
			}),
		}})

	r.units = append(r.units, hostUnits...)
	r.manager, err = component.NewManager(r.units, func(e component.Event) {
		if e.Elapsed > 0 {
			t.Logf("%-24s %-8s %6d ms", e.Unit, e.State, e.Elapsed.Milliseconds())
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { r.remove(t) })
	return r
}

// remove takes everything down and checks that nothing is left.
// endShims ends what containerd has started and left.
func (r *rig) endShims(ctx context.Context, t *testing.T) {
	t.Helper()
	for ctx.Err() == nil {
		left, err := proc.Labelled(r.dir)
		if err != nil {
			t.Error(err)
		}
		if len(left) == 0 {
			return
		}

		for _, l := range left {
			_ = syscall.Kill(l.PID, syscall.SIGKILL) // it may have ended
		}
	}

	t.Error("what containerd has left does not end")
}

func (r *rig) remove(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if err := r.manager.Stop(ctx); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		r.showLogs(t)
	}

	r.endShims(ctx, t)
	if err := cluster.KillCgroups(ctx, r.host.Cgroup); err != nil {
		t.Error(err)
	}
	if err := r.underlay.Down(ctx); err != nil {
		t.Error(err)
	}

	// What outlives a supervisor by design: the prefix, pods' namespaces, containers' roots.
	for range 3 {
		points := r.mounts(t)
		slices.Reverse(points)
		for _, p := range points {
			if err := syscall.Unmount(p, syscall.MNT_DETACH); err != nil && err != syscall.EINVAL {
				t.Errorf("unmount %s: %v", p, err)
			}
		}
	}

	if err := os.RemoveAll(r.run); err != nil {
		t.Error(err)
	}
	r.checkTraces(t)
}

// mounts returns the mount points of the rig, in the order they were made.
func (r *rig) mounts(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && (strings.HasPrefix(f[1], r.dir) || strings.HasPrefix(f[1], r.run)) {
			points = append(points, f[1])
		}
	}
	return points
}

func (r *rig) showLogs(t *testing.T) {
	t.Helper()
	for _, part := range []string{"host", "agent", "kubelet", "kube-proxy"} {
		data, err := os.ReadFile(filepath.Join(r.dir, "logs", part, "win-1.log"))
		if err != nil {
			continue
		}
		const keep = 6000
		t.Logf("--- %s\n%s", part, data[max(0, len(data)-keep):])
	}
}

func (r *rig) client(t *testing.T) *kubeclient.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", r.plane.Kubeconfig(pki.Admin()))
	if err != nil {
		t.Fatal(err)
	}
	config.Host = r.plane.Server()
	config.Dial = proc.DialIn(r.plane.Netns)
	config.QPS = -1
	client, err := kubeclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func eventually(t *testing.T, what string, limit time.Duration, ok func() error) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); <-tick.C {
		if err = ok(); err == nil {
			return
		}
	}
	t.Fatalf("waited %v in vain: %s: %v", limit, what, err)
}

func TestNodeRegisters(t *testing.T) {
	r := newRig(t, "ltsc2022")
	begin := time.Now()
	if err := r.manager.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	t.Logf("all units ready after %v", time.Since(begin).Round(time.Millisecond))
	api := r.client(t)
	var node *corev1.Node
	eventually(t, "the node is registered and Ready", time.Minute, func() error {
		var err error
		if node, err = api.CoreV1().Nodes().Get(t.Context(), "win-1", metav1.GetOptions{}); err != nil {
			return err
		}

		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				if c.Status == corev1.ConditionTrue {
					return nil
				}
				return fmt.Errorf("%s: %s", c.Reason, c.Message)
			}
		}

		return fmt.Errorf("no Ready condition")
	})
	t.Logf("Ready after %v", time.Since(begin).Round(time.Millisecond))
	checkNode(t, node, r.host)
	r.routePods(t, node)
	r.checkHost(t)
	r.checkDeadService(t)
	r.checkPod(t, api)
	r.checkServices(t, api)
	r.checkNoCgroups(t)
	r.logMemory(t)
	r.checkCrash(t)
	r.checkDeadService(t)
}

func checkNode(t *testing.T, node *corev1.Node, host winnode.Config) {
	t.Helper()
	info := node.Status.NodeInfo
	for what, pair := range map[string][2]string{
		"os image":       {info.OSImage, host.Build.ProductName},
		"kernel version": {info.KernelVersion, host.Build.Version.String()},
		"os":             {info.OperatingSystem, "windows"},
		"architecture":   {info.Architecture, "amd64"},
		"build label": {
			node.Labels["node.kubernetes.io/windows-build"],
			fmt.Sprintf("10.0.%d", host.Build.Version.Build),
		},
		"os label":       {node.Labels["kubernetes.io/os"], "windows"},
		"hostname label": {node.Labels["kubernetes.io/hostname"], "win-1"},
		"own label":      {node.Labels["pool"], "test"},
		"kubelet":        {info.KubeletVersion, "v1.37.1"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, want %q", what, pair[0], pair[1])
		}
	}

	if info.SystemUUID == "" || info.BootID == "" || info.BootID == "1" {
		t.Errorf("system uuid %q, boot id %q", info.SystemUUID, info.BootID)
	}
	addrs := map[corev1.NodeAddressType]string{}
	for _, a := range node.Status.Addresses {
		addrs[a.Type] = a.Address
	}

	if addrs[corev1.NodeInternalIP] != host.Address.String() || addrs[corev1.NodeHostName] != "win-1" {
		t.Errorf("addresses %v", addrs)
	}

	var tainted bool
	for _, taint := range node.Spec.Taints {
		tainted = tainted || (taint.Key == "os" && taint.Value == "windows" &&
			taint.Effect == corev1.TaintEffectNoSchedule)
	}
	if !tainted {
		t.Errorf("taints %v", node.Spec.Taints)
	}

	var machine syscall.Sysinfo_t
	if err := syscall.Sysinfo(&machine); err != nil {
		t.Fatal(err)
	}
	total := int64(machine.Totalram) * int64(machine.Unit)
	if got := node.Status.Capacity.Memory().Value(); got < total*9/10 || got > total*11/10 {
		t.Errorf("memory capacity %d, the machine has %d", got, total)
	}
}

// checkHost looks at the host from inside, as one who has logged on to it.
func (r *rig) checkHost(t *testing.T) {
	t.Helper()
	h, err := winhost.Load(winnode.HostFile(r.host.Dir))
	if err != nil {
		t.Fatal(err)
	}

	start := time.Now()
	out, err := h.Output(t.Context(), nil, nil, "cmd", "/c", "ver&echo %USERNAME%&echo %COMPUTERNAME%&dir /b C:\\k")
	if err != nil {
		t.Fatal(err)
	}

	t.Logf("cmd on the host took %v", time.Since(start).Round(time.Millisecond))
	for _, want := range []string{
		fmt.Sprintf("10.0.%d", r.host.Build.Version.Build), wine.HostUser, "WIN-1",
		"kubelet.exe",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the host's answer lacks %q:\n%s", want, out)
		}
	}

	if _, err := h.Output(t.Context(), nil, nil, "cmd", "/c", "exit 3"); err == nil {
		t.Error("exit code 3 is no error")
	}
}

// logMemory prints what the host's processes take.
func (r *rig) logMemory(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `for p in $(pgrep -f . ); do
		tr '\0' '\n' < /proc/$p/environ 2>/dev/null | grep -qx "MULLION_CLUSTER=`+r.dir+`" || continue
		awk -v c="$(tr '\0' ' ' < /proc/$p/cmdline | cut -c1-70)" '/^Rss/{r=$2}/^Pss:/{s=$2}END{printf "%7d KB rss %7d KB pss  %s\n", r, s, c}' /proc/$p/smaps_rollup
	done | sort -rn`).Output()
	if err != nil {
		t.Logf("memory: %v", err)
	}
	t.Logf("memory:\n%s", out)
}
