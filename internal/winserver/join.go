package winserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/machines/terms"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/winserver/api"
	"mullion.dev/mullion/internal/winserver/bundle"
	"mullion.dev/mullion/internal/winserver/journal"
)

// NetworkNone leaves the pods' network to a DaemonSet of the cluster.
const NetworkNone = "none"

// Join is what a person says of a join.
type Join struct {
	Discovery discovery.Config
	// Node is the node's name; Address its address, the zero value: that from which it reaches the server.
	Node    string
	Address netip.Addr
	// Bundles are folders and archives with the programs.
	Bundles []string
	// Endpoint is that of the container runtime that is there; empty: containerd is installed.
	Endpoint string
	// Network is spec.ModeL2Bridge or NetworkNone.
	Network string
	// Kubelet are fields of the kubelet's configuration file that are merged into the node's.
	Kubelet map[string]any
	// Wait is how long the node may take to be Ready.
	Wait time.Duration
}

// programs returns the programs that a node needs, and those that it gets if a bundle has them.
func (o Join) programs() (required, optional []string) {
	required = []string{"kubelet.exe", "kube-proxy.exe"}
	if o.Network != NetworkNone {
		required = append(required, "win-bridge.exe", "host-local.exe")
	}
	optional = []string{"win-overlay.exe"}
	if o.Endpoint == "" {
		required = append(required, "containerd.exe", "containerd-shim-runhcs-v1.exe")
		optional = append(optional, "ctr.exe", "crictl.exe")
	}
	return required, optional
}

// place returns where a program lies.
func place(program string) string {
	switch program {
	case "win-bridge.exe", "win-overlay.exe", "host-local.exe":
		return path.Join(cniBinDir, program)
	case "containerd.exe", "containerd-shim-runhcs-v1.exe", "ctr.exe", "crictl.exe":
		return path.Join(runtimeDir, program)
	}
	return path.Join(programsDir, program)
}

// Join makes the server a node.
func (h Host) Join(ctx context.Context, o Join, say Say) error {
	if errs := validation.IsDNS1123Subdomain(o.Node); len(errs) > 0 {
		return fmt.Errorf("the node's name %q: %s", o.Node, errs[0])
	}
	if o.Network != string(spec.ModeL2Bridge) && o.Network != NetworkNone {
		return fmt.Errorf("%w: %q", ErrNetworkMode, o.Network)
	}

	found, err := discovery.Find(ctx, o.Discovery)
	if err != nil {
		return err
	}
	say("found the cluster at %s, signed with the token", found.Server)
	client, err := api.ByToken(found.Server, found.CA, o.Discovery.Token.String())
	if err != nil {
		return err
	}

	j, err := h.resume(o.Node, found.Server)
	if err != nil {
		return err
	}
	c := change{h, j, say}
	k, err := c.learn(ctx, client, found, o)
	if err != nil {
		return err
	}

	address, err := h.address(o, found.Server)
	if err != nil {
		return err
	}
	if err := c.begin(o); err != nil {
		return err
	}

	err = c.run(ctx, o, k, address)
	if err != nil && len(j.Entries) == 0 {
		return errors.Join(err, j.Remove()) // nothing has been changed
	}
	return err
}

// resume returns the journal of an earlier join of that node to that cluster, or a new one.
func (h Host) resume(node, server string) (*journal.Journal, error) {
	j, err := h.Journal()
	if errors.Is(err, journal.ErrNone) {
		j = journal.New(h.file(journalFile), node)
		j.Server = server
		return j, nil
	}
	if err != nil {
		return nil, err
	}

	if j.Node != node || j.Server != server {
		return nil, fmt.Errorf("join %s as %q: %w: it is node %q of %s; leave that first", server, node, ErrConflict,
			j.Node, j.Server)
	}
	return j, nil
}

// address returns the node's address with its network.
func (h Host) address(o Join, server string) (netip.Prefix, error) {
	u, err := url.Parse(server)
	if err != nil {
		return netip.Prefix{}, err
	}
	to := u.Host
	if u.Port() == "" {
		to += ":443"
	}

	own, err := h.Address(to)
	if err != nil {
		return own, fmt.Errorf("find the address of this server: %w", err)
	}
	if o.Address.IsValid() && o.Address != own.Addr() {
		own = netip.PrefixFrom(o.Address, own.Bits())
	}
	return own, nil
}

// begin writes the journal, after a look whether anything is in the way.
func (c change) begin(o Join) error {
	for _, s := range []string{containerd, kubelet, kubeProxy} {
		if s == containerd && o.Endpoint != "" {
			continue
		}
		if err := c.mine(s); err != nil {
			return err
		}
	}

	if len(c.journal.Entries) == 0 {
		for _, left := range []string{nodeconfig.KubeletKubeconfig, kubeletCertPEM} {
			if _, err := os.Lstat(c.file(left)); err == nil {
				return fmt.Errorf("%s: %w: another cluster's, of a node that this server was; remove it", windows(left),
					ErrConflict)
			}
		}
	}

	if err := os.MkdirAll(c.file(stateDir), 0o755); err != nil {
		return err
	}
	if err := c.Protect(c.file(stateDir), Private); err != nil {
		return err
	}

	c.journal.Endpoint, c.journal.Runtime = o.Endpoint, o.Endpoint == ""
	if c.journal.Runtime {
		c.journal.Endpoint = RuntimeEndpoint
	}
	if o.Network != NetworkNone {
		c.journal.Network = podnet.NetworkName(spec.ModeL2Bridge)
	}
	return c.journal.Save()
}

// run makes the changes, in order.
func (c change) run(ctx context.Context, o Join, k cluster, address netip.Prefix) error {
	fresh, err := c.install(ctx, o, k.version)
	if err != nil {
		return fmt.Errorf("install the programs: %w", err)
	}
	told, err := c.configure(o, k, address.Addr())
	if err != nil {
		return fmt.Errorf("write the node's files: %w", err)
	}

	if err := c.allow(ctx); err != nil {
		return err
	}
	if c.journal.Runtime {
		if err := c.serve(containerdService(), fresh[containerd] || told[containerd]); err != nil {
			return err
		}
		c.say("service containerd runs")
	}

	if err := c.serve(c.kubeletService(o, address.Addr()), fresh[kubelet] || told[kubelet]); err != nil {
		return err
	}
	c.say("service kubelet runs, as node %s at %s", o.Node, address.Addr())
	client, err := c.identity(ctx, o, k)
	if err != nil {
		return err
	}

	if c.journal.Network != "" {
		if err := c.network(ctx, o, k, client, address); err != nil {
			return fmt.Errorf("make the pods' network: %w", err)
		}
	}
	if err := c.routes(ctx, k, address); err != nil {
		return err
	}

	if err := c.serve(c.proxyService(o, k), fresh[kubeProxy] || told[kubelet]); err != nil {
		return err
	}
	c.say("service kube-proxy runs")
	return c.ready(ctx, o, k, client, address.Addr())
}

// install puts the programs in place. It reports of which services the programs have changed. server is the API
// server's version, empty if it is not known.
func (c change) install(ctx context.Context, o Join, server string) (fresh map[string]bool, err error) {
	staging := c.file(stagingDir)
	if err := os.RemoveAll(staging); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(staging, 0o755); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()

	required, optional := o.programs()
	names, err := bundle.Extract(o.Bundles, staging, required, optional)
	if err != nil {
		return nil, err
	}
	if err := c.skew(ctx, server, names); err != nil {
		return nil, err
	}

	fresh = map[string]bool{}
	for _, name := range names {
		to := place(name)
		if err := c.folder(path.Dir(to), Readable); err != nil {
			return nil, err
		}
		from := c.file(path.Join(stagingDir, name))
		other, err := differs(from, c.file(to))
		if err != nil {
			return nil, err
		}

		if !other {
			continue
		}

		of := serviceOf(name)
		if of != "" && !fresh[of] {
			if err := c.stop(of); err != nil { // its program is in use
				return nil, err
			}
			fresh[of] = true
		}

		if err := c.keep(to); err != nil {
			return nil, err
		}
		if err := os.Rename(from, c.file(to)); err != nil {
			return nil, err
		}
		c.say("installed %s", windows(to))
	}

	return fresh, nil
}

// serviceOf returns the service whose program that is, "" if it is none.
func serviceOf(program string) string {
	switch program {
	case "containerd.exe", "containerd-shim-runhcs-v1.exe":
		return containerd
	case "kubelet.exe":
		return kubelet
	case "kube-proxy.exe":
		return kubeProxy
	}
	return ""
}

// identity waits until the kubelet has its certificate, and returns a client with the node's rights.
func (c change) identity(ctx context.Context, o Join, k cluster) (*api.Client, error) {
	pem := c.file(kubeletCertPEM)
	client, err := api.ByCertificate(k.Server, k.CA, pem)
	if err != nil {
		return nil, err
	}

	err = c.wait(ctx, o.Wait, func(ctx context.Context) error {
		if _, err := os.Stat(pem); err != nil {
			return errors.New("the kubelet has no certificate yet")
		}
		_, err := client.Node(ctx, o.Node)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("wait until node %s is registered: %w", o.Node, err)
	}

	c.say("node %s is registered", o.Node)
	return client, nil
}

// network makes the HNS network of the node's range and the configuration of the CNI plugin, which comes last: with it
// the node becomes Ready.
func (c change) network(ctx context.Context, o Join, k cluster, client *api.Client, address netip.Prefix) error {
	cidr, err := c.podRange(ctx, o, k, client)
	if err != nil {
		return err
	}

	name := c.journal.Network
	if there, err := c.Networks.Has(name); err != nil {
		return err
	} else if !there {
		if err := c.journal.Add(journal.Entry{Kind: journal.Network, Name: name}); err != nil {
			return err
		}
	}

	found, err := c.Networks.Ensure(name, cidr)
	if err != nil {
		return err
	}
	if !found {
		c.say("made HNS network %s of %s", name, cidr)
	}

	nodes := k.nodes
	if !nodes.IsValid() {
		nodes = address.Masked()
	}

	conf, err := podnet.ConfList(podnet.Config{
		Mode: spec.ModeL2Bridge, Address: address.Addr(), Pods: k.pods, Services: k.services,
		Local: []netip.Prefix{k.pods, k.services, nodes},
	}, cidr)
	if err != nil {
		return err
	}

	if err := c.folder(cniConfDir, Readable); err != nil {
		return err
	}
	wrote, err := c.write(cniConfFile, conf, false)
	if wrote && err == nil {
		c.say("wrote %s", windows(cniConfFile))
	}
	return err
}

// podRange waits for the range of addresses that the node's pods have, and refuses one that cannot be theirs.
func (c change) podRange(ctx context.Context, o Join, k cluster, client *api.Client) (cidr netip.Prefix, err error) {
	err = c.wait(ctx, o.Wait, func(ctx context.Context) error {
		n, err := client.Node(ctx, o.Node)
		if err != nil {
			return err
		}
		if n.Spec.PodCIDR == "" {
			return errors.New("the node has no range of pod addresses yet")
		}
		cidr, err = netip.ParsePrefix(n.Spec.PodCIDR)
		return err
	})
	if err != nil {
		return cidr, err
	}

	if !cidr.Addr().Is4() || cidr.Bits() > 29 {
		return cidr, fmt.Errorf("the node's range %s is not an IPv4 network of at least 8 addresses", cidr)
	}
	if cidr.Bits() < k.pods.Bits() || !k.pods.Contains(cidr.Addr()) {
		return cidr, fmt.Errorf("the node's range %s is not in that of the cluster's pods, %s", cidr, k.pods)
	}

	return cidr, nil
}

// ready waits until the node is Ready.
func (c change) ready(ctx context.Context, o Join, k cluster, client *api.Client, address netip.Addr) error {
	if c.journal.Network == "" {
		c.say("the cluster's own DaemonSets have to bring the pods' network; the node is Ready after that")
	}

	err := c.wait(ctx, o.Wait, func(ctx context.Context) error {
		n, err := client.Node(ctx, o.Node)
		if err != nil {
			return err
		}
		return n.Ready()
	})
	if err != nil {
		return fmt.Errorf("wait until node %s is Ready: %w", o.Node, err)
	}

	if !c.journal.Joined {
		c.journal.Joined = true
		if err := c.journal.Save(); err != nil {
			return err
		}
	}

	// The token has done its work: the kubelet has a certificate.
	if err := os.Remove(c.file(nodeconfig.BootstrapKubeconfig)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.say("node %s is Ready", o.Node)
	if may, err := client.Allowed(ctx, "watch", "discovery.k8s.io", "endpointslices"); err == nil && !may {
		c.say("kube-proxy may not read Services yet; an administrator has to run: %s", terms.GrantCommand(o.Node))
	}

	if k.mullion && !k.nodes.Contains(address) && !slices.ContainsFunc(k.external, func(p netip.Prefix) bool {
		return p.Contains(address)
	}) {
		c.say("the cluster does not expect a node at %s: it gets no serving certificate, so its pods have no logs and no exec, "+
			"and other nodes' pods do not reach it. Add the address to networking.externalNodes and repeat `mullion up`", address)
	}
	if !k.mullion && !k.selfSigned {
		c.say("the cluster signs serving certificates: until `kubectl get csr` shows the node's approved, its pods have no logs and no exec")
	}

	return nil
}
