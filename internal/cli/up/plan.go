package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/bringup"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// eventsHelp says in the help of `mullion up` what -o json prints.
const eventsHelp = `With -o json each line of standard output is an event, an object with time, type and seconds:

  unit     a part of the cluster came to a state: unit, node, state
           (starting, ready, failed, stopped), seconds, message
  step     the same of what the command itself does: unit bundle or sample
  waiting  what is waited for (message), every 30 seconds at the latest
  warning  what the machine lacks and should have: unit, message, remedy
  error    why the command ends: message, remedy, code (its exit code)
  cluster  the last line: name, kubernetesVersion, nodes (name, os, address,
           windowsVersion, build, kubernetesVersion), kubeconfig, context,
           seconds, url (of the sample), registry
  plan     the last line of a dry run: as cluster, without kubeconfig

Errors and warnings are on standard error as well, for people.`

// kubernetesOf returns the version of a cluster's control plane.
func kubernetesOf(c spec.Cluster) string { return cmp.Or(c.KubernetesVersion, version.Kubernetes) }

// nodesOf describe the nodes of a cluster, in the order of its specification; none if they cannot be worked out.
func nodesOf(c spec.Cluster, paths layout.Paths) []progress.Node {
	plan, err := cluster.NewPlan(c, paths)
	if err != nil {
		return []progress.Node{} // whoever brings it up says so
	}

	nodes := map[string]progress.Node{}
	for _, h := range plan.Hosts {
		nodes[h.Name] = progress.Node{
			OS:             spec.Windows,
			Address:        h.Address.String(),
			WindowsVersion: h.Build.Name,
			Build:          h.Build.Version.String(),
			Product:        strings.TrimSuffix(h.Build.ProductName, " Datacenter"),
		}
	}

	for _, h := range plan.LinuxHosts {
		nodes[h.Name] = progress.Node{
			OS:      spec.Linux,
			Address: h.Address.String(),
			Product: "Linux",
		}
	}

	all := make([]progress.Node, 0, len(c.Nodes))
	for _, n := range c.Nodes {
		node := nodes[n.Name]
		node.Name, node.KubernetesVersion = n.Name, cmp.Or(n.KubernetesVersion, kubernetesOf(c))
		all = append(all, node)
	}

	return all
}

// dryRun prints what would be brought up, and what the machine lacks. It is an error if the cluster would not come up.
func (a *Commands) dryRun(ctx context.Context, paths layout.Paths, want spec.Cluster, f upFlags,
	r *progress.Progress,
) error {
	plan, err := cluster.NewPlan(want, paths)
	if err != nil {
		return err
	}
	text, err := plan.Text()
	if !f.out.JSON() && !f.out.Quiet {
		_, printed := fmt.Fprint(a.Env.Out, text)
		err = errors.Join(err, printed)
	}

	if err != nil {
		return err
	}
	if !f.out.Quiet {
		a.sayUnread(paths)
	}

	o := bringup.Options(a.Call, paths, want)
	if own := f.own; own != nil { // it was looked through already, and is not in its place
		o.Kubernetes = slices.DeleteFunc(o.Kubernetes, func(v string) bool { return v == own.Version })
	}

	lacks := bringup.Preflight(ctx, a.Call, a.calls.Preflight, o, r)
	r.Emit(progress.Event{Type: progress.Plan, Cluster: &progress.Cluster{
		Name:              want.Name,
		KubernetesVersion: kubernetesOf(want),
		Nodes:             nodesOf(want, paths),
	}})

	return lacks
}

// sayUnread says that there may be a cluster that this user cannot see.
func (a *Commands) sayUnread(paths layout.Paths) {
	if _, err := paths.LoadSpec(); errors.Is(err, os.ErrPermission) {
		fmt.Fprintf(a.Env.Err, "warning: %q cannot be read without root; this is about a new cluster\n", paths.Data)
	}
}
