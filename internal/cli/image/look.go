package image

import (
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/go-units"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/single"
)

// looks are the commands that look at images, and the one that removes those that nobody needs.
type looks struct{ *commands }

// inspected is what `docker image inspect` says of an image, as far as a store knows it
// (https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Image/operation/ImageInspect).
type inspected struct {
	ID                    string `json:"Id"`
	RepoTags, RepoDigests []string
	Created               *time.Time
	Author                string `json:",omitempty"`
	Config                ocispec.ImageConfig
	Architecture          string
	Os                    string //nolint:revive // Docker's name
	OsVersion             string //nolint:revive // Docker's name
	Size                  uint64
	RootFS                inspectedRoot
}

// inspectedRoot has the digests of the layers before their compression.
type inspectedRoot struct {
	Type   string
	Layers []digest.Digest
}

func inspect(i image.Info) inspected {
	return inspected{
		ID:           i.ID,
		RepoTags:     append([]string{}, i.RepoTags...),
		RepoDigests:  append([]string{}, i.RepoDigests...),
		Created:      i.Spec.Created,
		Author:       i.Spec.Author,
		Config:       i.Config,
		Architecture: i.Spec.Architecture,
		Os:           i.Spec.OS,
		OsVersion:    i.OSVersion,
		Size:         i.Size,
		RootFS:       inspectedRoot{i.Spec.RootFS.Type, i.Spec.RootFS.DiffIDs},
	}
}

// noImage is the error of an image that is not there.
func noImage(name string, forRun bool) error {
	where := "`mullion image ls` lists those of the cluster, with --run those of single containers"
	if forRun {
		where = "`mullion image ls --run` lists those of single containers, without --run a cluster's"
	}
	return &exit.Error{
		Code:   exit.NotFound,
		Err:    fmt.Errorf("%w: %s", errNoImage, name),
		Remedy: where,
	}
}

func (a looks) inspect() *cobra.Command {
	var template string
	var forRun bool
	cmd := &cobra.Command{
		Use:   "inspect [flags] IMAGE…",
		Short: "Print all that is known of images, as JSON",
		Long: `Prints all that is known of images, by reference or ID, as JSON. Of one that is for several builds of Windows each is
one.`,
		Example: `  mullion image inspect --run registry.example/app:v1
  mullion image inspect --run -f '{{json .Config.Env}}' registry.example/app:v1`,
		Args: atLeastOneImage,
		RunE: func(cmd *cobra.Command, args []string) error {
			show, err := dockerout.Parse(template, "`mullion image inspect` without -f shows the fields")
			if err != nil {
				return err
			}
			list, err := a.listed(cmd, "", forRun)
			if err != nil {
				return err
			}

			var failed error
			all := []inspected{}
			for _, name := range args {
				these := found(list, name)
				if len(these) == 0 {
					err := noImage(name, forRun)
					frame.PrintError(a.Env, err)
					failed = exit.Silent(exit.Code(err))
				}
				for _, i := range these {
					all = append(all, inspect(i))
				}
			}

			if err := dockerout.Each(a.Env, all, show); err != nil {
				return err
			}
			return failed
		},
	}
	cmd.Flags().StringVarP(&template, "format", "f", "", "template of Go for each one, for example {{.OsVersion}}")
	forRunFlag(cmd, &forRun)

	return cmd
}

func atLeastOneImage(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return exit.Misuse(fmt.Errorf("`%s` takes at least one IMAGE, got none", cmd.CommandPath()), "`mullion image ls` lists them")
}

func (a looks) history() *cobra.Command {
	var quiet, whole, forRun bool
	cmd := &cobra.Command{
		Use:     "history [flags] IMAGE",
		Short:   "Print the steps that an image was made by, the last one first",
		Long:    `Prints the steps that an image was made by, as its configuration has them, the last one first.`,
		Example: "  mullion image history --run registry.example/app:v1",
		Args:    cmdline.Exactly("IMAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := a.listed(cmd, "", forRun)
			if err != nil {
				return err
			}
			these := found(list, args[0])
			if len(these) == 0 {
				return noImage(args[0], forRun)
			}
			return a.printHistory(these[0], quiet, whole, time.Now())
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "IDs alone")
	cmd.Flags().BoolVar(&whole, "no-trunc", false, "whole IDs and steps")
	forRunFlag(cmd, &forRun)

	return cmd
}

// widestStep is how many letters of a step are shown, as Docker does.
const widestStep = 45

// printHistory prints the columns of `docker history` but for the layers' sizes, which a configuration does not have.
func (a looks) printHistory(i image.Info, quiet, whole bool, now time.Time) error {
	id := i.ID
	if !whole {
		id = shortID(id)
	}

	t := tabwriter.NewWriter(a.Env.Out, 10, 1, 3, ' ', 0)
	if !quiet {
		fmt.Fprintln(t, "IMAGE\tCREATED\tCREATED BY\tCOMMENT")
	}
	for n := len(i.Spec.History) - 1; n >= 0; n-- {
		if quiet {
			fmt.Fprintln(t, id)
			id = "<missing>"
			continue
		}

		h := i.Spec.History[n]
		since := "N/A"
		if h.Created != nil && !h.Created.IsZero() {
			since = units.HumanDuration(now.Sub(*h.Created)) + " ago"
		}
		step := []rune(plaintext.OneLine(h.CreatedBy))
		if !whole && len(step) > widestStep {
			step = append(step[:widestStep-1], '…')
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", id, since, string(step), plaintext.OneLine(h.Comment))
		id = "<missing>"
	}
	return t.Flush()
}

func (a looks) prune() *cobra.Command {
	var all, force, forRun bool
	var chosen []string
	cmd := &cobra.Command{
		Use:   "prune --run [flags]",
		Short: "Remove images of single containers that have no name, or with -a that no container has",
		Long: `Removes images of single containers that have no name any more, or with -a all that no container has, running or not.
--filter keeps the others: until=TIME (made before then: 24h, 2026-01-31T12:00:00Z, or seconds since 1970),
label=NAME[=VALUE], label!=NAME[=VALUE]. Of an image for several builds of Windows all have to fit, since they go as
one. An image that was built here says that it was made in 1970, unless SOURCE_DATE_EPOCH was set then. Those of a
cluster its kubelets remove when the disk fills.`,
		Example: "  mullion image prune --run -f\n  mullion image prune --run -af --filter until=24h",
		Args:    cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !forRun {
				return exit.Misuse(errors.New("a cluster's images are removed by its kubelets, when the disk fills"),
					"--run is for those of single containers; `mullion image rm` removes one of a cluster")
			}
			fits, err := prunable(chosen, time.Now())
			if err != nil {
				return err
			}
			client, err := a.storeForRun(cmd, "changes")
			if err != nil {
				return err
			}

			warning := "WARNING! This will remove all dangling images."
			if all {
				warning = "WARNING! This will remove all images without at least one container associated to them."
			}
			if !force && !dockerout.Agreed(a.Env, warning) {
				return nil
			}
			return a.pruned(cmd, client, all, fits)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "all that no container has")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "do not ask")
	cmd.Flags().StringArrayVar(&chosen, "filter", nil, "KEY=VALUE of those that are removed")
	forRunFlag(cmd, &forRun)

	return cmd
}

// prunable reads values of --filter.
func prunable(given []string, now time.Time) (fits func(image.Info) bool, err error) {
	which, err := dockerout.ParsePruned(given, now)
	if err != nil {
		return nil, err
	}
	return func(i image.Info) bool {
		has := func(label string) bool { return hasLabels(i, []string{label}) }
		return hasLabels(i, which.Labels) && !slices.ContainsFunc(which.NotLabels, has) &&
			(which.Until.IsZero() || created(i).Before(which.Until))
	}, nil
}

// pruned removes images that nobody needs, and says which.
func (a looks) pruned(cmd *cobra.Command, client *single.Client, all bool, fits func(image.Info) bool) error {
	list, err := client.Images(cmd.Context())
	if err != nil {
		return engine.Refused(err)
	}
	containers, err := client.List(cmd.Context())
	if err != nil {
		return engine.Refused(err)
	}
	builds, err := client.Builds(cmd.Context())
	if err != nil {
		return engine.Refused(err)
	}
	used := usedBy(list, containers)
	list = slices.DeleteFunc(list, func(i image.Info) bool {
		return used[i.ID] || !allFit(i, builds, fits) || (!all && !dangling(i))
	})
	return pruneEach(a.Env, list, func(id string) error {
		_, err := client.RemoveImage(cmd.Context(), id, true)
		return err
	})
}

// allFit reports whether an image fits, and with it all builds of its index: they are removed as one.
func allFit(i image.Info, builds []image.Info, fits func(image.Info) bool) bool {
	return fits(i) && !slices.ContainsFunc(builds, func(b image.Info) bool {
		return b.Target.Digest == i.Target.Digest && !fits(b)
	})
}

// usedBy returns which images containers use, by IDs. Of one that has never begun, or that was begun by an engine that
// did not note its image, the name tells.
func usedBy(list []image.Info, containers []single.Container) map[string]bool {
	used := map[string]bool{}
	for _, c := range containers {
		for _, i := range list {
			if c.MadeOf(i) {
				used[i.ID] = true
			}
		}
		if c.ImageID != "" {
			continue
		}
		for _, i := range found(list, c.Run.Image) {
			used[i.ID] = true
		}
	}
	return used
}

// pruneEach removes images, and says which. What the engine refuses for one does not keep it from the next.
func pruneEach(env invoke.Env, list []image.Info, remove func(id string) error) error {
	var gone []string
	var freed int64
	var failed error
	for _, i := range list {
		err := remove(i.ID)
		refusal, refused := errors.AsType[*single.Refusal](err)
		if errdefs.IsNotFound(err) || (refused && refusal.Conflict) {
			continue // it is gone, or a container has it meanwhile
		}
		if refused {
			frame.PrintError(env, engine.Refused(err))
			failed = exit.Silent(exit.Code(engine.Refused(err)))
			continue
		}
		if err != nil { // nobody answers
			failed = err
			break
		}

		for _, name := range names(i) {
			gone = append(gone, "untagged: "+name)
		}
		gone, freed = append(gone, "deleted: "+i.ID), freed+int64(i.Size)
	}

	if err := dockerout.SayPruned(env, "Images", gone, freed); err != nil {
		return err
	}
	return failed
}
