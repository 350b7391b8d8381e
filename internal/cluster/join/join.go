// Package join adds this machine's nodes to a cluster on another machine, and takes them out again. It owns the
// protocol: how the cluster is found and trusted, the machine's claim, its records in the data folder, the rights and
// certificates that nodes of kubeadm's clusters wait for, and what is undone when a join does not succeed. Package
// cluster brings the nodes up.
//
//	reach ─▶ recover ─▶ prepare ─▶ claim ─▶ cluster.Start ─▶ (grant)
//	                                │ on failure: undo = Stop, Leave, Down
//
// The records, from before there is anything of the machine in the cluster:
//
//	join/ca.crt                 the cluster's authority
//	join/bootstrap.kubeconfig   the token that the machine joined by
//	join/claim.json             the part of the underlay that it has, or was about to claim
//	join/nodes/NODE/            the certificate of a node that could not be deleted when a join was taken back
package join

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/spec"
)

// undoTimeout bounds the removal of what a join made that did not succeed.
const undoTimeout = 2 * time.Minute

// askEvery is the pause between two questions to the API for something that takes seconds.
const askEvery = 300 * time.Millisecond

// leaveTimeout bounds the part of that in the cluster, which may not answer any more.
const leaveTimeout = 20 * time.Second

// Options is what Join needs.
type Options struct {
	// Discovery says which cluster to join, unless Kubeconfig is set.
	Discovery discovery.Config
	// Kubeconfig is a file that says which cluster to join: an administrator's, or one with a bootstrap token. Server
	// is the host:port by which nodes reach the API server, if that is not the one in the file.
	Kubeconfig, Server string
	// Address is where other machines reach this one; the zero Addr: the one from which this machine reaches the
	// server.
	Address netip.Addr
	// Nodes are what the machine adds. NodeAddresses are their addresses on the machine's network, one for each, in a
	// cluster that Mullion did not make, and none in one that it made. A node that names a version of Kubernetes has
	// that of a bundle in the data folder or beside Mullion's programs; others have the cluster's, or Mullion's own in
	// a cluster that Mullion did not make.
	Nodes         []spec.Node
	NodeAddresses []netip.Addr
	// KubeProxyMode and DisableDefaultCNI are as in spec.Networking, for nodes in a cluster that Mullion did not make:
	// its DaemonSets may install what they leave out. A cluster that Mullion made has them in its own specification.
	KubeProxyMode     spec.KubeProxyMode
	DisableDefaultCNI bool
	// Wine is as in spec.Cluster, of this machine.
	Wine string

	Paths      layout.Paths
	Executable string
	Environ    []string
	Progress   func(cluster.Progress)
	// Said gets a line for each step before the nodes are started.
	Said func(string)
	// Retain keeps what a join that did not succeed has made, to be looked at.
	Retain bool
}

// ErrNodeAddresses says that the join named addresses for nodes although it must not, or named none although it must.
var ErrNodeAddresses = errors.New("the nodes' addresses are not as this cluster needs them")

// ErrDeployed says that a machine must not choose whether nodes have a kube-proxy and a CNI plugin: the cluster has
// chosen for all nodes.
var ErrDeployed = errors.New(
	"this cluster's cluster.yaml says for all nodes whether they have Mullion's kube-proxy and CNI plugin")

// ErrLeft says that a join did not succeed and that something of it is still in the cluster; the machine remembers
// that.
var ErrLeft = errors.New("something of the join is left in the cluster")

// Join adds nodes on this machine to a cluster on another machine and returns when they are Ready. A join that fails
// leaves nothing behind, neither here nor in the cluster, unless Options.Retain is set. If the server does not answer,
// something may stay in the cluster; the next Join or Leave removes it.
func Join(ctx context.Context, o Options) (spec.Cluster, error) {
	ctx, held, err := cluster.Hold(ctx, o.Paths)
	if err != nil {
		return spec.Cluster{}, err
	}
	defer held.Release()
	if have, err := Vacant(o.Paths); err != nil {
		return have, err
	}

	j := &joining{
		Options: o,
		machine: thisMachine{},
		holder:  rand.Text(),
	}
	if err := j.reach(ctx); err != nil {
		return spec.Cluster{}, explained(err)
	}

	return j.finish(ctx)
}

// Vacant returns a cluster.ConflictError where a data folder has a cluster, or a machine of one, with what has it.
func Vacant(paths layout.Paths) (have spec.Cluster, err error) {
	have, err = paths.LoadSpec()
	switch {
	case err == nil:
		return have, &cluster.ConflictError{
			Err:    fmt.Errorf("data folder %q holds a cluster or a machine of one already: %q", paths.Data, have.Name),
			Remedy: "`mullion up` brings it back; `mullion leave` or `mullion down` removes it; or use another --data-dir",
		}

	case !errors.Is(err, os.ErrNotExist):
		return have, &cluster.ConflictError{
			Err:    fmt.Errorf("data folder %q holds a cluster or a machine of one already: %w", paths.Data, err),
			Remedy: "use the version of Mullion that made it; or `mullion down` removes it; or use another --data-dir",
		}
	}

	return have, nil
}

// finish joins the cluster that was reached; if that does not succeed, it removes what it made.
func (j *joining) finish(ctx context.Context) (spec.Cluster, error) {
	c, err := j.join(ctx)
	dropErr := j.dropToken(ctx)
	if err == nil {
		if dropErr != nil { // no reason to take the nodes out again
			j.Said(fmt.Sprintf("the token made for the join could not be removed; it expires within %s: %v", joinTokenLife,
				dropErr))
		}
		return c, nil
	}

	err = explained(errors.Join(err, dropErr))
	if j.Retain || !j.prepared || errors.Is(err, cluster.ErrTakenDown) {
		return c, err
	}
	defer interrupt.Finishing(ctx)()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	return c, errors.Join(err, j.undo(ctx))
}

// explained adds to an error about a certificate that is not valid yet, or any more, what the clocks say. Discovery
// does that itself; a join by a kubeconfig makes no discovery.
func explained(err error) error { return discovery.ExplainClock(err, time.Now(), time.Time{}) }

// joining is a join under way.
type joining struct {
	Options
	machine machine
	found   discovery.Cluster
	token   bootstrap.Token // kubelets ask for their certificates with it
	// client has the rights of the administrator if admin is set, else those of the token.
	client   kubeclient.Interface
	admin    bool
	holder   string
	prepared bool // there is something that undo has to remove
}

// join joins the cluster, of whatever kind it is.
func (j *joining) join(ctx context.Context) (spec.Cluster, error) {
	if err := j.recover(ctx); err != nil {
		return spec.Cluster{}, err
	}
	if !j.Address.IsValid() {
		var err error
		if j.Address, err = sourceAddress(j.found.Server); err != nil {
			return spec.Cluster{}, err
		}
	}

	c, err := machines.Specification(ctx, j.client)
	switch {
	case errors.Is(err, machines.ErrForeign):
		return j.runForeign(ctx, err)
	case err != nil:
		return c, err
	case j.KubeProxyMode != "" || j.DisableDefaultCNI:
		return c, fmt.Errorf("join cluster %q: %w", c.Name, ErrDeployed)
	case len(j.NodeAddresses) > 0:
		return c, fmt.Errorf("join cluster %q: %w: it gives its nodes addresses itself", c.Name, ErrNodeAddresses)
	}

	return j.run(ctx, c)
}

func (j *joining) run(ctx context.Context, c spec.Cluster) (spec.Cluster, error) {
	c.Join = &spec.Join{
		Server:  j.found.Server,
		Part:    1,
		Address: j.Address.String(),
	}
	c.Nodes, c.Wine = j.Nodes, j.Wine
	if err := c.Validate(); err != nil {
		return c, &cluster.ConflictError{Err: err, Remedy: "choose another --name, --count or --advertise-address"}
	}

	// Versions are checked before anything is claimed. The cluster names one only if it is not the usual one.
	if slices.ContainsFunc(c.Nodes, func(n spec.Node) bool { return n.KubernetesVersion != "" }) {
		if err := j.checkVersion(ctx); err != nil {
			return c, err
		}
	}

	c, err := cluster.ResolveVersions(c, j.Paths.Data, j.Paths.Bin)
	if err != nil {
		return c, &cluster.ConflictError{
			Err: fmt.Errorf("join cluster %q: %w", c.Name, err),
			Remedy: "put that version's bundle beside mullion on this machine too, in a checkout `make bundle VERSION=…` " +
				"builds it; or name one with --bundle",
		}
	}

	if err := cluster.CheckUnderlay(c, j.Paths); err != nil {
		return c, err
	}
	if err := j.prepare(); err != nil {
		return c, err
	}

	part, err := machines.Claim(ctx, j.client, machines.Wanted{
		Parts:   c.Networking.Parts(),
		Address: j.Address,
		Holder:  j.holder,
		Trying: func(part int) error {
			return saveClaim(j.Paths, claimRecord{
				Server: j.found.Server,
				Part:   part,
				Holder: j.holder,
			})
		},
	})
	if err != nil {
		return c, err
	}

	c.Join.Part = part
	c = c.WithDefaults()
	j.Said(fmt.Sprintf("this machine is number %d, at %s", part, j.Address))
	if err := machines.FreeNames(ctx, j.client, c.NodeNames()); err != nil {
		return c, err
	}

	return j.machine.Start(ctx, cluster.UpOptions{
		Spec:       c,
		Paths:      j.Paths,
		Executable: j.Executable,
		Environ:    j.Environ,
		Progress:   j.Progress,
	})
}

// prepare makes the data folder and writes there what the machine's kubelets join with, and what it takes to undo the
// join.
func (j *joining) prepare() error {
	if err := j.machine.Prepare(j.Paths); err != nil {
		return &cluster.ConflictError{Err: err, Remedy: "choose another --data-dir"}
	}
	j.prepared = true
	return saveJoin(j.Paths, j.found, j.token)
}

// undo removes what the join made, here and in the cluster. If the cluster does not answer, it keeps what the next try
// needs.
func (j *joining) undo(ctx context.Context) error {
	stopErr := j.machine.Stop(ctx, j.Paths)
	rest, err := leftoverOf(j.Paths)
	if err != nil {
		return errors.Join(stopErr, err)
	}

	leaving, cancel := context.WithTimeout(ctx, leaveTimeout)
	leaveErr := Leave(leaving, j.Paths, j.administrator())
	cancel()
	err = errors.Join(stopErr, j.machine.Down(ctx, j.Paths))
	if err != nil || leaveErr == nil || rest == nil {
		return errors.Join(err, leaveErr)
	}

	if err := rest.save(j.Paths, j.machine); err != nil {
		return errors.Join(leaveErr, fmt.Errorf("remember what is left in the cluster: %w", err))
	}
	return errors.Join(leaveErr, ErrLeft)
}

// administrator returns the client if it is an administrator's, else nil.
func (j *joining) administrator() kubeclient.Interface {
	if j.admin {
		return j.client
	}
	return nil
}

// sourceAddress returns the address from which this machine reaches the server.
func sourceAddress(server string) (netip.Addr, error) {
	host, err := spec.HostPort(server)
	if err != nil {
		return netip.Addr{}, err
	}
	conn, err := net.Dial("udp4", host) // sends nothing: it asks the kernel for the route
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find this machine's address towards %s: %w", host, err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil // of a UDP connection
}

// recover takes back what an earlier join that was interrupted made with this data folder.
func (j *joining) recover(ctx context.Context) error {
	if !j.Paths.Leftover() {
		return nil
	}
	leaving, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()

	err := Leave(leaving, j.Paths, j.administrator())
	if err != nil {
		err = errors.Join(err, releaseAs(leaving, j.Paths, j.found.Server, j.client))
	}
	if err != nil && ctx.Err() != nil { // the records stay: nothing else knows what that join left
		return fmt.Errorf("take back what an earlier join left: %w", errors.Join(ctx.Err(), err))
	}

	if err != nil {
		j.Said(fmt.Sprintf("an earlier join was interrupted, and something of it is left in its cluster: %v", err))
	}
	if err := j.machine.Down(ctx, j.Paths); err != nil {
		return fmt.Errorf("remove what an earlier join left: %w", err)
	}
	if _, err := os.Stat(j.Paths.Data); err == nil {
		return fmt.Errorf("remove what an earlier join left: %s is still there", j.Paths.Data)
	}

	if err == nil {
		j.Said("removed what an interrupted join had left")
	}
	return nil
}
