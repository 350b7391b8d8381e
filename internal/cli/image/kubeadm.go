package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/cluster/kubeimages"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/spec"
)

func (a *commands) kubeadm() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeadm [NODE…]",
		Short: "Make the images that kubeadm init and join want, for bare Linux hosts",
		Long: `Makes the images of which kubeadm makes a control plane (the API server and its companions, etcd, CoreDNS, kube-proxy
and pause) from the programs that are here, under the names that the cluster's version of kubeadm asks for, and loads
them on the named bare Linux hosts, or on all. So kubeadm pulls nothing.

kubeadm is built by ` + "`make kubeadm`" + `; a bundle of your own has it in its folder server/bin.`,
		Example:           "  mullion image kubeadm",
		ValidArgsFunction: a.CompleteNodes,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.loadKubeadm(cmd.Context(), args) },
	}
}

// loadKubeadm loads the images on the named nodes, or on all bare Linux hosts.
func (a *commands) loadKubeadm(ctx context.Context, names []string) error {
	if err := a.RequireRoot("loads images into the nodes' stores"); err != nil {
		return err
	}

	paths, c, err := a.Cluster()
	if err != nil {
		return err
	}
	nodes, err := bareLinux(c, names)
	if err != nil {
		return err
	}

	bundle := paths.Kubernetes(c.KubernetesVersion)
	images, err := kubeimages.Maker{
		Server:  bundle.Server(),
		Etcd:    bundle.Etcd(),
		CoreDNS: paths.Program("coredns"),
		Pause:   paths.Program("mullion-pause"),
		Version: cmp.Or(c.KubernetesVersion, version.Kubernetes),
	}.Build(ctx)

	if missing, ok := errors.AsType[*kubeimages.NotBuiltError](err); ok {
		return &exit.Error{
			Code:   exit.NotFound,
			Err:    missing,
			Remedy: "`make kubeadm` builds kubeadm; nft is in the package nftables; the rest comes with Mullion (`make build`)",
		}
	}

	if err != nil {
		return err
	}

	return stores.OfNodes(ctx, a.Call, nodes, func(node string, store *nodeimages.Images) error {
		for _, img := range images {
			refs, err := loadImage(ctx, store, img)
			if err != nil {
				return err
			}
			for _, ref := range refs {
				fmt.Fprintf(a.Env.Out, "loaded %s on %s\n", ref, node)
			}
		}

		return nil
	})
}

// bareLinux returns the bare Linux hosts of a cluster, or those of them that are named.
func bareLinux(c spec.Cluster, names []string) ([]string, error) {
	var all []string
	for _, n := range c.Nodes {
		if n.Bare && n.Linux() {
			all = append(all, n.Name)
		}
	}

	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, exit.Misuse(fmt.Errorf("%s is not a bare Linux host of the cluster", name),
				"such a node has os: linux and bare: true in cluster.yaml")
		}
	}

	if len(all) == 0 {
		return nil, exit.Misuse(errors.New("the cluster has no bare Linux host"),
			"such a node has os: linux and bare: true in cluster.yaml")
	}
	if len(names) > 0 {
		return names, nil
	}

	return all, nil
}

// loadImage loads an image while it is written.
func loadImage(ctx context.Context, store *nodeimages.Images, img *imagebuild.Image) ([]string, error) {
	r, w := io.Pipe()
	defer func() { _ = r.Close() }() // ends who writes
	go func() { w.CloseWithError(img.WriteArchive(w)) }()
	return store.Load(ctx, r)
}
