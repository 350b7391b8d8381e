package container

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/single"
)

// keeping are the commands that deal with volumes.
type keeping struct{ *commands }

// NewVolume returns `mullion volume` with the commands below it.
func NewVolume(call *invoke.Call) *cobra.Command {
	a := keeping{&commands{call}}
	cmd := &cobra.Command{
		Use:   "volume",
		Short: "List, look at and remove the volumes of `mullion run`",
		Long: `Works on the volumes of ` + "`mullion run`" + `, with the words of ` + "`docker volume`" + `.

A volume is a folder that outlives containers: ` + "`mullion run -v data:C:\\data`" + ` makes it when it is first named, with
what the image has there, and the next container that names it finds what the first has left. It is kept until it is
removed here. One that nobody has named (-v C:\data, or VOLUME of the image) goes with a container that was run with
--rm, and otherwise by prune.`,
		Example: `  mullion run -v data:C:\data registry.example/db:v1
  mullion volume ls
  mullion volume rm data`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.list(), a.inspect(), a.create(), a.remove(), a.prune())

	return cmd
}

// atLeastOneVolume takes at least one volume.
func atLeastOneVolume(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return exit.Misuse(fmt.Errorf("`%s` takes at least one VOLUME, got none", cmd.CommandPath()),
		"`mullion volume ls` lists them")
}

// complete completes names of volumes.
func (a keeping) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	paths, err := engine.Paths(a.Call, cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := slices.DeleteFunc((&single.Client{Paths: paths}).VolumeNames(), func(name string) bool {
		return slices.Contains(args, name)
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// volumeRow has what `docker volume ls --format json` has of a volume, by its names.
type volumeRow struct {
	Availability, Driver, Group, Labels, Links, Mountpoint, Name, Scope, Size, Status string

	// Label is the value of a label, for templates.
	Label func(name string) string `json:"-"`
}

// volumeRowOf says what Docker does: the rest is of clusters, or of `docker system df`.
func volumeRowOf(v single.Volume) volumeRow {
	const none = "N/A"
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(v.Labels)) {
		labels = append(labels, name+"="+v.Labels[name])
	}
	return volumeRow{
		Availability: none, Driver: "local", Group: none, Labels: strings.Join(labels, ","), Links: none,
		Mountpoint: v.Mountpoint, Name: v.Name, Scope: "local", Size: none, Status: none,
		Label: func(name string) string { return v.Labels[name] },
	}
}

func volumeHeadings() volumeRow {
	return volumeRow{
		Availability: "AVAILABILITY", Driver: "DRIVER", Group: "GROUP", Labels: "LABELS", Links: "LINKS",
		Mountpoint: "MOUNTPOINT", Name: "VOLUME NAME", Scope: "SCOPE", Size: "SIZE", Status: "STATUS",
		Label: func(name string) string { return name },
	}
}

func (a keeping) list() *cobra.Command {
	var quiet bool
	var template, output string
	var chosen []string
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the volumes",
		Long: `Lists the volumes. --filter keeps those that fit: dangling=true|false (no container has it, running or not),
driver=local, label=NAME[=VALUE], name=PART.

--format is a template of Go with .Name, .Driver, .Scope, .Mountpoint, .Labels and .Label "NAME"; json; or table and a
template, for columns with headings.`,
		Example: `  mullion volume ls
  mullion volume ls -f dangling=true -q
  mullion volume ls -o json`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			show, err := dockerout.Parse(template, "`mullion volume ls --help` has the fields")
			if err != nil {
				return err
			}
			if template != "" && output == "json" {
				return exit.Misuse(errors.New("--format and -o json are two forms"), "leave one of them out")
			}
			fits, err := volumeFilter(chosen)
			if err != nil {
				return err
			}

			all, err := a.volumes(cmd)
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(v single.Volume) bool { return !fits(v) })
			return printVolumes(a.Env, all, show, output, quiet)
		},
	}

	f := cmd.Flags()
	f.BoolVarP(&quiet, "quiet", "q", false, "names alone")
	f.StringArrayVarP(&chosen, "filter", "f", nil, "KEY=VALUE of those that are listed")
	f.StringVar(&template, "format", "", "a template, json, or table and a template")
	cmdline.Output(cmd, &output)

	return cmd
}

// volumes returns all volumes.
func (a keeping) volumes(cmd *cobra.Command) ([]single.Volume, error) {
	client, err := a.client(cmd)
	if err != nil {
		return nil, err
	}
	all, err := client.Volumes(cmd.Context())
	return all, engine.Refused(err)
}

// printVolumes prints volumes as `docker volume ls` does.
func printVolumes(env invoke.Env, all []single.Volume, show *dockerout.Format, output string, quiet bool) error {
	rows := []volumeRow{}
	for _, v := range all {
		rows = append(rows, volumeRowOf(v))
	}

	switch {
	case output == "json":
		return dockerout.JSON(env, rows, "")
	case quiet:
		for _, r := range rows {
			fmt.Fprintln(env.Out, r.Name)
		}
		return nil

	case show.IsJSON():
		for _, r := range rows {
			if err := dockerout.JSON(env, r, ""); err != nil {
				return err
			}
		}
		return nil

	case show.Given():
		lines := make([]any, len(rows))
		for i, r := range rows {
			lines[i] = r
		}
		return show.Print(env, volumeHeadings(), lines)
	}

	t := tabwriter.NewWriter(env.Out, 10, 1, 3, ' ', 0)
	fmt.Fprintln(t, "DRIVER\tVOLUME NAME")
	for _, r := range rows {
		fmt.Fprintln(t, r.Driver+"\t"+r.Name)
	}

	return t.Flush()
}

// volumeFilter reads values of --filter: of one key one value has to fit, of labels all.
func volumeFilter(given []string) (fits func(single.Volume) bool, err error) {
	values := map[string][]string{}
	for _, text := range given {
		key, value, ok := strings.Cut(text, "=")
		switch {
		case !ok:
			err = fmt.Errorf("invalid argument %q: want KEY=VALUE", text)
		case !slices.Contains([]string{"dangling", "driver", "label", "name"}, key):
			err = fmt.Errorf("invalid filter '%s'", key)
		case key == "dangling" && !slices.Contains([]string{"true", "1", "false", "0"}, value):
			err = fmt.Errorf("invalid filter 'dangling=%s'", value)
		}
		if err != nil {
			return nil, exit.Misuse(fmt.Errorf("--filter: %w", err), "`mullion volume ls --help` has the keys and their values")
		}
		values[key] = append(values[key], value)
	}

	one := func(key string, is func(value string) bool) bool {
		return len(values[key]) == 0 || slices.ContainsFunc(values[key], is)
	}
	return func(v single.Volume) bool {
		return one("dangling", func(value string) bool {
			return (len(v.UsedBy) == 0) == (value == "true" || value == "1")
		}) && one("driver", func(value string) bool {
			return value == "local"
		}) && one("name", func(value string) bool {
			return strings.Contains(v.Name, value)
		}) && v.HasLabels(values["label"])
	}, nil
}

// inspectedVolume is what `docker volume inspect` says of a volume
// (https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Volume/operation/VolumeInspect).
type inspectedVolume struct {
	CreatedAt, Driver string
	Labels            map[string]string
	Mountpoint, Name  string
	Options           map[string]string
	Scope             string
}

func (a keeping) inspect() *cobra.Command {
	var template string
	cmd := &cobra.Command{
		Use:   "inspect [flags] VOLUME…",
		Short: "Print all that is known of volumes, as JSON",
		Example: `  mullion volume inspect data
  mullion volume inspect -f '{{.Mountpoint}}' data`,
		Args:              atLeastOneVolume,
		ValidArgsFunction: a.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			show, err := dockerout.Parse(template, "`mullion volume inspect` without -f shows the fields")
			if err != nil {
				return err
			}
			all, err := a.volumes(cmd)
			if err != nil {
				return err
			}

			var failed error
			found := []inspectedVolume{}
			for _, name := range args {
				v, err := single.FindVolume(all, name)
				if err != nil {
					frame.PrintError(a.Env, engine.Refused(err))
					failed = exit.Silent(exit.Code(engine.Refused(err)))
					continue
				}
				found = append(found, inspectedVolume{
					CreatedAt:  v.Created.Format(time.RFC3339),
					Driver:     "local",
					Labels:     v.Labels,
					Mountpoint: v.Mountpoint,
					Name:       v.Name,
					Scope:      "local",
				})
			}

			if err := dockerout.Each(a.Env, found, show); err != nil {
				return err
			}
			return failed
		},
	}
	cmd.Flags().StringVarP(&template, "format", "f", "", "template of Go for each one, for example {{.Mountpoint}}")

	return cmd
}

func (a keeping) create() *cobra.Command {
	var labels []string
	var driver string
	cmd := &cobra.Command{
		Use:   "create [flags] [VOLUME]",
		Short: "Make a volume, which is empty",
		Long: `Makes a volume, and prints its name; without a name it gets one. One that is there is no error. What names it first
fills it with what its image has there, as with a volume that is made then.`,
		Example: "  mullion volume create --label team=web data",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if driver != "local" {
				return exit.Misuse(fmt.Errorf("--driver %s: there is local alone", driver), "leave it out")
			}
			ask := single.NewVolume{Labels: map[string]string{}}
			if len(args) > 0 {
				ask.Name = args[0]
			}
			for _, l := range labels {
				name, value, _ := strings.Cut(l, "=")
				if name == "" {
					return exit.Misuse(fmt.Errorf("%q is no label", l), "for example: --label team=web")
				}
				ask.Labels[name] = value
			}

			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			made, err := client.MakeVolume(cmd.Context(), ask)
			if err != nil {
				return engine.Refused(err)
			}
			_, err = fmt.Fprintln(a.Env.Out, made.Name)
			return err
		},
	}
	cmd.Flags().StringArrayVar(&labels, "label", nil, "NAME=VALUE, by which mullion volume ls --filter finds it")
	cmd.Flags().StringVarP(&driver, "driver", "d", "local", "local, which is all that there is")

	return cmd
}

func (a keeping) remove() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "rm [flags] VOLUME…",
		Aliases: []string{"remove"},
		Short:   "Remove volumes that no container has",
		Long: `Removes volumes with all that is in them. One that a container has, running or not, is not removed:
` + "`mullion container rm`" + ` removes the container first.`,
		Example:           "  mullion volume rm data",
		Args:              atLeastOneVolume,
		ValidArgsFunction: a.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				return name, client.RemoveVolume(ctx, name, force)
			})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "one that is not there is no error")

	return cmd
}

func (a keeping) prune() *cobra.Command {
	var force, all bool
	var chosen []string
	cmd := &cobra.Command{
		Use:   "prune [flags]",
		Short: "Remove the volumes that no container has and that nobody has named",
		Long: `Removes the volumes that nobody has named and that no container has, running or not; with -a also those with a name.
--filter label=NAME[=VALUE] or label!=NAME[=VALUE] keeps the others.`,
		Example: "  mullion volume prune -f\n  mullion volume prune -a",
		Args:    cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask, err := prunedVolumes(chosen, time.Now())
			if err != nil {
				return err
			}
			ask.All = all
			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			which := "anonymous local"
			if all {
				which = "all local"
			}
			if !force && !dockerout.Agreed(a.Env, "WARNING! This will remove "+which+" volumes not used by at least one container.") {
				return nil
			}

			gone, freed, err := client.PruneVolumes(cmd.Context(), ask)
			if err != nil {
				return engine.Refused(err)
			}
			var names []string
			for _, v := range gone {
				names = append(names, v.Name)
			}
			return dockerout.SayPruned(a.Env, "Volumes", names, freed)
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "do not ask")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also those with a name")
	cmd.Flags().StringArrayVar(&chosen, "filter", nil, "label=NAME[=VALUE] or label!=NAME[=VALUE] of those that are removed")

	return cmd
}

// prunedVolumes reads values of --filter, as those of containers and images: but for until, which Docker refuses too
// (https://github.com/moby/moby/blob/v28.5.2/volume/service/convert.go, filtersToBy).
func prunedVolumes(given []string, now time.Time) (ask single.VolumePruned, err error) {
	which, err := dockerout.ParsePruned(given, now)
	if err != nil {
		return ask, err
	}
	if !which.Until.IsZero() {
		return ask, exit.Misuse(errors.New("--filter: until is not for volumes"), "there are label and label!")
	}
	return single.VolumePruned{Labels: which.Labels, NotLabels: which.NotLabels}, nil
}
