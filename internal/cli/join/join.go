// Package join owns `mullion join` and `mullion token`: how machines come to a cluster, and by what. Joining is elsewhere.
package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/bringup"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/winver"
)

// Calls are what the command `mullion join` asks of packages that reach for the machine.
type Calls struct {
	Preflight         bringup.Look
	TakeBundle        bringup.Take
	Join              func(context.Context, join.Options) (spec.Cluster, error)
	WaitingForRights  func(context.Context, layout.Paths, spec.Cluster) []string
	WaitingForServing func(context.Context, layout.Paths, spec.Cluster) []*kubeadm.ServingError
}

// Real returns those of the program.
func Real() Calls {
	return Calls{
		Preflight:         cluster.Preflight,
		TakeBundle:        cluster.TakeBundle,
		Join:              join.Join,
		WaitingForRights:  join.WaitingForRights,
		WaitingForServing: join.WaitingForServing,
	}
}

// commands is `mullion join`.
type commands struct {
	*reader.Reader

	calls Calls
}

type joinFlags struct {
	server, token string
	kubeconfig    string
	addresses     []string
	hashes        []string
	unpinned      bool
	node          spec.Node
	advertise     string
	wait          time.Duration
	patience      time.Duration
	retain        bool
	proxyMode     string
	noCNI         bool
	bundles       []string
	wine          string
	out           progress.Flags
}

// New returns the command.
func New(r *reader.Reader, calls Calls) *cobra.Command {
	a := &commands{Reader: r, calls: calls}
	var f joinFlags

	cmd := &cobra.Command{
		Use:   "join --server HOST:PORT --token TOKEN --ca-cert-hash sha256:HASH",
		Short: "Add nodes on this machine to a cluster on another machine",
		Long: `Adds nodes on this machine to the cluster that ` + "`mullion server`" + ` made on another machine. ` + "`mullion server`" + ` and
` + "`mullion token create --print-join-command`" + ` print the whole command there. The hash is that of the public key of
the cluster's certificate authority, as with kubeadm. It keeps others from posing as the server, even if they
know the token.

A cluster that kubeadm made (kind's and minikube's are such clusters) is joined the same way: with the token and
hash that ` + "`kubeadm token create --print-join-command`" + ` prints, or with --kubeconfig. That kubeconfig is an
administrator's, or has a bootstrap token. With an administrator's kubeconfig the join also gives the nodes
their rights; the file is not kept. To such a cluster a machine can add only Windows nodes, each with an address
of the machine's own network (--node-address).

With --bundle the nodes have Kubernetes' programs of your own` + bringup.BundleForm +
			` Their version is that of the API server, or up to
three minor versions older (https://kubernetes.io/releases/version-skew-policy/#kubelet).

A join that fails leaves nothing behind, neither here nor in the cluster. After a join, ` + "`mullion status`" + `,
` + "`mullion logs`" + `, ` + "`mullion node`" + ` and ` + "`mullion stop`" + ` work on this machine's nodes, ` + "`mullion up`" + ` brings them back
after a reboot, and ` + "`mullion leave`" + ` takes them out of the cluster.`,
		Example: `  mullion join --server 192.0.2.10:6443 --token abcdef.0123456789abcdef --ca-cert-hash sha256:…
  mullion join --server … --token … --ca-cert-hash … --windows-version ltsc2025 --count 2
  mullion join --server … --token … --ca-cert-hash … --os linux --name build-1
  mullion join --kubeconfig admin.conf --node-address 192.0.2.50 --name win-a
  mullion join --server … --bundle kubernetes-server-linux-amd64.tar.gz --bundle kubernetes-node-windows-amd64.tar.gz`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runJoin(cmd.Context(), f) },
	}

	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "", "where the cluster's API server answers, host:port")
	flags.StringVar(&f.token, "token", "", "bootstrap token")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "",
		"join with this file instead of --token and --ca-cert-hash; --server then names the API server's address for the nodes, if it is not the file's")
	flags.StringSliceVar(&f.addresses, "node-address", nil,
		"in a cluster that Mullion did not make: a free address of this machine's network for each node")
	flags.StringVar(&f.proxyMode, "kube-proxy-mode", "",
		"in a cluster that Mullion did not make: \"none\" leaves kube-proxy to a DaemonSet of the cluster")
	flags.BoolVar(&f.noCNI, "disable-default-cni", false,
		"in a cluster that Mullion did not make: leave the CNI plugin to a DaemonSet of the cluster; the nodes are not Ready until it is installed")

	flags.StringSliceVar(&f.hashes, "ca-cert-hash", nil,
		"hash of the cluster's certificate authority, sha256:…; may be repeated, then one of them has to match")
	flags.BoolVar(&f.unpinned, "unsafe-skip-ca-verification", false,
		"join without --ca-cert-hash: anyone who knows the token can pose as the cluster")
	flags.StringVar(&f.node.OS, "os", spec.Windows, "operating system of the nodes: windows or linux")
	flags.StringVar(&f.node.WindowsVersion, "windows-version", "", "Windows version of the nodes (default "+winver.Default()+")")
	flags.StringVar(&f.node.Name, "name", "",
		"name of the node; with --count, the beginning of the names (default m1-win-1, …, where m1 has the machine's number)")
	flags.IntVar(&f.node.Count, "count", 1, "how many nodes")
	bringup.BundleFlag(cmd, &f.bundles)
	bringup.WineFlag(cmd, &f.wine)

	flags.StringVar(&f.advertise, "advertise-address", "",
		"IPv4 address at which other machines reach this one (default: the address from which it reaches the server)")
	flags.DurationVar(&f.wait, "wait", 5*time.Minute, "how long to wait for the nodes to be Ready")
	flags.DurationVar(&f.patience, "discovery-timeout", time.Minute,
		"how long to keep trying while the server cannot be reached, is not ready, or has signed nothing for any token")
	flags.BoolVar(&f.retain, "retain", false, "keep what a failed join has made, with its logs")
	f.out.Add(cmd, "print a line for each part of the nodes")
	cmdline.Complete(cmd, "os", []string{spec.Windows, spec.Linux})
	cmdline.Complete(cmd, "windows-version", cmdline.WindowsVersions())

	return cmd
}

// options checks the flags.
func (f joinFlags) options() (o join.Options, err error) {
	if f.kubeconfig != "" {
		err = f.byFile(&o)
	} else {
		err = f.byToken(&o)
	}
	if err != nil {
		return o, err
	}

	for _, text := range f.addresses {
		a, err := netip.ParseAddr(text)
		if err != nil || !a.Is4() {
			return o, exit.Misuse(fmt.Errorf("--node-address %q is not an IPv4 address", text),
				"name a free address of this machine's network for each node")
		}
		o.NodeAddresses = append(o.NodeAddresses, a)
	}

	if f.advertise != "" {
		if o.Address, err = netip.ParseAddr(f.advertise); err != nil {
			return o, exit.Misuse(fmt.Errorf("--advertise-address: %w", err), "name an IPv4 address of this machine")
		}
	}

	// The nodes are checked as those of a cluster.yaml are.
	c := spec.Cluster{
		APIVersion: spec.APIVersion,
		Kind:       spec.Kind,
		Nodes:      []spec.Node{f.node},
	}

	if err := c.Validate(); err != nil || f.node.Count < 1 {
		return o, exit.Misuse(fmt.Errorf("read the flags about nodes (--os, --windows-version, --name, --count): %w",
			errors.Join(err, countError(f.node.Count))), "see `mullion join --help`")
	}

	if f.proxyMode != "" && f.proxyMode != string(spec.KubeProxyNone) {
		return o, exit.Misuse(fmt.Errorf("--kube-proxy-mode %q is not %q", f.proxyMode, spec.KubeProxyNone),
			"leave it out for Mullion's own kube-proxy")
	}

	o.Nodes, o.Retain = c.Nodes, f.retain
	o.KubeProxyMode = spec.KubeProxyMode(f.proxyMode)
	o.DisableDefaultCNI = f.noCNI
	return o, nil
}

// byFile checks the flags of a join by kubeconfig.
func (f joinFlags) byFile(o *join.Options) error {
	if f.token != "" || len(f.hashes) > 0 || f.unpinned {
		return exit.Misuse(
			errors.New("--kubeconfig and --token, --ca-cert-hash, --unsafe-skip-ca-verification exclude each other"),
			"leave the other flags out: the kubeconfig has the same information")
	}
	o.Kubeconfig, o.Server = f.kubeconfig, f.server
	if host, port, err := net.SplitHostPort(f.server); f.server != "" && (err != nil || host == "" || port == "") {
		return exit.Misuse(fmt.Errorf("--server %q is not host:port", f.server),
			"give the address at which nodes reach the API server, or leave --server out")
	}
	return nil
}

// byToken checks the flags of a join by token.
func (f joinFlags) byToken(o *join.Options) error {
	help := "`mullion server`, `mullion token create --print-join-command` and `kubeadm token create --print-join-command` print the values of these flags"
	host, port, err := net.SplitHostPort(f.server)
	if f.server == "" {
		return exit.Misuse(errors.New("--server is missing, or --kubeconfig in its place"), help)
	}
	if err != nil || host == "" || port == "" {
		return exit.Misuse(fmt.Errorf("--server %q is not host:port", f.server), help)
	}

	o.Discovery = discovery.Config{Server: f.server, Patience: f.patience}
	if o.Discovery.Token, err = discovery.ParseToken(f.token); err != nil {
		return exit.Misuse(fmt.Errorf("--token: %w", err), help)
	}
	if len(f.hashes) == 0 && !f.unpinned {
		return exit.Misuse(
			errors.New(
				"--ca-cert-hash is missing: without it somebody between the machines could pose as the cluster"), help)
	}

	for _, text := range f.hashes {
		hash, err := discovery.ParseHash(text)
		if err != nil {
			return exit.Misuse(fmt.Errorf("--ca-cert-hash %q: %w", text, err), help)
		}
		o.Discovery.Hashes = append(o.Discovery.Hashes, hash)
	}

	return nil
}

func countError(n int) error {
	if n < 1 {
		return fmt.Errorf("--count %d is not at least 1", n)
	}
	return nil
}

func (a *commands) runJoin(ctx context.Context, f joinFlags) (err error) {
	o, err := f.options()
	if err == nil {
		err = f.out.Check()
	}
	if err != nil {
		return err
	}

	if err := a.RequireRoot("makes network namespaces, mounts and cgroups"); err != nil {
		return err
	}
	if o.Paths, err = a.Paths(); err != nil {
		return err
	}
	if o.Wine, err = bringup.WineFolder(f.wine); err != nil {
		return err
	}

	r := progress.Start(ctx, a.Call, f.out)
	defer r.Close()

	version := ""
	if len(f.bundles) > 0 {
		var discard func() error
		if version, discard, err = a.bundleToJoin(ctx, &o, f.bundles, r); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, discard())
			}
		}()
	}

	if err := bringup.Preflight(ctx, a.Call, a.calls.Preflight, cluster.PreflightOptions{
		Paths:      o.Paths,
		Nodes:      o.Nodes,
		Kubernetes: []string{version},
		Wine:       o.Wine,
	}, r); err != nil {
		return err
	}

	o.Executable = a.Env.Executable
	o.Environ = a.Env.Environ
	o.Progress = r.Told
	o.Said = r.OK
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()

	r.Watch()
	c, err := a.calls.Join(ctx, o)
	r.Settle()
	if err != nil {
		return joinError(err, o)
	}

	r.Say("\nThis machine is part of cluster %q after %.1fs, with %d node(s).", c.Name,
		time.Since(started).Seconds(), len(c.Nodes))
	for _, node := range a.calls.WaitingForRights(ctx, o.Paths, c) {
		fmt.Fprintf(
			a.Env.Out, "\nServices and connections to other nodes' pods do not work until an administrator of the cluster runs:\n\n  %s\n", kubeadm.GrantCommand(node))
	}

	for _, missing := range a.calls.WaitingForServing(ctx, o.Paths, c) {
		fmt.Fprintf(
			a.Env.Out, "\nLogs, exec and metrics of the pods of %s do not work until an administrator of the cluster runs:\n\n  %s\n", missing.Node, missing.Command())
	}

	return nil
}

// bundleToJoin takes a bundle into the data folder and gives the nodes its version. discard takes it back.
func (a *commands) bundleToJoin(ctx context.Context, o *join.Options, sources []string, r *progress.Progress) (
	version string, discard func() error, err error,
) {
	if _, err := join.Vacant(o.Paths); err != nil {
		return "", nil, joinError(err, *o)
	}
	use := bringup.Bundle{
		Command:   "mullion join",
		Sources:   sources,
		NodesOnly: true,
		Take:      a.calls.TakeBundle,
	}

	own, discard, err := use.TakeFor(ctx, a.Call, o.Paths, r)
	if err != nil {
		return "", nil, err
	}
	for i := range o.Nodes {
		o.Nodes[i].KubernetesVersion = own.Version
	}

	return own.Version, discard, nil
}

// joinError adds the remedy and exit code to an error of a join.
func joinError(err error, o join.Options) error {
	server := cmp.Or(o.Discovery.Server, o.Server, "the server of "+o.Kubeconfig)
	fresh := "get a new one on the server: `mullion token create --print-join-command`"
	for _, known := range []struct {
		is     error
		code   int
		remedy string
	}{
		{discovery.ErrClock, exit.Requirement, "set the clocks of both machines, for example with NTP, and join again"},
		{
			discovery.ErrExpired, exit.NotReady,
			"renew the certificate on the server, with `mullion stop` and `mullion up`, or with `kubeadm certs renew apiserver` if kubeadm made the cluster; then join again",
		},
		{
			discovery.ErrUnreachable, exit.NotReady,
			fmt.Sprintf("check that `mullion server` is up there, and that TCP port %s is open from here", server),
		},
		{
			discovery.ErrNotReady, exit.NotReady,
			"wait until `mullion status` on the server says that it is ready, or join with a larger --discovery-timeout",
		},
		{discovery.ErrToken, exit.Refused, fresh},
		{
			discovery.ErrSecret, exit.Refused,
			"check the token's part after the dot; if it is right, another server answers at " + server + ". Or " + fresh,
		},
		{
			discovery.ErrAuthority, exit.Refused,
			"another server may answer at " + server + ": compare the hash with the one that `mullion token create --print-join-command` prints on the server itself",
		},
		{machines.ErrRefused, exit.Refused, fresh},
		{
			join.ErrKubeconfig, exit.Usage,
			"name an administrator's kubeconfig, or one with a bootstrap token, that works on this machine; test it with `kubectl --kubeconfig FILE get nodes`",
		},
		{
			join.ErrNotAllowed, exit.Refused,
			"name an administrator's kubeconfig; or join with --server, --token and --ca-cert-hash",
		},
		{
			join.ErrNodeAddresses, exit.Usage,
			"if Mullion made the cluster, leave --node-address out; otherwise name free addresses of this machine's network",
		},
		{join.ErrDeployed, exit.Usage, "leave --kube-proxy-mode and --disable-default-cni out"},
		{
			join.ErrNoNetwork, exit.Requirement,
			"name the machine's address on the network of the cluster's nodes with --advertise-address",
		},
		{
			join.ErrLinuxForeign, exit.Usage,
			"leave --os out; to add this machine itself as a Linux node, use `kubeadm join`",
		},
		{
			join.ErrVersion, exit.Conflict,
			"name programs of another version with --bundle: a kubelet has the API server's minor version, or one of the three before it (https://kubernetes.io/releases/version-skew-policy/#kubelet)",
		},
		{
			kubeadm.ErrNetwork, exit.Conflict,
			"use a pod network that routes pods' own addresses: flannel with backend host-gw, kindnet, or routes of your own (docs/several-machines.md)",
		},
		{
			machines.ErrForeign, exit.Conflict,
			"if Mullion made the cluster, bring it up with `mullion server`; otherwise it can be joined only if kubeadm made it (it has the ConfigMap kubeadm-config)",
		},
		{
			machines.ErrFull, exit.Conflict,
			"take a machine's nodes out (`mullion leave` there, or `kubectl delete node`), or bring the server up with a larger networking.underlaySubnet",
		},
		{
			machines.ErrNodeExists, exit.Conflict,
			"choose another --name; or, if that node is gone for good, `mullion kubectl delete node NAME` on the server",
		},
		{join.ErrLeft, exit.NotReady, "`mullion leave` removes it when the server answers again; the next `mullion join` also tries to"},
	} {
		if errors.Is(err, known.is) {
			return &exit.Error{
				Code:   known.code,
				Err:    err,
				Remedy: known.remedy,
			}
		}
	}

	if errors.Is(err, context.DeadlineExceeded) && !o.Retain {
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: "what the join had made is removed again; join with a larger --wait, or with --retain to keep the logs",
		}
	}

	return remedy.Up(err, o.Paths)
}
