package winnode

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
)

func sample(t *testing.T) Config {
	t.Helper()
	b, err := winver.Lookup("ltsc2022")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return Config{
		Config: kubenode.Config{
			Name:                "win-1",
			Address:             netip.MustParseAddr("10.213.0.11"),
			Dir:                 filepath.Join(dir, "nodes/win-1"),
			RunDir:              filepath.Join(dir, "run"),
			Netns:               filepath.Join(dir, "netns"),
			LogDir:              filepath.Join(dir, "logs"),
			Marker:              "/data",
			Cgroup:              "/mullion-12345678/win-1",
			Server:              "https://10.213.0.1:6443",
			CAFile:              filepath.Join(dir, "ca.crt"),
			BootstrapKubeconfig: filepath.Join(dir, "bootstrap.kubeconfig"),
			ProxyKubeconfig:     filepath.Join(dir, "kube-proxy.kubeconfig"),
			ClusterDNS:          netip.MustParseAddr("10.96.0.10"),
			Taint:               true,
			Labels:              map[string]string{"b": "2", "a": "1"},
		},
		Build:          b,
		Administrators: os.Getgid(),
		NodeProgram:    "/bin/mullion-node",
		Kubernetes:     filepath.Join(dir, "kubernetes"),
		Programs:       filepath.Join(dir, "bin"),
		ProgramsDir:    filepath.Join(dir, "programs"),
		System:         func() *wine.System { return &wine.System{} },
	}
}

// dualStack gives a host IPv6 besides.
func dualStack(c *Config) {
	c.Address6 = netip.MustParseAddr("fd00:213::b")
	c.PodSubnet6 = netip.MustParsePrefix("fd00:244::/48")
	c.ServiceSubnet6 = netip.MustParsePrefix("fd00:96::/112")
	c.NodeSubnet6 = netip.MustParsePrefix("fd00:213::/64")
}

func kubeletArgs(c Config) []string { return c.node().KubeletArgs() }

const bootstrapText = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443", certificate-authority: /somewhere/ca.crt}}]
users: [{name: u, user: {token: abcdef.0123456789abcdef}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// A bare host has the parts of its container runtime alone, the programs of a person who joins a cluster, and its
// private folders.
func TestBareHost(t *testing.T) {
	c := sample(t)
	c.Bare, c.NoProxy = true, true
	if err := os.MkdirAll(c.Kubernetes, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Kubernetes, "kubeadm.exe"), nil, 0o755); err != nil {
		t.Fatal(err)
	}

	units, err := Units(c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range units {
		got = append(got, u.ID().String())
	}

	for _, p := range c.programs() {
		got = append(got, filepath.Base(p.place))
	}

	want := []string{
		"prefix/win-1", "host/win-1", "agent/win-1", "pipes/win-1", "kubelet.exe", "kube-proxy.exe", "kubeadm.exe",
		"win-bridge.exe", "win-overlay.exe", "host-local.exe",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	if err := os.MkdirAll(c.drive("Windows/System32"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.writeDrive(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(c.drive("etc/kubernetes")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("what a person will put there is not private: %v, %v", info, err)
	}

	if files, err := filepath.Glob(c.drive("etc/kubernetes/*.conf")); err != nil || len(files) > 0 {
		t.Errorf("files of a kubelet: %v, %v", files, err)
	}
}

// Folders with logs are of the administrators' group, and so is what is made in them; the logs of pods are for the
// kubelet to open and to close, also where an older Mullion has made their folder.
func TestLogFolders(t *testing.T) {
	c := sample(t)
	pods := c.drive("var/log/pods")
	for _, dir := range []string{c.drive("Windows/System32"), pods} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Chmod(pods, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := c.writeDrive(); err != nil {
		t.Fatal(err)
	}

	for dir, want := range map[string]fs.FileMode{
		"var/log": 0o775, "var/log/kubelet": 0o750, "var/log/kube-proxy": 0o750, "var/log/pods": 0o750,
	} {
		info, err := os.Stat(c.drive(dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != fs.ModeDir|fs.ModeSetgid|want {
			t.Errorf("mode of %s: got %v, want %v with its group handed down", dir, got, want)
		}

		if got := info.Sys().(*syscall.Stat_t).Gid; int(got) != c.Administrators {
			t.Errorf("group of %s: got %d, want %d", dir, got, c.Administrators)
		}
	}

	if _, err := os.Stat(c.drive("var/log/containers")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the kubelet's folder was made for it: %v", err)
	}
}

func TestToken(t *testing.T) {
	c := sample(t)
	if err := os.MkdirAll(c.drive("Windows/System32"), 0o755); err != nil {
		t.Fatal(err)
	}

	var tokens []string
	for range 2 { // a restart keeps it
		if err := c.writeDrive(); err != nil {
			t.Fatal(err)
		}
		token, err := os.ReadFile(TokenFile(c.Dir))
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, string(token))
	}
	if len(tokens[0]) != 64 || tokens[0] != tokens[1] {
		t.Errorf("tokens %q", tokens)
	}
}

func TestProgramsLayer(t *testing.T) {
	c := sample(t)
	if _, err := c.programsLayer(); err == nil || !strings.Contains(err.Error(), "make upstream") {
		t.Errorf("without programs: %v", err)
	}
	for _, dir := range []string{c.Kubernetes, c.Programs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for _, p := range c.programs() {
		if err := os.WriteFile(p.file, []byte(p.file), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	without, err := c.programsLayer()
	if err != nil {
		t.Fatal(err)
	}
	c.PauseImage = spec.OwnPauseImage
	if _, err := c.programsLayer(); err == nil || !strings.Contains(err.Error(), "make pause") {
		t.Errorf("without the programs of the pause image: %v", err)
	}
	c.PauseImage = "registry.k8s.io/pause:3.10.2"
	if same, err := c.programsLayer(); err != nil || same != without {
		t.Errorf("with a pause image of a registry: %q, %v", same, err)
	}
	crictl := filepath.Join(c.Programs, "crictl.exe")
	if err := os.WriteFile(crictl, []byte(crictl), 0o755); err != nil {
		t.Fatal(err)
	}

	first, err := c.programsLayer()
	if err != nil {
		t.Fatal(err)
	}
	if place := filepath.Join("Files", containerdDir, "crictl.exe"); first == without ||
		exists(filepath.Join(without, place)) || !exists(filepath.Join(first, place)) {
		t.Errorf("crictl.exe, which is not always built: %q without, %q with it", without, first)
	}

	for _, p := range c.programs() {
		if data, err := os.ReadFile(filepath.Join(first, "Files", p.place)); err != nil || string(data) != p.file {
			t.Errorf("%s: %q, %v", p.place, data, err)
		}
	}

	if again, err := c.programsLayer(); err != nil || again != first {
		t.Errorf("second call: %q, %v; first %q", again, err, first)
	}
	if err := os.WriteFile(filepath.Join(c.Kubernetes, "kubelet.exe"), []byte("newer"), 0o755); err != nil {
		t.Fatal(err)
	}
	if next, err := c.programsLayer(); err != nil || next == first {
		t.Errorf("new programs: %q, %v; first %q", next, err, first)
	}

	c.NoProxy, c.Network.NoCNI = true, true
	bare, err := c.programsLayer()
	if err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(bare, "Files", "k", "*")); err != nil || len(left) != 1 ||
		exists(filepath.Join(bare, "Files", cniBin)) {
		t.Errorf("without kube-proxy and CNI plugins: %v, %v", left, err)
	}

	if left, err := filepath.Glob(filepath.Join(c.ProgramsDir, ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestUnitsOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	units, err := Units(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range units {
		got = append(got, u.ID().String()+" after "+strings.Join(component.Texts(u.After), ","))
	}

	want := []string{
		"prefix/win-1 after ", "host/win-1 after prefix/win-1", "agent/win-1 after host/win-1",
		"kubelet/win-1 after agent/win-1", "pipes/win-1 after agent/win-1",
		"kube-proxy/win-1 after kubelet/win-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if _, err := Units(Config{Config: kubenode.Config{Name: "win-2"}}); err == nil || !strings.Contains(err.Error(), "NodeProgram") {
		t.Errorf("empty configuration: %v", err)
	}
}

// kube-proxy.exe panics where there is no HNS v2, and would take the whole bring-up with it.
func TestNoProxyWithoutHNSv2(t *testing.T) {
	for name, want := range map[string]bool{"ltsc2016": false, "1709": false, "1803": false, "ltsc2019": true, "ltsc2025": true} {
		c := sample(t)
		build, err := winver.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}

		c.Build = build
		units, err := Units(c)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(units, func(u component.Unit) bool { return u.ID() == c.ProxyUnit() })
		if got != want {
			t.Errorf("kube-proxy on %s: %v, want %v", name, got, want)
		}
	}
}

// kube-proxy.exe of Kubernetes 1.20 calls version 1 of HNS there.
func TestOldProxyWithoutHNSv2(t *testing.T) {
	c := sample(t)
	build, err := winver.Lookup("1803")
	if err != nil {
		t.Fatal(err)
	}
	c.Build, c.Version = build, "v1.20.15"
	if !c.HasProxy() {
		t.Error("no kube-proxy of 1.20 on a build without version 2 of HNS")
	}
}

// A host that others give a kube-proxy and a CNI plugin has neither from us.
func TestNoProxyAsAsked(t *testing.T) {
	c := sample(t)
	c.NoProxy = true
	units, err := Units(c)
	if err != nil || slices.ContainsFunc(units, func(u component.Unit) bool { return u.ID() == c.ProxyUnit() }) {
		t.Errorf("units without kube-proxy: %v, %v", units, err)
	}
}

func TestSupportRows(t *testing.T) {
	if err := support.Check(SupportRows()); err != nil {
		t.Error(err)
	}
}
