package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/pauseimage"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// ContainerdPrograms is the folder of containerd.exe beside Mullion's programs, and what builds it.
const ContainerdPrograms = "containerd-windows"

// MissingProgramError says that a program which a node is to have is not beside Mullion's programs.
type MissingProgramError struct {
	Node string
	Want string // the node's field that asks for it, with its value
	Make string // what builds it in a checkout
	Err  error
}

func (e *MissingProgramError) Error() string {
	return fmt.Sprintf("node %s has %s: %v", e.Node, e.Want, e.Err)
}

// Unwrap gives the cause.
func (e *MissingProgramError) Unwrap() error { return e.Err }

// HasPrograms returns a MissingProgramError if a node of the specification is to have a container runtime of its own or
// Mullion's pause image, whose programs are not in the folder of Mullion's.
func HasPrograms(c spec.Cluster, bin string) error {
	for _, n := range c.Nodes {
		missing := MissingProgramError{
			Node: n.Name,
			Want: "pauseImage: " + string(n.PauseImage),
			Make: "pause",
		}
		var files []string
		image := n.PauseImage
		if n.OwnContainerd() {
			missing.Want, missing.Make = "runtime: "+string(n.Runtime), ContainerdPrograms
			for _, name := range winnode.ContainerdPrograms() {
				files = append(files, filepath.Join(bin, ContainerdPrograms, name))
			}
			image = cmp.Or(image, spec.OwnPauseImage)
		}
		if image == spec.OwnPauseImage {
			files = append(files, pauseimage.Programs(filepath.Join(bin, "windows"))...)
		}

		for _, file := range files {
			if _, missing.Err = os.Stat(file); missing.Err != nil {
				return &missing
			}
		}
	}
	return nil
}

// seen returns what is called with each node after its routes are set.
func (c *composer) seen() func(context.Context, *corev1.Node) {
	foreign := c.seenNode()
	ranges := parts.PodCIDRs{Set: map[string]func(context.Context, string) error{}, Log: c.log}
	for _, h := range c.Hosts {
		if h.OwnContainerd() {
			ranges.Set[h.Name] = c.setPodCIDR(h.Name)
		}
	}

	return func(ctx context.Context, node *corev1.Node) {
		if foreign != nil {
			foreign(ctx, node)
		}
		ranges.Seen(ctx, node)
	}
}

// setPodCIDR returns how a host's agent, which makes its HNS network and the configuration of its CNI plugin, is told
// the node's ranges of pod addresses: as a kubelet would.
func (c *composer) setPodCIDR(host string) func(context.Context, string) error {
	dial := proc.DialIn(c.underlay.HostNetns(host))
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), winnode.CRIPort).String()
	return func(ctx context.Context, cidrs string) error {
		return kubenode.SetPodCIDR(ctx, func(ctx context.Context) (net.Conn, error) {
			return dial(ctx, "tcp", at)
		}, cidrs)
	}
}
