package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/containerd/errdefs"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/spec"
)

// listOptions are the flags of `mullion image ls`.
type listOptions struct {
	node, output, name string
	forRun             bool
	quiet, whole       bool
	format             *dockerout.Format
	fits               func(image.Info) bool
}

func (a *commands) list() *cobra.Command {
	var o listOptions
	var template string
	var chosen []string
	var all bool
	cmd := &cobra.Command{
		Use:     "ls [REPOSITORY[:TAG]]",
		Aliases: []string{"list"},
		Short:   "List the images",
		Long: `Lists the images of a cluster, or with --run those of single containers: a line for each name and build of Windows.

--filter keeps those that fit: ` + filterNames + `.

--format is a template of Go with .Repository, .Tag, .Digest, .ID, .CreatedAt, .CreatedSince, .Size and .OSVersion;
json; or table and a template, for columns with headings.`,
		Example: `  mullion image ls --run
  mullion image ls --run -q --filter dangling=true
  mullion image ls --format 'table {{.Repository}}\t{{.Tag}}\t{{.Size}}'`,
		Args: atMostOneName,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.format, err = dockerout.Parse(template, "`mullion image ls --help` has the fields"); err != nil {
				return err
			}
			if template != "" && o.output == "json" {
				return exit.Misuse(errors.New("--format and -o json are two forms"), "leave one of them out")
			}
			if len(args) > 0 {
				o.name = args[0]
			}

			list, err := a.listed(cmd, o.node, o.forRun)
			if err != nil {
				return err
			}
			if o.fits, err = filterOf(chosen, list); err != nil {
				return err
			}
			return o.print(a.Env, list, time.Now())
		},
	}

	f := cmd.Flags()
	f.StringVar(&o.node, "node", "", "only the images that this node sees")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "IDs alone")
	f.BoolVar(&o.whole, "no-trunc", false, "whole IDs")
	f.BoolVarP(&all, "all", "a", false, "all images, as without it: a build keeps none in between")
	f.StringArrayVarP(&chosen, "filter", "f", nil, "KEY=VALUE of those that are listed")
	f.StringVar(&template, "format", "", "a template, json, or table and a template")
	cmdline.Output(cmd, &o.output)
	forRunFlag(cmd, &o.forRun)

	return cmd
}

func atMostOneName(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	return exit.Misuse(fmt.Errorf("`%s` takes at most one name, got %d", cmd.CommandPath(), len(args)),
		"--filter reference=PATTERN is for several")
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

// printImages prints the table of images, in which a name has a line.
func printImages(w io.Writer, list []image.Info, whole bool) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "IMAGE\tID\tOS VERSION\tSIZE")
	width := 19 // sha256: and twelve digits
	if whole {
		width = math.MaxInt8
	}
	for _, i := range list {
		refs := append(slices.Clone(i.RepoTags), i.RepoDigests...)
		if len(refs) == 0 {
			refs = []string{none} // its ID names it
		}
		for _, ref := range refs {
			fmt.Fprintf(t, "%s\t%.*s\t%s\t%.1f MB\n", stores.Named(ref), width, i.ID, stores.Named(systemOf(i)), float64(i.Size)/1e6)
		}
	}

	return t.Flush()
}

// systemOf says which Windows an image is for, or Linux.
func systemOf(i image.Info) string {
	version := i.OSVersion
	if i.Spec.OS == spec.Linux {
		version = spec.Linux
	}
	if i.StandsIn() {
		version += " (stand-in)"
	}
	return version
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
	var forRun, force bool
	cmd := &cobra.Command{
		Use:     "rm IMAGE…",
		Aliases: []string{"remove"},
		Short:   "Remove images, by reference or ID",
		Long: `Removes images. By an ID, and in a cluster by a reference too, an image goes with all its names. With --run a
reference, a tag or a digest, is taken alone from an image that has others, as with Docker, and the image goes with its
last one; by its ID one with several names wants -f. One of which a container runs is kept.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Misuse(errors.New("`mullion image rm` takes at least one IMAGE, got none"),
					"`mullion image ls` lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			remove := func(ref string) error { return a.removeEverywhere(cmd.Context(), ref) }
			if forRun {
				client, err := a.storeForRun(cmd, "changes")
				if err != nil {
					return err
				}
				remove = func(ref string) error { return a.removeForRun(cmd.Context(), client, ref, force) }
			}
			return removeEach(a.Env, args, force, remove)
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "one that is not there is no error; with --run also an image with several names, by its ID")
	forRunFlag(cmd, &forRun)

	return cmd
}

// removeEach removes images; what goes wrong with one does not keep it from the next. With force one that is not there
// is said and no error, as with Docker.
func removeEach(env invoke.Env, refs []string, force bool, remove func(ref string) error) error {
	var failed error
	for i, ref := range refs {
		err := remove(ref)
		missing := exit.Code(err) == exit.NotFound
		_, refused := errors.AsType[*single.Refusal](err)
		switch {
		case err == nil:
			continue
		case len(refs) == 1 && !force, i == 0 && !missing && !refused: // there is nothing to go on with
			return err
		}

		frame.PrintError(env, err)
		if !force || !missing {
			failed = exit.Silent(exit.Code(err))
		}
	}
	return failed
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
