package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/winserver"
	"mullion.dev/mullion/internal/winserver/local"
	"mullion.dev/mullion/internal/winserver/preflight"
)

// joinFlags are the flags of join and, in part, of preflight.
type joinFlags struct {
	token    string
	hashes   []string
	unpinned bool
	name     string
	address  string
	bundles  []string
	endpoint string
	network  string
	wait     time.Duration
	patience time.Duration
	ignore   []string
	kubelet  string
}

func (e Env) join() *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use:   "join HOST:PORT --token TOKEN --discovery-token-ca-cert-hash sha256:HASH --bundle DIR|ARCHIVE",
		Short: "Make this server a node of a cluster",
		Long: `Makes this server a node of the cluster whose API server answers at HOST:PORT. ` + "`mullion token create --print-windows`" + `
and ` + "`kubeadm token create --print-join-command`" + ` print token and hash on the cluster's side. The hash is that of the public
key of the cluster's certificate authority: it keeps others from posing as the cluster.

--bundle is a folder, a .zip or a .tar.gz with programs, and may be repeated. Needed are kubelet.exe and kube-proxy.exe
(kubernetes-node-windows-amd64.tar.gz of Kubernetes' release), win-bridge.exe and host-local.exe
(cni-plugins-windows-amd64-….tgz), containerd.exe and containerd-shim-runhcs-v1.exe (containerd-…-windows-amd64.tar.gz).
With --runtime-endpoint the container runtime that is there is used, and containerd is not installed.

With --network l2bridge the agent makes an HNS network of the node's range of pod addresses, for win-bridge.exe, as
flannel's host-gw does. The ways to other nodes' pods are not its business: the network between the nodes has to have
them. With --network none a DaemonSet of the cluster brings the network (flannel, Calico).

A join that was interrupted is repeated: what is done is left as it is. ` + "`leave`" + ` takes everything back.`,
		//nolint:lll // a command on a line
		Example: `  mullion-agent.exe join 192.0.2.10:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:… --bundle C:\bundle
  mullion-agent.exe join … --bundle kubernetes-node-windows-amd64.tar.gz --bundle cni-plugins-windows-amd64.tgz --runtime-endpoint npipe:////./pipe/containerd-containerd`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("`%s` takes the API server's HOST:PORT, got %q", cmd.CommandPath(), args)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return e.runJoin(cmd.Context(), args[0], f) },
	}

	flags := cmd.Flags()
	flags.StringVar(&f.token, "token", "", "bootstrap token")
	flags.StringSliceVar(&f.hashes, "discovery-token-ca-cert-hash", nil,
		"hash of the cluster's certificate authority, sha256:…; may be repeated, then one of them has to match")
	flags.BoolVar(&f.unpinned, "discovery-token-unsafe-skip-ca-verification", false,
		"join without the hash: anyone who knows the token can pose as the cluster")
	flags.StringSliceVar(&f.bundles, "bundle", nil, "folder, .zip or .tar.gz with programs; may be repeated")
	e.nodeFlags(cmd, &f)
	flags.StringVar(&f.address, "node-address", "",
		"IPv4 address of the node (default: the one from which this server reaches the API server)")
	flags.StringVar(&f.network, "network", string(spec.ModeL2Bridge),
		"network of the pods: l2bridge, or none if the cluster's DaemonSets bring it")
	flags.StringVar(&f.kubelet, "kubelet-config", "",
		"file (YAML) with fields of a KubeletConfiguration that are merged into the node's, such as evictionHard")
	flags.DurationVar(&f.wait, "wait", 5*time.Minute, "how long each of the waits for the node may take")
	flags.DurationVar(&f.patience, "discovery-timeout", time.Minute,
		"how long to keep trying while the server cannot be reached or is not ready")
	flags.StringSliceVar(&f.ignore, "ignore-preflight-errors", nil, "checks whose failure is accepted, by their names")

	return cmd
}

// nodeFlags are the flags that join and preflight have.
func (e Env) nodeFlags(cmd *cobra.Command, f *joinFlags) {
	cmd.Flags().StringVar(&f.name, "node-name", "", "name of the node (default: this server's, in lower case)")
	cmd.Flags().StringVar(&f.endpoint, "runtime-endpoint", "",
		"container runtime that is there, such as "+winserver.RuntimeEndpoint+"; without it, containerd is installed")
}

// node returns the node's name.
func (e Env) node(f joinFlags) (string, error) {
	if f.name != "" {
		return f.name, nil
	}
	name, err := e.Hostname()
	if err != nil {
		return "", fmt.Errorf("ask for this server's name: %w", err)
	}
	return strings.ToLower(name), nil
}

// options checks the flags of a join.
func (f joinFlags) options(server, node string) (o winserver.Join, err error) {
	if err := hostPort(server); err != nil {
		return o, err
	}
	o = winserver.Join{
		Discovery: discovery.Config{Server: server, Patience: f.patience},
		Node:      node, Bundles: f.bundles, Endpoint: f.endpoint, Network: f.network, Wait: f.wait,
	}

	if o.Discovery.Token, err = discovery.ParseToken(f.token); err != nil {
		return o, usageError{fmt.Errorf("--token: %w", err)}
	}
	if len(f.hashes) == 0 && !f.unpinned {
		return o, usageError{errors.New(
			"--discovery-token-ca-cert-hash is missing: without it somebody between the machines could pose as the cluster")}
	}

	for _, text := range f.hashes {
		hash, err := discovery.ParseHash(text)
		if err != nil {
			return o, usageError{fmt.Errorf("--discovery-token-ca-cert-hash %q: %w", text, err)}
		}
		o.Discovery.Hashes = append(o.Discovery.Hashes, hash)
	}

	if f.address != "" {
		if o.Address, err = netip.ParseAddr(f.address); err != nil || !o.Address.Is4() {
			return o, usageError{fmt.Errorf("--node-address %q is not an IPv4 address", f.address)}
		}
	}
	if len(f.bundles) == 0 {
		return o, usageError{errors.New("--bundle is missing: it has the programs to install")}
	}

	if f.network != string(spec.ModeL2Bridge) && f.network != winserver.NetworkNone {
		return o, usageError{fmt.Errorf("--network %q is neither l2bridge nor none", f.network)}
	}
	if o.Kubelet, err = kubeletFields(f.kubelet); err != nil {
		return o, usageError{fmt.Errorf("--kubelet-config: %w", err)}
	}
	return o, checkEndpoint(f.endpoint)
}

// maxConfig is how large the file of --kubelet-config may be, in bytes.
const maxConfig = 1 << 20

// kubeletFields reads the file of --kubelet-config, and checks that the kubelet knows its fields.
func kubeletFields(file string) (fields map[string]any, err error) {
	if file == "" {
		return nil, nil // there are none
	}
	data, err := beneath.ReadPath(file, maxConfig)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	_, err = nodeconfig.Merge(&kubeletv1beta1.KubeletConfiguration{}, fields)
	return fields, err
}

// checkEndpoint refuses a container runtime that is not at a named pipe.
func checkEndpoint(endpoint string) error {
	const begin = "npipe:////./pipe/"
	name, ok := strings.CutPrefix(endpoint, begin)
	if endpoint != "" && (!ok || name == "" || strings.ContainsAny(name, " \t\"'`\\")) {
		return usageError{fmt.Errorf("--runtime-endpoint %q is not %sNAME", endpoint, begin)}
	}
	return nil
}

func hostPort(server string) error {
	if host, port, err := net.SplitHostPort(server); err != nil || host == "" || port == "" {
		return usageError{fmt.Errorf("%q is not the HOST:PORT of an API server", server)}
	}
	return nil
}

func (e Env) runJoin(ctx context.Context, server string, f joinFlags) error {
	node, err := e.node(f)
	if err != nil {
		return err
	}
	o, err := f.options(server, node)
	if err != nil {
		return err
	}

	host, err := e.Host()
	if err != nil {
		return err
	}
	facts, err := e.Facts(ctx, local.Asked{Name: node, Runtime: f.endpoint})
	if err != nil {
		return err
	}

	var failed bool
	for _, r := range preflight.Judge(facts) {
		accepted := false
		for _, id := range f.ignore {
			accepted = accepted || id == r.ID || id == "all"
		}
		if r.Outcome == preflight.Fail && !accepted {
			failed = true
		}

		if r.Outcome != preflight.Pass {
			e.result(r)
		}
	}
	if failed {
		return errChecks
	}

	return host.Join(ctx, o, e.say())
}

func (e Env) result(r preflight.Result) {
	fmt.Fprintf(e.Out, "%-4s  %-18s  %s\n", r.Outcome, r.ID, r.Evidence)
	if r.Remedy != "" {
		fmt.Fprintf(e.Out, "      %-18s  → %s\n", "", r.Remedy)
	}
}

func (e Env) preflight() *cobra.Command {
	var f joinFlags
	var server, form string
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Check whether this server can join, and change nothing",
		Long: `Checks whether this server can join: its Windows, the rights of this prompt, the feature Containers, HNS, the container
runtime, free ports and disk, its name, leftovers of an earlier node and, with --server, whether the API server answers
and the clocks agree. Each check says what it saw and what to do. Nothing is changed.

The exit code is 3 if a check failed. A warning does not keep the server from joining.`,
		Example: "  mullion-agent.exe preflight --server 192.0.2.10:6443",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(checkOutput(form), checkEndpoint(f.endpoint)); err != nil {
				return err
			}
			if server != "" {
				if err := hostPort(server); err != nil {
					return err
				}
			}

			node, err := e.node(f)
			if err != nil {
				return err
			}

			facts, err := e.Facts(cmd.Context(), local.Asked{
				Name:    node,
				Runtime: f.endpoint,
				Server:  server,
			})
			if err != nil {
				return err
			}

			all := preflight.Judge(facts)
			if form == "json" {
				err = e.printJSON(all)
			} else {
				for _, r := range all {
					e.result(r)
				}
			}
			if err == nil && preflight.Failed(all) {
				return errChecks
			}

			return err
		},
	}
	e.nodeFlags(cmd, &f)
	cmd.Flags().StringVar(&server, "server", "", "API server to try, HOST:PORT")
	output(cmd, &form)

	return cmd
}
