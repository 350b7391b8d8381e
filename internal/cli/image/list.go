package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/containerd/errdefs"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

func (a *commands) list() *cobra.Command {
	var node, output string
	var forRun bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the images",
		Args:    cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.listed(cmd, node, forRun)
			if err != nil {
				return err
			}
			if output == "json" {
				return json.NewEncoder(a.Env.Out).Encode(list)
			}
			return printImages(a.Env.Out, list)
		},
	}

	cmd.Flags().StringVar(&node, "node", "", "only the images that this node sees")
	cmdline.Output(cmd, &output)
	forRunFlag(cmd, &forRun)

	return cmd
}

// listed returns the images that are asked for.
func (a *commands) listed(cmd *cobra.Command, node string, forRun bool) ([]image.Info, error) {
	switch {
	case forRun && node != "":
		return nil, exit.Misuse(errors.New("--node is for a cluster, and --run for single containers"), "leave one of them out")
	case forRun:
		return a.imagesForRun(cmd)
	}
	return a.allImages(cmd.Context(), node)
}

func printImages(w io.Writer, list []image.Info) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "IMAGE\tID\tOS VERSION\tSIZE")
	for _, i := range list {
		version := i.OSVersion
		if i.Spec.OS == spec.Linux {
			version = spec.Linux
		}
		if i.StandsIn() {
			version += " (stand-in)"
		}

		for _, ref := range append(i.RepoTags, i.RepoDigests...) {
			fmt.Fprintf(t, "%s\t%.19s\t%s\t%.1f MB\n", stores.Named(ref), i.ID, stores.Named(version), float64(i.Size)/1e6)
		}
	}

	return t.Flush()
}

// allImages returns the images of a node, or of all nodes.
func (a *commands) allImages(ctx context.Context, node string) ([]image.Info, error) {
	if a.Reads() {
		paths, err := a.Paths()
		if err != nil {
			return nil, err
		}
		var list []image.Info
		err = a.Ask(ctx, paths, "images", url.Values{"node": {node}}, &list)
		return list, err
	}

	paths, _, err := a.Cluster()
	if err != nil {
		return nil, err
	}
	list, err := cluster.ListImages(ctx, paths, node)
	return list, remedy.NotFound(remedy.Store(err))
}

func (a *commands) remove() *cobra.Command {
	var forRun bool
	cmd := &cobra.Command{
		Use:     "rm IMAGE…",
		Aliases: []string{"remove"},
		Short:   "Remove images with all their names, by reference or ID",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Misuse(errors.New("`mullion image rm` takes at least one IMAGE, got none"),
					"`mullion image ls` lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if forRun {
				return a.removeForRun(cmd, args)
			}
			for _, ref := range args {
				if err := a.removeEverywhere(cmd.Context(), ref); err != nil {
					return err
				}
			}
			return nil
		},
	}
	forRunFlag(cmd, &forRun)

	return cmd
}

// removeEverywhere removes an image from all stores that have it; it is an error if none has it.
func (a *commands) removeEverywhere(ctx context.Context, ref string) error {
	if err := a.RequireRoot("removes images from the nodes' stores"); err != nil {
		return err
	}

	_, c, err := a.Cluster()
	if err != nil {
		return err
	}
	from, err := cluster.ImageStoresOf(c, nil)
	if err != nil {
		return err
	}

	var missing []error
	removed := false
	note := func(err error) error {
		switch {
		case err == nil:
			removed = true
		case errdefs.IsNotFound(err):
			missing = append(missing, err)
		default:
			return err
		}

		return nil
	}

	if from.Windows {
		if err := note(stores.Windows(ctx, a.Call, "", func(s *image.Store) error { return removeOne(ctx, s, ref) })); err != nil {
			return err
		}
	}

	err = stores.OfNodes(ctx, a.Call, from.Single(),
		func(_ string, i *nodeimages.Images) error { return note(i.Remove(ctx, ref)) })
	if err != nil {
		return err
	}

	if !removed {
		return remedy.NotFound(errors.Join(missing...))
	}
	_, err = fmt.Fprintf(a.Env.Out, "removed %s\n", strings.TrimSpace(ref))
	return err
}

func removeOne(ctx context.Context, s *image.Store, ref string) error {
	if _, err := s.Get(ctx, ref); err != nil {
		return err
	}
	if err := s.Remove(ctx, ref); err != nil {
		return fmt.Errorf("remove %s: %w", ref, err)
	}
	return nil
}
