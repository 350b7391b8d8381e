package nettest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/spec"
)

const (
	// settling is how long a flow that must be answered is tried: every node takes some time to set up Services, and on
	// a busy machine single calls come too late.
	settling = 90 * time.Second
	// namesSettle is how long the cluster's DNS may take to learn of Zone: it looks every 5 s, and loads what changed
	// within 7 s.
	namesSettle = 30 * time.Second
	// atOnce bounds the flows under way at a time: each test pod is a single process, and the machine may be small.
	atOnce = 6
)

// Config says what is tested, from where, and which functions report progress.
type Config struct {
	Client  kubeclient.Interface
	REST    *rest.Config // the configuration of Client, for running ping in pods
	Mode    spec.Mode
	Profile spec.Profile
	Nodes   []Node
	Outside Outside
	// Only matches the names of the flows to carry out; nil: all flows.
	Only *regexp.Regexp
	// Image and LinuxImage are references of images with agnhost.
	Image, LinuxImage string
	// Domain is the cluster's DNS domain, DNS the address of its server on the underlay; the server must ask the
	// outside for names in Zone.
	Domain string
	DNS    netip.Addr
	// Step is called with the step that begins, Done with each flow's result; both may be called from several
	// goroutines.
	Step func(text string)
	Done func(done, all int, r Result)
}

// ErrNoFlow means that Config.Only matches no flow of the cluster's.
var ErrNoFlow = errors.New("no flow has such a name")

// Run makes the pods and Services, carries out the flows, and removes what it made, also when ctx ends.
func Run(ctx context.Context, cfg Config) (report Report, err error) {
	report = Report{Mode: cfg.Mode, Profile: cfg.Profile}
	b, err := newBed(cfg)
	if err != nil {
		return report, err
	}
	flows, err := chosen(cfg, b.dual())
	if err != nil {
		return report, err
	}

	var undo cleanup.Stack
	defer func() { err = errors.Join(err, undo.Clean()) }()
	undo.Add(func() error {
		cfg.Step("removing pods and Services")
		return b.remove(context.WithoutCancel(ctx))
	})

	cfg.Step("starting pods and Services")
	if err := b.serve(ctx, &undo); err != nil {
		return report, err
	}
	if err := b.make(ctx); err != nil {
		return report, err
	}
	cfg.Step("asking")
	report.Results = b.all(ctx, flows)

	return report, ctx.Err()
}

// chosen returns the flows of the cluster's mode that cfg.Only matches; dual adds those over IPv6.
func chosen(cfg Config, dual bool) ([]Flow, error) {
	flows := flowsOf(cfg.Mode, cfg.Profile, dual)
	if cfg.Only == nil {
		return flows, nil
	}
	flows = slices.DeleteFunc(flows, func(f Flow) bool { return !cfg.Only.MatchString(f.Name) })
	if len(flows) == 0 {
		return nil, fmt.Errorf("choose flows that match %q: %w", cfg.Only, ErrNoFlow)
	}
	return flows, nil
}

// serve starts the servers of the nodes and of the outside.
func (b *bed) serve(ctx context.Context, undo *cleanup.Stack) error {
	for _, place := range []string{nodeOne, nodeTwo, nodeLinux, outside} {
		if b.address(place) == "" {
			continue
		}
		addresses := []netip.Addr{netip.MustParseAddr(b.address(place))}
		if six := b.over6().address(place); six != "" {
			addresses = append(addresses, netip.MustParseAddr(six))
		}

		if place == outside {
			addresses = append(addresses, FarAddress())
		}

		if place == outside && b.dual() {
			addresses = append(addresses, FarAddress6())
		}
		s, err := serve(ctx, b.place(place), place, addresses)
		if err != nil {
			return err
		}
		undo.Add(s.close)
	}

	n, err := serveNames(ctx, b.cfg.Outside.Netns, b.cfg.Outside.Address)
	if err != nil {
		return err
	}
	undo.Add(n.close)
	return nil
}

// job is one flow over one protocol.
type job struct {
	flow     Flow
	protocol Protocol
	index    int
}

// all carries the flows out: first those that must be answered, which shows that the nodes have set up the Services,
// then those that must not.
func (b *bed) all(ctx context.Context, flows []Flow) []Result {
	var jobs []job
	for _, f := range flows {
		for _, p := range f.Protocols {
			jobs = append(jobs, job{f, p, len(jobs)})
		}
	}

	results := make([]Result, len(jobs))
	done := 0
	var mu sync.Mutex
	for _, failing := range []bool{false, true} {
		var wg sync.WaitGroup
		slots := make(chan struct{}, atOnce)
		for _, j := range jobs {
			if j.flow.want.none != failing {
				continue
			}

			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				r := b.result(ctx, j)
				mu.Lock()
				defer mu.Unlock()
				results[j.index] = r
				done++
				b.cfg.Done(done, len(jobs), r)
			})
		}

		wg.Wait()
	}

	return results
}

// result carries one flow out, and judges it.
func (b *bed) result(ctx context.Context, j job) Result {
	f := j.flow
	if f.six {
		b = b.over6()
	}
	if f.older != nil && !b.one.Server2022 {
		f.want = *f.older
	}

	r := Result{
		Flow:     f.Name,
		Protocol: j.protocol,
		Expected: f.want.String(),
		Source:   f.source,
	}

	why := b.lacks(f.needs)
	if why == "" && f.six {
		why = b.lacks6(f)
	}
	if why != "" {
		r.Outcome, r.Seen = Skipped, why
		return r
	}

	addresses := b.addresses(f.from)
	settled := time.Now().Add(settling)
	for {
		started := time.Now()
		got := b.carry(ctx, f, j.protocol)
		r.Took = time.Since(started)
		r.Seen = got.String()
		r.Outcome = Different
		switch {
		case f.want.meets(got, addresses):
			r.Outcome = AsDocumented
			return r
		case f.want.none || ctx.Err() != nil || time.Now().After(settled):
			return r
		}

		select {
		case <-ctx.Done():
			return r
		case <-time.After(pollingStep):
		}
	}
}

// addresses maps the words for a client's address (clientOwn, clientNode) to a caller's addresses.
func (b *bed) addresses(from string) map[string]string {
	if _, ok := b.pods[from]; ok {
		return map[string]string{clientOwn: b.pod(from), clientNode: b.address(placeOf(from))}
	}
	return map[string]string{clientOwn: b.address(from), clientNode: b.address(from)}
}

// lacks6 returns the reason if a flow over IPv6 needs a node that has IPv4 only, else "".
func (b *bed) lacks6(f Flow) string {
	nodes := []*Node{b.one}
	if f.needs.twoNodes {
		nodes = append(nodes, b.two)
	}
	for _, n := range nodes {
		if !n.Address6.IsValid() {
			return fmt.Sprintf("node %s has IPv4 only: Windows has dual stack from build 19041 on", n.Name)
		}
	}
	return ""
}

// lacks returns what a flow needs and this cluster does not have, else "".
func (b *bed) lacks(n need) string {
	switch {
	case n.twoNodes && b.two == nil:
		return "there is one Windows node only"
	case n.dns && !b.dns:
		return "the cluster has no DNS: Service kube-system/kube-dns has no ready endpoint"
	case n.linux && b.linux == nil:
		return "there is no Linux node"
	case n.ingress != "" && b.service(n.ingress).ingress == "":
		return "the cluster's controller gave Service " + b.host(n.ingress) + " no address; `kubectl describe` it, networking.loadBalancerPool may be full"
	case n.affinity && !b.one.Server2022:
		return fmt.Sprintf("session affinity came with Windows Server 2022; node %s is older", b.one.Name)
	}

	return ""
}
