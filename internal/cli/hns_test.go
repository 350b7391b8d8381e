package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	hnsserver "mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/spec"
)

func TestProxyHealthReadsMetrics(t *testing.T) {
	p := proxyHealth{Healthy: true}
	p.read([]byte(`# HELP kubeproxy_sync_proxy_rules_duration_seconds x
kubeproxy_sync_proxy_rules_duration_seconds_bucket{ip_family="IPv4",le="+Inf"} 4
kubeproxy_sync_proxy_rules_duration_seconds_sum{ip_family="IPv4"} 0.5
kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family="IPv4"} 4
kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"} 1.7e+09
kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv6"} 0
`))

	var b strings.Builder
	if err := p.print(&b, time.Unix(1_700_000_012, 0)); err != nil {
		t.Fatal(err)
	}
	want := "kube-proxy.exe: healthy, carried out Services 4 times, on average in 0.125 s, last 12s ago\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// withHNS gives the Windows node an HNS: the real service, in front of a network that is only remembered, and the
// agent's API on a socket. It has a switch, a pod's endpoint and a load balancer.
func (m *machine) withHNS() *dataplane.Fake {
	m.t.Helper()
	m.host()
	kernel := &dataplane.Fake{}
	quiet := slog.New(slog.DiscardHandler)
	service, err := hnsserver.Open(m.t.Context(), hnsserver.Config{
		Model:     hns.Config{Version: wire.Version{Major: 15}, Adapters: []string{"Ethernet"}},
		Store:     hnsserver.FileStore{Path: filepath.Join(m.paths.Data, "hns.json")},
		DataPlane: kernel,
		Log:       quiet,
	})
	if err != nil {
		m.t.Fatal(err)
	}

	create := func(function, object, text string) string {
		reply, err := service.Call(m.t.Context(), hns.Request{
			Function: function,
			Object:   object,
			Text:     []string{text},
		})
		if err != nil {
			m.t.Fatalf("%s: %v", function, err)
		}
		return reply.Object
	}

	network := create("HcnCreateNetwork", "", `{"Name": "cbr0", "Type": "L2Bridge", "SchemaVersion": {"Major": 2},
		"Policies": [{"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "Ethernet"}}],
		"Ipams": [{"Type": "Static", "Subnets": [{"IpAddressPrefix": "10.244.0.0/24",
			"Routes": [{"NextHop": "10.244.0.1", "DestinationPrefix": "0.0.0.0/0"}]}]}]}`)

	endpoint := create("HcnCreateEndpoint", network, `{"Name": "web", "SchemaVersion": {"Major": 2},
		"HostComputeNetwork": "`+network+`", "IpConfigurations": [{"IpAddress": "10.244.0.5", "PrefixLength": 24}]}`)
	create("HcnCreateLoadBalancer", "", `{"SchemaVersion": {"Major": 2}, "HostComputeEndpoints": ["`+endpoint+`"],
		"FrontendVIPs": ["10.96.0.10"],
		"PortMappings": [{"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80}]}`)
	service.Flush(m.t.Context())
	m.calls.hns = func(context.Context, layout.Paths, string) (hnsConn, error) { return connection{service}, nil }

	dir, err := os.MkdirTemp("", "agent") // the path of a socket has to be short
	if err != nil {
		m.t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(m.t.Context())
	m.level = logging.NewDial(logging.Info)
	looked := admin.Agent{
		HNS:   service,
		Level: m.level,
		Log:   quiet,
	}

	served := make(chan error, 1)
	go func() { served <- admin.Serve(ctx, admin.Socket(dir), looked) }()
	m.awaitFile(admin.Socket(dir))
	m.t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, os.RemoveAll(dir)); err != nil {
			m.t.Error(err)
		}
	})
	m.calls.agent = func(layout.Paths, string) (*admin.Client, error) { return admin.NewClient(admin.Socket(dir)), nil }
	return kernel
}

// connection is one to a service in this process.
type connection struct{ *hnsserver.Service }

func (connection) Close() error { return nil }

// awaitFile waits until a file is there.
func (m *machine) awaitFile(path string) {
	m.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	give := time.After(10 * time.Second)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-give:
			m.t.Fatalf("%s is not there", path)
		case <-tick.C:
		}
	}
}

// withoutIDs replaces what HNS draws by lot: the start of an ID.
func withoutIDs(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		first, rest, _ := strings.Cut(line, " ")
		if len(first) == 8 && strings.Trim(first, "0123456789ABCDEF") == "" {
			line = "XXXXXXXX " + rest
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestHNSList(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.withHNS()
	got := m.run("hns", "ls", "win-1", "networks", "LoadBalancers")
	got.out = withoutIDs(got.out)
	got.check(t, ExitOK, `NETWORK   NAME  TYPE      SUBNETS        POLICIES
XXXXXXXX  cbr0  L2Bridge  10.244.0.0/24  NetAdapterName Ethernet

LOADBALANCER  ADDRESS     PORT    TO    BACKENDS    FLAGS
XXXXXXXX      10.96.0.10  80/TCP  8080  10.244.0.5  
`, "")
	got = m.run("hns", "ls", "win-1")
	got.has(t, ExitOK, "NETWORK ", "ENDPOINT ", "NAMESPACE ", "LOADBALANCER ", "ROUTE ")
}

func TestHNSListForPrograms(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.withHNS()

	for args, want := range map[string][]string{
		"":                     {"endpoints", "loadBalancers", "namespaces", "networks"},
		"endpoint":             {"endpoints"},
		"route":                nil,
		"network loadbalancer": {"loadBalancers", "networks"},
	} {
		got := m.run(append(strings.Fields("hns ls win-1 -o json"), strings.Fields(args)...)...)
		var kinds map[string][]map[string]any
		if err := json.Unmarshal([]byte(got.out), &kinds); err != nil || got.code != ExitOK || got.err != "" {
			t.Fatalf("%q: exit code %d, %v: %s%s", args, got.code, err, got.out, got.err)
		}

		var names []string
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			names = append(names, name)
			if len(kinds[name]) != 1 || kinds[name][0]["ID"] == "" {
				t.Errorf("%q: %s are %v", args, name, kinds[name])
			}
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
}

func TestHNSShow(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.withHNS()
	for what, member := range map[string]string{
		"cbr0": `"Type": "L2Bridge"`, "10.244.0.5": `"IpAddress": "10.244.0.5"`, "10.96.0.10": `"ExternalPort": 80`,
	} {
		got := m.run("hns", "show", "win-1", what)
		if got.code != ExitOK || !json.Valid([]byte(got.out)) || !strings.Contains(got.out, "  "+member) {
			t.Errorf("show %s: exit code %d: %s%s", what, got.code, got.out, got.err)
		}
	}
	m.run("hns", "show", "win-1", "nothing").refused(t, ExitNotFound, `HNS of node win-1 has no object "nothing"`,
		"`mullion hns ls win-1` lists them")
}

func TestHNSRestart(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.withHNS()
	m.run("hns", "restart", "win-1").check(t, ExitOK, "HNS of node win-1 was restarted\n", "")
	m.calls.proxyPage = proxyPages(nil, "")
	var told hnsDiagnosis
	got := m.run("hns", "diag", "win-1", "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &told); err != nil || told.Restarts != 1 {
		t.Errorf("%v: %s", err, got.out)
	}
}

// proxyPages answer for kube-proxy.exe: /healthz with an error or none, and /metrics.
func proxyPages(health error, metrics string) func(context.Context, layout.Paths, string, string) ([]byte, error) {
	return func(_ context.Context, _ layout.Paths, node, page string) ([]byte, error) {
		switch {
		case node != "win-1":
			return nil, fmt.Errorf("asked node %s", node)
		case page == "/metrics" && metrics == "":
			return nil, errors.New("no metrics")
		case page == "/metrics":
			return []byte(metrics), nil
		}
		return nil, health
	}
}

func TestHNSDiag(t *testing.T) {
	const metrics = "kubeproxy_sync_proxy_rules_duration_seconds_count 2\n" +
		"kubeproxy_sync_proxy_rules_duration_seconds_sum 1\n"

	const whole = "  the kernel is as HNS plans it\n"
	for _, tt := range []struct {
		name    string
		change  func(*spec.Cluster)
		forget  bool
		health  error
		metrics string
		code    int
		want    string
	}{
		{
			name:    "well",
			metrics: metrics,
			want:    whole + "kube-proxy.exe: healthy, carried out Services 2 times, on average in 0.500 s, last ",
		},
		{name: "without-metrics", want: whole + "kube-proxy.exe: healthy no metrics\n"},
		{
			name:   "proxy-is-not-well",
			health: errors.New("503"),
			code:   ExitDifferent,
			want:   whole + "kube-proxy.exe: not healthy: 503\n",
		},
		{
			name:   "no-proxy-of-ours",
			change: func(c *spec.Cluster) { c.Networking.KubeProxyMode = spec.KubeProxyNone },
			health: errors.New("connection refused"),
			want:   whole + "kube-proxy.exe: Mullion runs none on this node\n",
		},
		{
			name:    "a-deployed-proxy",
			change:  func(c *spec.Cluster) { c.Networking.KubeProxyMode = spec.KubeProxyNone },
			metrics: metrics,
			want:    whole + "kube-proxy.exe: healthy, carried out Services 2 times",
		},
		{
			name:    "the-kernel-differs",
			forget:  true,
			metrics: metrics,
			code:    ExitDifferent,
			want:    "  the kernel differs from HNS' plan:\n    ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.describe(tt.change)
			kernel := m.withHNS()
			if tt.forget {
				kernel.Forget()
			}

			m.calls.proxyPage = proxyPages(tt.health, tt.metrics)
			got := m.run("hns", "diag", "win-1")
			const counts = "HNS of node win-1: 1 network, 0 pod's endpoints on the node, 1 load balancer, " +
				"0 routes to other nodes\n  up since "
			if got.code != tt.code || got.err != "" || !strings.HasPrefix(got.out, counts) ||
				!strings.Contains(got.out, "0 restarts since then\n"+tt.want) {
				t.Errorf("exit code %d, want %d:\n%s%s\nwant %s", got.code, tt.code, got.out, got.err, tt.want)
			}
		})
	}
}

// What somebody else has changed of a node's network, and its agent has put right, is told.
func TestHNSDiagTellsOfRepairs(t *testing.T) {
	var out strings.Builder
	d := hnsDiagnosis{
		Node: "win-1", Repairs: hns.Repairs{
			Count: 3,
			Last:  time.Unix(0, 0).UTC(),
			Found: []string{"missing: table"},
		},
		Proxy: &proxyHealth{Healthy: true},
	}
	if err := d.print(&out, time.Unix(60, 0)); err != nil {
		t.Fatal(err)
	}

	const want = "  somebody else has changed the network, and 3 repairs put it right, " +
		"the last at 1970-01-01T00:00:00Z: missing: table\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("it prints\n%s", out.String())
	}
}

func TestHNSOfNodesThatHaveNone(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.host()
	m.calls.hns = func(context.Context, layout.Paths, string) (hnsConn, error) {
		return nil, fmt.Errorf("%w: connect: connection refused", winhost.ErrDown)
	}
	m.calls.agent = func(layout.Paths, string) (*admin.Client, error) { return nil, winhost.ErrDown }
	for _, args := range []string{"ls win-1", "show win-1 x", "diag win-1", "restart win-1"} {
		m.run(append([]string{"hns"}, strings.Fields(args)...)...).has(t, ExitNotReady,
			"mullion: node win-1: "+winhost.ErrDown.Error(),
			"→ `mullion status` shows what is wrong with it, `mullion up` brings it back")
	}

	m.run("hns", "ls", "linux-1").refused(t, ExitUsage, "not a Windows node: linux-1",
		"a Linux node has no HNS; name a Windows node")
	m.run("hns", "ls", "win-7").refused(t, ExitNotFound, `no node "win-7"; there are linux-1, win-1`, "")
	m.run("hns", "ls").refused(t, ExitUsage, "`mullion hns ls` takes a node", "for example: mullion hns ls win-1")
	m.run("hns", "ls", "win-1", "pods").refused(t, ExitUsage, `no kind "pods"`,
		"there are: network, endpoint, namespace, loadbalancer, route")
	m.run("hns", "diag", "win-1", "-o", "xml").refused(t, ExitUsage, `--output "xml" is neither text nor json`,
		"see `mullion hns diag --help`")
	m.env.Euid = 1000
	m.run("hns", "restart", "win-1").refused(t, ExitRequirement,
		"this needs root, as it restarts a service of the node's host: sudo BIN/mullion --data-dir DATA hns restart win-1", "")
}

// TestHNSTrace: a call that a program makes is told as it comes, until the person leaves.
func TestHNSTrace(t *testing.T) {
	for name, tt := range map[string]struct {
		whole bool
		want  string
	}{
		"a line": {false, "15:04:05.000  1.5ms HcnCreateEndpoint AAAA {\"Name\": \"web\"} → BBBB\n"},
		"whole":  {true, "15:04:05.000  1.5ms HcnCreateEndpoint AAAA → BBBB\n    {\"Name\": \"web\"}\n    → {\"ID\": \"BBBB\"}\n"},
	} {
		var b strings.Builder
		err := printCall(&b, hns.TracedCall{
			At:   time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
			Took: 1500 * time.Microsecond, Function: "HcnCreateEndpoint", Object: "AAAA", Made: "BBBB",
			Text: []string{"{\"Name\":\n \"web\"}"}, Reply: "{\"ID\": \"BBBB\"}",
		}, tt.whole)
		if got := b.String(); err != nil || got != tt.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, tt.want, err)
		}
	}

	m := newMachine(t)
	m.run("hns", "trace").has(t, ExitUsage, "mullion: `mullion hns trace` takes NODE")
	m.withHNS()
	m.run("hns", "trace", "nobody").has(t, ExitNotFound, "mullion:")
}
