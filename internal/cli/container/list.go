package container

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/single"
)

// listOptions are the flags of `mullion container ls`.
type listOptions struct {
	all, quiet, whole bool
	output            string
}

func (a *commands) list() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list", "ps"},
		Short:   "List the containers that run, or with -a all",
		Example: "  mullion container ls\n  mullion container ls -a\n  mullion container rm -f $(mullion container ls -aq)",
		Args:    cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			all, err := client.List(cmd.Context())
			if err != nil {
				return engine.Refused(err)
			}
			return o.print(a.Env.Out, all, time.Now())
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.all, "all", "a", false, "also those that have ended")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "ids alone")
	f.BoolVar(&o.whole, "no-trunc", false, "whole ids and commands")
	cmdline.Output(cmd, &o.output)
	return cmd
}

// print prints containers as `docker ps` does.
func (o listOptions) print(w io.Writer, all []single.Container, now time.Time) error {
	rows := []row{}
	for _, c := range all {
		if o.all || c.State() == single.Running {
			rows = append(rows, o.rowOf(c, now))
		}
	}
	switch {
	case o.output == "json":
		return json.NewEncoder(w).Encode(rows)
	case o.quiet:
		for _, r := range rows {
			fmt.Fprintln(w, r.ID)
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 10, 1, 3, ' ', 0)
	fmt.Fprintln(t, "CONTAINER ID\tIMAGE\tCOMMAND\tCREATED\tSTATUS\tPORTS\tNAMES")
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join([]string{r.ID, r.Image, r.Command, r.RunningFor, r.Status, r.Ports, r.Names}, "\t"))
	}
	return t.Flush()
}

// row has what `docker ps --format json` has of a container, by its names.
type row struct {
	ID, Image, Command, CreatedAt, RunningFor, State, Status, Ports, Names string
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
		State:      c.State(),
		Status:     statusOf(c, now),
		Names:      c.Name,
	}
	if whole {
		r.ID = c.ID
	}
	if c.State() == single.Running {
		r.Ports = portsText(c)
	}
	return r
}

// portsText are the published ports as Docker shows them: 127.0.0.1:8080->80/tcp.
func portsText(c single.Container) string {
	var ports []string
	for _, p := range c.Run.Ports {
		ports = append(ports, fmt.Sprintf("%s->%d/%s", netip.AddrPortFrom(p.Addr, p.Host), p.Container, p.Protocol))
	}
	return strings.Join(ports, ", ")
}

// commandText is the command in quotes, cut as Docker does.
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

// statusOf says how a container fares, in Docker's words.
func statusOf(c single.Container, now time.Time) string {
	switch c.State() {
	case single.Running:
		return "Up " + units.HumanDuration(now.Sub(c.Started))
	case single.Exited:
		return fmt.Sprintf("Exited (%d) %s ago", c.End.Code, units.HumanDuration(now.Sub(c.Finished)))
	}
	return "Created"
}
