package hns

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/node/agent/admin"
)

// diagnosis is the output of `mullion hns diag`.
type diagnosis struct {
	Node        string       `json:"node"`
	Networks    int          `json:"networks"`
	Endpoints   int          `json:"attachedEndpoints"`
	Balancers   int          `json:"loadBalancers"`
	Peers       int          `json:"peers"`
	Differences []string     `json:"differences"`
	Restarts    int          `json:"restarts"`
	Started     time.Time    `json:"started"`
	Repairs     hns.Repairs  `json:"repairs"`
	Withheld    []string     `json:"withheld,omitempty"`
	Proxy       *proxyHealth `json:"kubeProxy,omitempty"`
}

// proxyHealth is the health and metrics of a node's kube-proxy.exe.
type proxyHealth struct {
	Healthy bool   `json:"healthy"`
	Problem string `json:"problem,omitempty"`
	// LastSync is when kube-proxy last synchronized Services, Syncs how often it did, SyncSeconds how long that took in
	// all.
	LastSync    time.Time `json:"lastSync,omitzero"`
	Syncs       int       `json:"syncs"`
	SyncSeconds float64   `json:"syncSeconds"`
}

func (a *commands) diag() *cobra.Command {
	var output string

	cmd := &cobra.Command{
		Use:   "diag NODE",
		Short: "Compare a node's network with the plan of its HNS, and check the health of kube-proxy.exe",
		Long: `Compares what HNS plans for the kernel (switches, pods' interfaces, load balancers, routes to other nodes) with what the
kernel has. It also asks kube-proxy.exe whether it is healthy and when it last carried out Services (/healthz and
/metrics on the node's loopback). The node's agent corrects a difference within seconds; please report one that
stays. The exit code is 7 if there is a difference, or if kube-proxy is not healthy.`,
		Args:              cmdline.Exactly("NODE"),
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.diagnose(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if output == "json" {
				err = json.NewEncoder(a.Env.Out).Encode(d)
			} else {
				err = d.print(a.Env.Out, time.Now())
			}

			if err == nil && (len(d.Differences) > 0 || (d.Proxy != nil && !d.Proxy.Healthy)) {
				err = exit.Silent(exit.Different)
			}

			return err
		},
	}

	cmdline.Output(cmd, &output)
	return cmd
}

func (a *commands) diagnose(ctx context.Context, node string) (diagnosis, error) {
	paths, c, err := a.Described(ctx)
	if err != nil {
		return diagnosis{}, err
	}
	told, err := a.ask(ctx, paths, node)
	if err != nil {
		return diagnosis{}, err
	}

	d := diagnosisOf(node, told)
	switch {
	case c.Networking.KubeProxy() && !slices.Contains(c.Bare(), node):
		d.Proxy = a.askProxy(ctx, paths, node)
	case c.Networking.Mode.Services(): // one that was deployed answers there too, unless it was told otherwise
		if p := a.askProxy(ctx, paths, node); p.Healthy {
			d.Proxy = p
		}
	}

	return d, nil
}

// ask returns what the agent of a node says of its HNS.
func (a *commands) ask(ctx context.Context, paths layout.Paths, node string) (admin.Diagnosis, error) {
	if a.Reads() {
		var told admin.Diagnosis
		err := a.Ask(ctx, paths, view.Path("hns", node, "diagnosis"), nil, &told)
		return told, err
	}
	if err := a.knowsNode(paths, node); err != nil {
		return admin.Diagnosis{}, err
	}

	agent, err := a.calls.Agent(paths, node)
	if err != nil {
		return admin.Diagnosis{}, remedy.HNS(node, err)
	}
	told, err := agent.Diagnose(ctx)
	if err != nil {
		return told, fmt.Errorf("look into HNS of node %s: %w", node, err)
	}

	return told, nil
}

// proxyPage returns a page of a node's kube-proxy.
func (a *commands) proxyPage(ctx context.Context, paths layout.Paths, node, page string) ([]byte, error) {
	if !a.Reads() {
		return a.calls.ProxyPage(ctx, paths, node, page)
	}
	answer, err := a.View(paths).Open(ctx, view.Path("proxy", node, strings.TrimPrefix(page, "/")), nil)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer)
	return text, errors.Join(err, answer.Close())
}

func diagnosisOf(node string, told admin.Diagnosis) diagnosis {
	return diagnosis{
		Node:        node,
		Networks:    len(told.Plan.Bridges),
		Endpoints:   len(told.Plan.Ports),
		Balancers:   len(told.Plan.LoadBalancers),
		Peers:       len(told.Plan.Peers),
		Differences: told.Differences,
		Restarts:    told.Restarts,
		Started:     told.Started,
		Repairs:     told.Repairs,
		Withheld:    told.Withheld,
	}
}

func (a *commands) askProxy(ctx context.Context, paths layout.Paths, node string) *proxyHealth {
	p := &proxyHealth{}
	if _, err := a.proxyPage(ctx, paths, node, "/healthz"); err != nil {
		p.Problem = err.Error()
		return p
	}

	p.Healthy = true
	metrics, err := a.proxyPage(ctx, paths, node, "/metrics")
	if err != nil {
		p.Problem = err.Error()
		return p
	}
	p.read(metrics)
	return p
}

// read reads the figures from kube-proxy's metrics, of all IP families; the names are from
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/proxy/metrics/metrics.go.
func (p *proxyHealth) read(metrics []byte) {
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		v, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			continue
		}

		switch name {
		case "kubeproxy_sync_proxy_rules_duration_seconds_count":
			p.Syncs += int(v)
		case "kubeproxy_sync_proxy_rules_duration_seconds_sum":
			p.SyncSeconds += v
		case "kubeproxy_sync_proxy_rules_last_timestamp_seconds":
			if at := time.Unix(0, int64(v*1e9)); at.After(p.LastSync) && v > 0 {
				p.LastSync = at
			}
		}
	}
}

func (d diagnosis) print(w io.Writer, now time.Time) error {
	fmt.Fprintf(w, "HNS of node %s: %s, %s on the node, %s, %s to other nodes\n", d.Node,
		count(d.Networks, "network"), count(d.Endpoints, "pod's endpoint"), count(d.Balancers, "load balancer"),
		count(d.Peers, "route"))
	fmt.Fprintf(w, "  up since %s, %s since then\n", d.Started.Format(time.RFC3339), count(d.Restarts, "restart"))
	if r := d.Repairs; r.Count > 0 {
		fmt.Fprintf(w, "  somebody else has changed the network, and %s put it right, the last at %s: %s\n",
			count(r.Count, "repair"), r.Last.Format(time.RFC3339), strings.Join(r.Found, "; "))
	}

	for _, text := range d.Withheld {
		fmt.Fprintf(w, "  not carried out, so that the control plane reaches the node: %s\n", text)
	}

	if len(d.Differences) == 0 {
		fmt.Fprintln(w, "  the kernel is as HNS plans it")
	} else {
		fmt.Fprintln(w, "  the kernel differs from HNS' plan:")
	}

	for _, text := range d.Differences {
		fmt.Fprintf(w, "    %s\n", text)
	}

	return d.Proxy.print(w, now)
}

func (p *proxyHealth) print(w io.Writer, now time.Time) error {
	var err error
	switch {
	case p == nil:
		_, err = fmt.Fprintln(w, "kube-proxy.exe: Mullion runs none on this node")
	case !p.Healthy:
		_, err = fmt.Fprintf(w, "kube-proxy.exe: not healthy: %s\n", p.Problem)
	case p.Syncs == 0:
		_, err = fmt.Fprintf(w, "kube-proxy.exe: healthy %s\n", p.Problem)
	default:
		_, err = fmt.Fprintf(
			w, "kube-proxy.exe: healthy, carried out Services %d times, on average in %.3f s, last %s ago\n",
			p.Syncs, p.SyncSeconds/float64(p.Syncs), now.Sub(p.LastSync).Round(time.Second))
	}

	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
