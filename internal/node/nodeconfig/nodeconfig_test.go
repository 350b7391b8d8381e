package nodeconfig

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/spec"
)

// Paths, flags and settings are those that kubeadm's and SIG Windows' tools use, in the words of each system.
func TestKubelet(t *testing.T) {
	linux := Kubelet{
		Name:    "linux-1",
		OS:      spec.Linux,
		Address: netip.MustParseAddr("10.0.0.2"),
	}

	want := []string{
		"--config=/var/lib/kubelet/config.yaml",
		"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
		"--kubeconfig=/etc/kubernetes/kubelet.conf",
		"--cert-dir=/var/lib/kubelet/pki",
		"--hostname-override=linux-1",
		"--node-ip=10.0.0.2",
		"--v=2",
	}

	if got := linux.Args(); !slices.Equal(got, want) {
		t.Errorf("of Linux:\n%q\nwant\n%q", got, want)
	}

	windows := Kubelet{
		Name:       "win-1",
		OS:         spec.Windows,
		Address:    netip.MustParseAddr("10.0.0.3"),
		Address6:   netip.MustParseAddr("fd00::3"),
		ClusterDNS: netip.MustParseAddr("10.96.0.10"),
		SelfSigned: true,
		Taint:      true,
	}

	for _, flag := range []string{
		`--config=C:\var\lib\kubelet\config.yaml`, `--root-dir=C:\var\lib\kubelet`, "--node-ip=10.0.0.3,fd00::3",
	} {
		if !slices.Contains(windows.Args(), flag) {
			t.Errorf("of Windows there is no %s in %q", flag, windows.Args())
		}
	}

	c := windows.Configuration()
	if c.ServerTLSBootstrap || c.ClusterDomain != "cluster.local" || !slices.Equal(c.ClusterDNS, []string{"10.96.0.10"}) {
		t.Errorf("bootstrap %v, domain %q, DNS %q", c.ServerTLSBootstrap, c.ClusterDomain, c.ClusterDNS)
	}

	taint := corev1.Taint{
		Key:    "os",
		Value:  "windows",
		Effect: corev1.TaintEffectNoSchedule,
	}
	if !slices.Equal(c.RegisterWithTaints, []corev1.Taint{taint}) {
		t.Errorf("taints %v", c.RegisterWithTaints)
	}

	if file := c.Authentication.X509.ClientCAFile; file != `C:\etc\kubernetes\pki\ca.crt` {
		t.Errorf("the authority is in %s", file)
	}

	// Whoever has no certificate of the cluster's is asked about at the API server, and is nobody else's business.
	for _, k := range []Kubelet{linux, windows} {
		c := k.Configuration()
		a := c.Authentication
		if *a.Anonymous.Enabled || !*a.Webhook.Enabled || c.Authorization.Mode != "Webhook" {
			t.Errorf("%s answers strangers: %+v, %+v", k.Name, c.Authentication, c.Authorization)
		}
	}

	if c := linux.Configuration(); !c.ServerTLSBootstrap || c.RegisterWithTaints != nil || c.ClusterDNS != nil {
		t.Errorf("of Linux: bootstrap %v, taints %v, DNS %q", c.ServerTLSBootstrap, c.RegisterWithTaints, c.ClusterDNS)
	}
}

// What Windows adds leaves other thresholds of eviction as they are.
func TestWindows(t *testing.T) {
	c := Kubelet{OS: spec.Windows}.Configuration()
	c.EvictionHard = map[string]string{"nodefs.available": "5%"}
	Windows(c, "npipe:////./pipe/runtime", `C:\etc\resolv.conf`)

	if c.ContainerRuntimeEndpoint != "npipe:////./pipe/runtime" || *c.ResolverConfig != `C:\etc\resolv.conf` {
		t.Errorf("runtime %q, resolver %q", c.ContainerRuntimeEndpoint, *c.ResolverConfig)
	}
	if *c.CgroupsPerQOS || !slices.Equal(c.EnforceNodeAllocatable, []string{"none"}) {
		t.Errorf("cgroups %v, enforced %q", *c.CgroupsPerQOS, c.EnforceNodeAllocatable)
	}
	if c.EvictionHard["nodefs.available"] != "5%" || c.EvictionHard["memory.available"] != "500Mi" {
		t.Errorf("eviction %v", c.EvictionHard)
	}
}

// Fields replace what Mullion set, null takes it away, and what the kubelet does not know is refused by name.
func TestMerge(t *testing.T) {
	own := Kubelet{
		OS:             spec.Linux,
		SystemReserved: map[string]string{"cpu": "1", "memory": "1Gi"},
	}.Configuration()

	if same, err := Merge(own, nil); err != nil || same != own {
		t.Errorf("without fields: %v, %v", same, err)
	}

	merged, err := Merge(own, map[string]any{
		"maxPods":        7,
		"tlsMinVersion":  nil,
		"systemReserved": map[string]any{"cpu": "2"},
	})
	if err != nil {
		t.Fatal(err)
	}

	if merged.MaxPods != 7 || merged.TLSMinVersion != "" {
		t.Errorf("pods %d, TLS %q", merged.MaxPods, merged.TLSMinVersion)
	}
	if merged.SystemReserved["cpu"] != "2" || merged.SystemReserved["memory"] != "1Gi" {
		t.Errorf("reserved %v", merged.SystemReserved)
	}
	if own.MaxPods != 0 || own.SystemReserved["cpu"] != "1" {
		t.Errorf("the own configuration was changed: %d, %v", own.MaxPods, own.SystemReserved)
	}

	for _, fields := range []map[string]any{
		{"maxPod": 7},
		{"maxPods": "seven"},
	} {
		_, err := Merge(own, fields)
		if err == nil || !strings.Contains(err.Error(), "maxPod") || strings.Contains(err.Error(), "unmarshaling") {
			t.Errorf("%v: %v", fields, err)
		}
	}
}

// An older kubelet gets what a person asked for, zeros too, and of Mullion's own configuration what says something.
func TestFileOfOlderKubelet(t *testing.T) {
	asked := map[string]any{
		"registryPullQPS": 0,
		"eventRecordQPS":  0,
		"healthzPort":     0,
		"volumePluginDir": "",
		"evictionHard":    map[string]any{"memory.available": "0"},
		"tlsMinVersion":   nil,
	}

	for version, zero := range map[string]bool{"v1.32.0": false, "": true} {
		k := Kubelet{OS: spec.Linux, Version: version}
		text, err := k.File(k.Configuration(), asked)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := yaml.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}

		for _, name := range []string{"registryPullQPS", "eventRecordQPS", "healthzPort"} {
			if value, there := got[name]; !there || value != 0.0 {
				t.Errorf("%q: %s is %v, %t", version, name, value, there)
			}
		}
		if eviction, _ := got["evictionHard"].(map[string]any); eviction["memory.available"] != "0" {
			t.Errorf("%q: eviction %v", version, eviction)
		}

		if _, there := got["tlsMinVersion"]; there || got["kind"] != "KubeletConfiguration" || got["failSwapOn"] != false {
			t.Errorf("%q:\n%s", version, text)
		}
		if _, there := got["syncFrequency"]; there != zero {
			t.Errorf("%q: a duration of zero of Mullion's own is there: %t", version, there)
		}
	}

	k := Kubelet{OS: spec.Linux, Version: "v1.32.0"}
	if _, err := k.File(k.Configuration(), map[string]any{"maxPodz": 0}); err == nil {
		t.Error("a field that the kubelet does not know is not refused")
	}
}

func TestProxyArgs(t *testing.T) {
	got := append(ProxyArgs("kernelspace", `C:\k\proxy.conf`, "win-1"), WindowsProxyArgs("vxlan0", "10.244.0.0/16")...)
	want := []string{
		"--proxy-mode=kernelspace",
		`--kubeconfig=C:\k\proxy.conf`,
		"--hostname-override=win-1",
		"--network-name=vxlan0",
		"--cluster-cidr=10.244.0.0/16",
		"--healthz-bind-address=127.0.0.1:10256",
		"--metrics-bind-address=127.0.0.1:10249",
		"--v=2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
