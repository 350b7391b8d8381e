package container

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/single"
)

// statsOptions are the flags of `mullion container stats`.
type statsOptions struct {
	once, whole, all bool
	format           *dockerout.Format
}

func (a *commands) stats() *cobra.Command {
	var o statsOptions
	var template string
	cmd := &cobra.Command{
		Use:   "stats [flags] [CONTAINER…]",
		Short: "Show what containers use: processors, memory, network, disks",
		Long: `Shows each second what containers use, those named or all that run, until Ctrl-C. In a pipe each second has lines of its
own; --no-stream shows one second. CPU % is of one processor; memory is what cannot be taken away without swapping.

--format is a template of Go with .ID, .Name, .Container, .CPUPerc, .MemUsage, .MemPerc, .NetIO, .BlockIO and .PIDs;
json; or table and a template.`,
		Example: `  mullion container stats
  mullion container stats --no-stream --format '{{.Name}} {{.MemUsage}}' web`,
		ValidArgsFunction: a.complete(true, single.Running),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.format, err = dockerout.Parse(template, "`mullion container stats --help` has the fields"); err != nil {
				return err
			}
			client, err := a.client(cmd)
			if err != nil {
				return err
			}

			if o.all && len(args) == 0 {
				if args, err = allNames(cmd.Context(), client); err != nil {
					return engine.Refused(err)
				}
			}

			return engine.Refused(o.watch(cmd.Context(), a.Env, client, args))
		},
	}

	f := cmd.Flags()
	f.BoolVarP(&o.all, "all", "a", false, "also those that have ended")
	f.BoolVar(&o.once, "no-stream", false, "show one second, and end")
	f.BoolVar(&o.whole, "no-trunc", false, "whole ids")
	f.StringVar(&template, "format", "", "a template, json, or table and a template")

	return cmd
}

func allNames(ctx context.Context, client *single.Client) (names []string, err error) {
	all, err := client.List(ctx)
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names, err
}

// statsEvery is the time between two looks.
const statsEvery = time.Second

// sampler says what containers use, as a single.Client does.
type sampler interface {
	Samples(ctx context.Context, names ...string) ([]single.Sample, error)
}

// watch shows what containers use until the context ends.
func (o statsOptions) watch(ctx context.Context, env invoke.Env, client sampler, names []string) error {
	before, err := client.Samples(ctx, names...)
	if err != nil {
		return err
	}
	tick := time.NewTicker(statsEvery)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil // the person has seen enough
		case <-tick.C:
		}

		now, err := client.Samples(ctx, names...)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}

		if err := o.show(env, before, now); err != nil || o.once {
			return err
		}
		before = now
	}
}

// clearScreen is what begins a second on a terminal, as with Docker.
const clearScreen = "\x1b[2J\x1b[H"

// show prints what was used between two looks.
func (o statsOptions) show(env invoke.Env, before, now []single.Sample) error {
	earlier := map[string]single.Sample{}
	for _, s := range before {
		earlier[s.ID] = s
	}

	rows := make([]any, len(now))
	for i, s := range now {
		rows[i] = o.row(earlier[s.ID], s)
	}

	if env.Terminal && !o.once && !o.format.IsJSON() {
		fmt.Fprint(env.Out, clearScreen)
	}

	switch {
	case o.format.IsJSON():
		for _, r := range rows {
			if err := dockerout.JSON(env, r, ""); err != nil {
				return err
			}
		}
		return nil
	case o.format.Given():
		return o.format.Print(env, statsHeadings(), rows)
	}

	t := tabwriter.NewWriter(env.Out, 10, 1, 3, ' ', 0)
	for _, r := range append([]any{statsHeadings()}, rows...) {
		if r, ok := r.(statsRow); ok {
			fmt.Fprintln(t, strings.Join([]string{
				r.ID, r.Name, r.CPUPerc, r.MemUsage, r.MemPerc, r.NetIO, r.BlockIO, r.PIDs,
			}, "\t"))
		}
	}

	return t.Flush()
}

// statsRow has what `docker stats --format json` has of a container, by its names.
type statsRow struct{ BlockIO, CPUPerc, Container, ID, MemPerc, MemUsage, Name, NetIO, PIDs string }

func statsHeadings() statsRow {
	return statsRow{
		BlockIO: "BLOCK I/O", CPUPerc: "CPU %", Container: "CONTAINER", ID: "CONTAINER ID", MemPerc: "MEM %",
		MemUsage: "MEM USAGE / LIMIT", Name: "NAME", NetIO: "NET I/O", PIDs: "PIDS",
	}
}

// row returns what a container uses; of one that does not run, nothing is known.
func (o statsOptions) row(before, now single.Sample) statsRow {
	id := now.ID
	if !o.whole {
		id = now.ID[:min(len(now.ID), 12)]
	}

	if now.At.IsZero() {
		return statsRow{
			BlockIO: "--", CPUPerc: "--", Container: id, ID: id, MemPerc: "--", MemUsage: "-- / --", Name: now.Name,
			NetIO: "--", PIDs: "--",
		}
	}
	both := func(a, b uint64) string {
		return units.HumanSizeWithPrecision(float64(a), 3) + " / " + units.HumanSizeWithPrecision(float64(b), 3)
	}

	return statsRow{
		BlockIO:   both(now.Read, now.Written),
		CPUPerc:   fmt.Sprintf("%.2f%%", busy(before, now)),
		Container: id,
		ID:        id,
		MemPerc:   fmt.Sprintf("%.2f%%", 100*float64(now.Memory)/float64(max(now.Limit, 1))),
		MemUsage:  units.BytesSize(float64(now.Memory)) + " / " + units.BytesSize(float64(now.Limit)),
		Name:      now.Name,
		NetIO:     both(now.Received, now.Sent),
		PIDs:      fmt.Sprint(now.Processes),
	}
}

// busy returns how much of a processor was used between two looks, in percent: of two of them up to 200.
func busy(before, now single.Sample) float64 {
	wall, cpu := now.At.Sub(before.At), now.CPU-before.CPU
	if before.At.IsZero() || wall <= 0 || cpu < 0 { // it has begun meanwhile
		return 0
	}
	return 100 * float64(cpu) / float64(wall)
}
