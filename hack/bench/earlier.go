package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// programs are the programs of a commit in a folder, as the flag COMMIT=FOLDER.
type programs struct{ commit, folder string }

// String implements flag.Value.
func (p *programs) String() string {
	if p.folder == "" {
		return ""
	}
	return p.commit + "=" + p.folder
}

// Set implements flag.Value.
func (p *programs) Set(text string) error {
	commit, folder, found := strings.Cut(text, "=")
	if !found || commit == "" || folder == "" {
		return errors.New("it is COMMIT=FOLDER")
	}
	p.commit, p.folder = commit, folder
	return nil
}

// asked is the commit of whose times so much less is asked for.
const asked = "206638e6"

// is reports whether the programs are those of a commit, which is given by eight digits.
func (p *programs) is(commit string) bool { return strings.HasPrefix(p.commit, commit) }

// thanEarlier measures bringing a cluster up by these programs and by those of an earlier commit, in turns, so that
// both see the same load: from nothing, with the state of a cluster that was stopped, and a node that is added.
func (b *bench) thanEarlier(ctx context.Context) ([]figure, error) {
	if b.earlier.folder == "" {
		if slices.Contains(b.only, "earlier") {
			return nil, errors.New("-only earlier wants -against COMMIT=FOLDER")
		}
		return nil, nil
	}

	folder, err := filepath.Abs(b.earlier.folder)
	if err != nil {
		return nil, err
	}

	sides := []*bench{
		{bin: folder, data: b.data + "-earlier", out: b.out, log: b.log},
		{bin: b.bin, data: b.data + "-now", out: b.out, log: b.log},
	}
	steps := []struct{ what, asked string }{
		{"up of a Linux and two Windows nodes from nothing", "≤ 0.5"},
		{"the same, with the state of a cluster that was stopped", "≤ 0.4"},
		{"a third Windows node is added", ""},
	}

	took := make([][2][]float64, len(steps))
	for range b.runs {
		for at, side := range sides {
			seconds, err := side.bringUp(ctx)
			downErr := side.mullion(context.WithoutCancel(ctx), "", "down", "--kubeconfig", "none")
			if err = errors.Join(err, downErr); err != nil {
				return nil, err
			}
			for i, s := range seconds {
				took[i][at] = append(took[i][at], s)
			}
		}
	}

	var all []figure
	for i, step := range steps {
		ratio := figure{
			what: fmt.Sprintf("%s, of %s's time in the same turn", step.what, b.earlier.commit),
			unit: "×",
		}
		if b.earlier.is(asked) {
			ratio.asked = step.asked
		}
		for turn, s := range took[i][0] {
			ratio.values = append(ratio.values, took[i][1][turn]/s)
		}

		all = append(all,
			figure{
				what:   step.what + ", by " + b.earlier.commit,
				unit:   "s",
				values: took[i][0],
			},
			figure{
				what:   step.what,
				unit:   "s",
				values: took[i][1],
			}, ratio)
	}

	return all, nil
}

// bringUp returns the seconds of each step that thanEarlier measures.
func (b *bench) bringUp(ctx context.Context) ([]float64, error) {
	cold, err := b.timed(ctx, spec, "up", "-f", "-", "--kubeconfig", "none")
	if err != nil {
		return nil, err
	}
	if err := b.mullion(ctx, "", "stop"); err != nil {
		return nil, err
	}

	warm, err := b.timed(ctx, "", "up", "--kubeconfig", "none")
	if err != nil {
		return nil, err
	}
	further := strings.Replace(spec, "count: 2", "count: 3", 1)
	added, err := b.timed(ctx, further, "up", "-f", "-", "--kubeconfig", "none")
	return []float64{cold, warm, added}, err
}
