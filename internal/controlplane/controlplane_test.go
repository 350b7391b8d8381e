package controlplane_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/process/component"
)

func config() controlplane.Config {
	return controlplane.Config{
		Name:          "mullion",
		Programs:      "/opt/mullion/kubernetes",
		Dir:           "/var/lib/mullion",
		RunDir:        "/run/mullion",
		LogDir:        "/var/lib/mullion/logs",
		Address:       netip.MustParseAddrPort("10.213.0.1:6443"),
		ExtraSANs:     []string{"192.0.2.7", "builder.example"},
		PodSubnet:     netip.MustParsePrefix("10.244.0.0/16"),
		ServiceSubnet: netip.MustParsePrefix("10.96.0.0/16"),
		After:         component.Soles("fabric"),
	}
}

func TestFlags(t *testing.T) {
	for _, name := range []string{
		controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager,
		controlplane.Scheduler,
	} {
		t.Run(name, func(t *testing.T) {
			golden.Assert(t, strings.Join(config().Flags(name), "\n")+"\n", name+".flags")
		})
	}
}

// TestOldFlags: what the programs of Kubernetes 1.20 are told otherwise than today's.
func TestOldFlags(t *testing.T) {
	old := config()
	old.Version = "v1.20.15"
	spare := old
	spare.Etcd = "/opt/mullion/v1.37.1/etcd" // of the version that Mullion comes with
	const etcd = "unix:///run/mullion/etcd/"

	for _, tt := range []struct {
		unit        string
		c           controlplane.Config
		more, fewer []string
	}{
		{
			controlplane.Etcd, old,
			[]string{"--listen-client-urls=unix://client.sock:0", "--listen-peer-urls=unix://peer.sock:0"},
			[]string{
				"--listen-client-urls=" + etcd + "client.sock", "--listen-client-http-urls=" + etcd + "http.sock",
				"--listen-peer-urls=" + etcd + "peer.sock",
			},
		},
		{controlplane.Etcd, spare, nil, nil},
		{
			controlplane.APIServer, old,
			[]string{"--etcd-servers=" + etcd + "client.sock:0"},
			[]string{"--etcd-servers=" + etcd + "client.sock"},
		},
		{controlplane.APIServer, spare, nil, nil},
		{controlplane.ControllerManager, old, []string{"--port=0"}, nil},
		{controlplane.Scheduler, old, []string{"--port=0"}, nil},
	} {
		was, got := config().Flags(tt.unit), tt.c.Flags(tt.unit)
		more := slices.DeleteFunc(slices.Clone(got), func(f string) bool { return slices.Contains(was, f) })
		fewer := slices.DeleteFunc(slices.Clone(was), func(f string) bool { return slices.Contains(got, f) })
		if !slices.Equal(more, tt.more) || !slices.Equal(fewer, tt.fewer) {
			t.Errorf("%s: %q more, want %q; %q fewer, want %q", tt.unit, more, tt.more, fewer, tt.fewer)
		}
	}
}

func TestDualStackFlags(t *testing.T) {
	c := config()
	c.PodSubnet6 = netip.MustParsePrefix("fd00:10:244::/56")
	if err := c.Validate(); err == nil {
		t.Error("pods of IPv6 without Services of IPv6")
	}
	c.ServiceSubnet6 = netip.MustParsePrefix("fd00:10:96::/112")
	if err := c.Validate(); err != nil {
		t.Error(err)
	}

	had := map[string]bool{}
	for _, f := range slices.Concat(config().Flags(controlplane.APIServer),
		config().Flags(controlplane.ControllerManager)) {
		had[f] = true
	}

	var got []string
	for _, f := range slices.Concat(c.Flags(controlplane.APIServer), c.Flags(controlplane.ControllerManager)) {
		if !had[f] {
			got = append(got, f)
		}
	}

	want := []string{
		"--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112", "--cluster-cidr=10.244.0.0/16,fd00:10:244::/56",
		"--node-cidr-mask-size-ipv4=24", "--node-cidr-mask-size-ipv6=64",
		"--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags of dual stack alone (-want +got):\n%s", diff)
	}
}

func TestUnits(t *testing.T) {
	units, err := controlplane.Units(config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := component.Order(units); err == nil || !strings.Contains(err.Error(), `"fabric"`) {
		t.Errorf("nothing waits for the units of After: %v", err)
	}

	c := config()
	c.After = nil
	if units, err = controlplane.Units(c); err != nil {
		t.Fatal(err)
	}
	order, err := component.Order(units)
	if err != nil {
		t.Fatal(err)
	}

	want := component.Soles(
		"certificates", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "bootstrap",
		"serving-approver",
	)
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestSANs(t *testing.T) {
	got := config().SANs()
	wantIPs := []string{"127.0.0.1", "10.213.0.1", "10.96.0.1", "192.0.2.7"}
	if diff := cmp.Diff(wantIPs, got.IPs); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}

	wantDNS := []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"localhost", "builder.example",
	}
	if diff := cmp.Diff(wantDNS, got.DNS); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*controlplane.Config)
		want  string
	}{
		{"programs", func(c *controlplane.Config) { c.Programs = "" }, "Programs is not set"},
		{"address", func(c *controlplane.Config) { c.Address = netip.AddrPort{} }, "Address is not set"},
		{
			"pods", func(c *controlplane.Config) { c.PodSubnet = netip.MustParsePrefix("10.244.0.0/25") },
			"no room for a /24",
		},
		{"socket", func(c *controlplane.Config) { c.RunDir = "/" + strings.Repeat("x", 100) }, "107 are possible"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config()
			tt.spoil(&c)
			if _, err := controlplane.Units(c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
