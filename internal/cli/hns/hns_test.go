package hns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/spec"
)

// machine is one with these commands.
type machine struct {
	*clitest.Machine

	calls Calls
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r, m.calls)} }
	return m
}

// withHNS gives the Windows node an HNS.
func (m *machine) withHNS() *dataplane.Fake {
	served := m.ServeHNS()
	m.calls.HNS = func(context.Context, layout.Paths, string) (Conn, error) { return served, nil }
	m.calls.Agent = served.Agent
	return served.Kernel
}

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
	m.Describe(nil)
	m.withHNS()
	got := m.Run("hns", "ls", "win-1", "networks", "LoadBalancers")
	got.Out = withoutIDs(got.Out)
	got.Check(t, exit.OK, `NETWORK   NAME  TYPE      SUBNETS        POLICIES
XXXXXXXX  cbr0  L2Bridge  10.244.0.0/24  NetAdapterName Ethernet

LOADBALANCER  ADDRESS     PORT    TO    BACKENDS    FLAGS
XXXXXXXX      10.96.0.10  80/TCP  8080  10.244.0.5  
`, "")
	got = m.Run("hns", "ls", "win-1")
	got.Has(t, exit.OK, "NETWORK ", "ENDPOINT ", "NAMESPACE ", "LOADBALANCER ", "ROUTE ")
}

func TestHNSListForPrograms(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.withHNS()

	for args, want := range map[string][]string{
		"":                     {"endpoints", "loadBalancers", "namespaces", "networks"},
		"endpoint":             {"endpoints"},
		"route":                nil,
		"network loadbalancer": {"loadBalancers", "networks"},
	} {
		got := m.Run(append(strings.Fields("hns ls win-1 -o json"), strings.Fields(args)...)...)
		var kinds map[string][]map[string]any
		if err := json.Unmarshal([]byte(got.Out), &kinds); err != nil || got.Code != exit.OK || got.Err != "" {
			t.Fatalf("%q: exit code %d, %v: %s%s", args, got.Code, err, got.Out, got.Err)
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
	m.Describe(nil)
	m.withHNS()
	for what, member := range map[string]string{
		"cbr0": `"Type": "L2Bridge"`, "10.244.0.5": `"IpAddress": "10.244.0.5"`, "10.96.0.10": `"ExternalPort": 80`,
	} {
		got := m.Run("hns", "show", "win-1", what)
		if got.Code != exit.OK || !json.Valid([]byte(got.Out)) || !strings.Contains(got.Out, "  "+member) {
			t.Errorf("show %s: exit code %d: %s%s", what, got.Code, got.Out, got.Err)
		}
	}
	m.Run("hns", "show", "win-1", "nothing").Refused(t, exit.NotFound, `HNS of node win-1 has no object "nothing"`,
		"`mullion hns ls win-1` lists them")
}

func TestHNSRestart(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.withHNS()
	m.Run("hns", "restart", "win-1").Check(t, exit.OK, "HNS of node win-1 was restarted\n", "")
	m.calls.ProxyPage = proxyPages(nil, "")
	var told diagnosis
	got := m.Run("hns", "diag", "win-1", "-o", "json")
	if err := json.Unmarshal([]byte(got.Out), &told); err != nil || told.Restarts != 1 {
		t.Errorf("%v: %s", err, got.Out)
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
			code:   exit.Different,
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
			code:    exit.Different,
			want:    "  the kernel differs from HNS' plan:\n    ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.Describe(tt.change)
			kernel := m.withHNS()
			if tt.forget {
				kernel.Forget()
			}

			m.calls.ProxyPage = proxyPages(tt.health, tt.metrics)
			got := m.Run("hns", "diag", "win-1")
			const counts = "HNS of node win-1: 1 network, 0 pod's endpoints on the node, 1 load balancer, " +
				"0 routes to other nodes\n  up since "
			if got.Code != tt.code || got.Err != "" || !strings.HasPrefix(got.Out, counts) ||
				!strings.Contains(got.Out, "0 restarts since then\n"+tt.want) {
				t.Errorf("exit code %d, want %d:\n%s%s\nwant %s", got.Code, tt.code, got.Out, got.Err, tt.want)
			}
		})
	}
}

// What somebody else has changed of a node's network, and its agent has put right, is told.
func TestHNSDiagTellsOfRepairs(t *testing.T) {
	var out strings.Builder
	d := diagnosis{
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
	m.Describe(nil)
	m.Host()
	m.calls.HNS = func(context.Context, layout.Paths, string) (Conn, error) {
		return nil, fmt.Errorf("%w: connect: connection refused", winhost.ErrDown)
	}

	m.calls.Agent = func(layout.Paths, string) (*admin.Client, error) { return nil, winhost.ErrDown }
	for _, args := range []string{"ls win-1", "show win-1 x", "diag win-1", "restart win-1"} {
		m.Run(append([]string{"hns"}, strings.Fields(args)...)...).Has(t, exit.NotReady,
			"mullion: node win-1: "+winhost.ErrDown.Error(),
			"→ `mullion status` shows what is wrong with it, `mullion up` brings it back")
	}

	m.Run("hns", "ls", "linux-1").Refused(t, exit.Usage, "not a Windows node: linux-1",
		"a Linux node has no HNS; name a Windows node")
	m.Run("hns", "ls", "win-7").Refused(t, exit.NotFound, `no node "win-7"; there are linux-1, win-1`, "")
	m.Run("hns", "ls").Refused(t, exit.Usage, "`mullion hns ls` takes a node", "for example: mullion hns ls win-1")
	m.Run("hns", "ls", "win-1", "pods").Refused(t, exit.Usage, `no kind "pods"`,
		"there are: network, endpoint, namespace, loadbalancer, route")
	m.Run("hns", "diag", "win-1", "-o", "xml").Refused(t, exit.Usage, `--output "xml" is neither text nor json`,
		"see `mullion hns diag --help`")
	m.Env.Euid = 1000
	m.Run("hns", "restart", "win-1").Refused(t, exit.Requirement,
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
	m.Run("hns", "trace").Has(t, exit.Usage, "mullion: `mullion hns trace` takes NODE")
	m.withHNS()
	m.Run("hns", "trace", "nobody").Has(t, exit.NotFound, "mullion:")
}

// TestReader: who is not root reads what the node's HNS has by the cluster's socket.
func TestReader(t *testing.T) {
	m := newMachine(t)
	m.ReadBy(clitest.Answers{
		"hns/{node}":       clitest.Said(`{"networks": [{"ID": "4F2A", "Name": "cbr0", "Type": "L2Bridge"}]}`),
		"hns/{node}/trace": clitest.Said(`{"at": "2026-01-02T03:04:05Z", "function": "HcnCreateEndpoint"}` + "\n"),
	})

	m.Run("hns", "ls", "win-1", "network").Has(t, exit.OK, "4F2A")
	m.Run("hns", "show", "win-1", "cbr0").Has(t, exit.OK, "{")
	m.Run("hns", "show", "win-1", "none").Has(t, exit.NotFound, `mullion: HNS of node win-1 has no object "none"`)
	m.Run("hns", "trace", "win-1").Has(t, exit.Internal, "03:04:05.000", "mullion: read what the node's agent tells: ")
}

// TestNodeThatIsNotMadeYet holds that a cluster that was described and not brought up, or is being brought up, is not
// said to be none.
func TestNodeThatIsNotMadeYet(t *testing.T) {
	for name, folder := range map[string]bool{"no-folder": false, "empty-folder": true} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Describe(nil)
			if folder {
				if err := os.MkdirAll(m.Paths.Node("win-1"), 0o755); err != nil {
					t.Fatal(err)
				}
			}

			for _, args := range []string{"hns ls win-1", "hns diag win-1"} {
				got := m.Run(strings.Fields(args)...)
				if got.Code != exit.NotReady || !strings.Contains(got.Err, "→ `mullion ") ||
					strings.Contains(got.Err, "no cluster") {
					t.Errorf("%s: exit code %d, said %s", args, got.Code, got.Err)
				}
			}
		})
	}
}
