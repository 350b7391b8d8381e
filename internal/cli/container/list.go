package container

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/single/nat"
)

// listOptions are the flags of `mullion container ls`.
type listOptions struct {
	all, quiet, whole, latest bool
	last                      int
	output                    string
	format                    *dockerout.Format
	filters                   filters
}

func (a *commands) list() *cobra.Command {
	var o listOptions
	var template string
	var chosen []string
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list", "ps"},
		Short:   "List the containers that run, or with -a all",
		Long: `Lists the containers that run, the newest first; with -a also those that have ended.

--filter keeps those that fit: ` + filterNames() + `.
Given several times with one key, one of the values has to fit, of labels all; of different keys all have to.

--format is a template of Go with .ID, .Image, .Command, .CreatedAt, .RunningFor, .State, .Status, .Ports, .Names,
.Labels, .Mounts, .Networks and .Label "NAME"; json; or table and a template, for columns with headings.`,
		Example: `  mullion container ls
  mullion container ls -a --filter label=team=web --filter status=exited
  mullion container ls --format 'table {{.Names}}\t{{.Status}}'
  mullion container rm -f $(mullion container ls -aq)`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.format, err = dockerout.Parse(template, "`mullion container ls --help` has the fields"); err != nil {
				return err
			}
			if template != "" && o.output == "json" {
				return exit.Misuse(errors.New("--format and -o json are two forms"), "leave one of them out")
			}
			if o.filters, err = parseFilters(chosen); err != nil {
				return err
			}

			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			all, err := client.List(cmd.Context())
			if err != nil {
				return engine.Refused(err)
			}

			if all, err = o.filters.chosen(all); err != nil {
				return err
			}
			return o.print(a.Env, all, time.Now())
		},
	}

	f := cmd.Flags()
	f.BoolVarP(&o.all, "all", "a", false, "also those that have ended")
	f.IntVarP(&o.last, "last", "n", -1, "the newest so many, also those that have ended")
	f.BoolVarP(&o.latest, "latest", "l", false, "the newest, also if it has ended")
	f.StringArrayVarP(&chosen, "filter", "f", nil, "KEY=VALUE of those that are listed")
	f.StringVar(&template, "format", "", "a template, json, or table and a template")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "ids alone")
	f.BoolVar(&o.whole, "no-trunc", false, "whole ids and commands")
	cmdline.Output(cmd, &o.output)

	return cmd
}

// shown returns the containers that are listed.
func (o listOptions) shown(all []single.Container) (shown []single.Container) {
	last := o.last
	if o.latest {
		last = 1
	}
	for _, c := range all {
		runs := c.Status() == single.Running || c.Status() == single.Restarting // Docker counts both
		if runs || o.all || last > 0 || o.filters.ofStates() {
			shown = append(shown, c)
		}
	}
	if last > 0 {
		return shown[:min(last, len(shown))]
	}
	return shown
}

// print prints containers as `docker ps` does.
func (o listOptions) print(env invoke.Env, all []single.Container, now time.Time) error {
	rows := []row{}
	for _, c := range o.shown(all) {
		rows = append(rows, o.rowOf(c, now))
	}

	switch {
	case o.output == "json":
		return dockerout.JSON(env, rows, "")
	case o.quiet:
		for _, r := range rows {
			fmt.Fprintln(env.Out, r.ID)
		}

		return nil

	case o.format.IsJSON():
		for _, r := range rows {
			if err := dockerout.JSON(env, r, ""); err != nil {
				return err
			}
		}
		return nil

	case o.format.Given():
		lines := make([]any, len(rows))
		for i, r := range rows {
			lines[i] = r
		}
		return o.format.Print(env, headings(), lines)
	}

	t := tabwriter.NewWriter(env.Out, 10, 1, 3, ' ', 0)
	fmt.Fprintln(t, "CONTAINER ID\tIMAGE\tCOMMAND\tCREATED\tSTATUS\tPORTS\tNAMES")
	for _, r := range rows {
		columns := []string{r.ID, r.Image, r.Command, r.RunningFor, r.Status, r.Ports, r.Names}
		fmt.Fprintln(t, strings.Join(columns, "\t"))
	}

	return t.Flush()
}

// row has what `docker ps --format json` has of a container, by its names.
type row struct {
	ID, Image, Command, CreatedAt, RunningFor, State, Status, Ports, Names string
	Labels, Mounts, Networks                                               string

	// Label is the value of a label, for templates.
	Label func(name string) string `json:"-"`
}

// headings returns the headings of the columns that a template has.
func headings() row {
	return row{
		ID: "CONTAINER ID", Image: "IMAGE", Command: "COMMAND", CreatedAt: "CREATED AT", RunningFor: "CREATED",
		State: "STATE", Status: "STATUS", Ports: "PORTS", Names: "NAMES", Labels: "LABELS", Mounts: "MOUNTS",
		Networks: "NETWORKS",
		Label:    func(name string) string { return name },
	}
}

// widestCommand is how many letters of a command are shown, as Docker does.
const widestCommand = 20

func (o listOptions) rowOf(c single.Container, now time.Time) row {
	whole := o.whole || o.output == "json"
	r := row{
		ID:         c.ShortID(),
		Image:      c.Image(),
		Command:    commandText(c, whole),
		CreatedAt:  c.Created.Format(time.RFC3339),
		RunningFor: units.HumanDuration(now.Sub(c.Created)) + " ago",
		State:      c.Status(),
		Status:     statusOf(c, now),
		Names:      c.Name,
		Labels:     labelsText(c),
		Mounts:     mountsText(c),
		Networks:   string(networkOf(c)),
		Label:      func(name string) string { return c.AllLabels()[name] },
	}

	if whole {
		r.ID = c.ID
	}
	if c.State() == single.Running {
		r.Ports = portsText(c)
	}
	return r
}

func labelsText(c single.Container) string {
	var all []string
	labels := c.AllLabels()
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+"="+labels[name])
	}
	return strings.Join(all, ",")
}

func mountsText(c single.Container) string {
	var all []string
	for _, m := range c.Run.Mounts {
		all = append(all, cmp.Or(m.Volume, m.Source))
	}
	return strings.Join(all, ",")
}

func networkOf(c single.Container) single.Network { return cmp.Or(c.Run.Network, single.NAT) }

// portsText returns the published ports as Docker shows them: 127.0.0.1:8080->80/tcp; of those that follow each other
// the first and the last.
func portsText(c single.Container) string {
	var texts []string
	all := sortedPorts(c)
	for len(all) > 0 {
		first, n := all[0], 1
		for n < len(all) && follows(first, all[n], n) {
			n++
		}

		outside, inside := fmt.Sprint(netip.AddrPortFrom(first.Addr, first.Host)), fmt.Sprint(first.Container)
		if n > 1 {
			outside = fmt.Sprintf("%s-%d", outside, all[n-1].Host)
			inside = fmt.Sprintf("%s-%d", inside, all[n-1].Container)
		}
		texts = append(texts, fmt.Sprintf("%s->%s/%s", outside, inside, first.Protocol))
		all = all[n:]
	}

	return strings.Join(texts, ", ")
}

// follows reports whether a port is the nth after the first.
func follows(first, port nat.Port, n int) bool {
	return port.Addr == first.Addr && port.Protocol == first.Protocol && int(port.Host) == int(first.Host)+n &&
		int(port.Container) == int(first.Container)+n
}

// sortedPorts returns the published ports in the order of the container's.
func sortedPorts(c single.Container) []nat.Port {
	return slices.SortedStableFunc(slices.Values(c.Published()), func(a, b nat.Port) int {
		return cmp.Or(
			cmp.Compare(a.Protocol, b.Protocol),
			a.Addr.Compare(b.Addr),
			cmp.Compare(a.Container, b.Container),
			cmp.Compare(a.Host, b.Host),
		)
	})
}

// commandText returns the command in quotes, cut as Docker does.
func commandText(c single.Container, whole bool) string {
	args := c.Args
	if len(args) == 0 { // it is being made
		args = append(slices.Clone(c.Run.Entrypoint), c.Run.Args...)
	}
	text := []rune(strings.Join(args, " "))
	if !whole && len(text) > widestCommand {
		text = append(text[:widestCommand-1], '…')
	}
	return strconv.Quote(string(text))
}

// healthText says what is known of a container's health, in Docker's words.
func healthText(c single.Container) string {
	switch {
	case c.Health == nil:
		return ""
	case c.Health.Status == single.Starting:
		return " (health: starting)"
	}
	return " (" + c.Health.Status + ")"
}

// statusOf says how a container fares, in Docker's words.
func statusOf(c single.Container, now time.Time) string {
	switch c.Status() {
	case single.Running:
		return "Up " + units.HumanDuration(now.Sub(c.Started)) + healthText(c)
	case single.Restarting:
		return fmt.Sprintf("Restarting (%d) %s ago", c.End.Code, units.HumanDuration(now.Sub(c.Finished)))
	case single.Exited:
		return fmt.Sprintf("Exited (%d) %s ago", c.End.Code, units.HumanDuration(now.Sub(c.Finished)))
	}
	return "Created"
}
