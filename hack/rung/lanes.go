package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
)

// lanesOf parts a rung's packages into lanes. Lanes run side by side, the packages of a lane one after the other, as do
// those of every rung but wine.
//
// Of rung wine, packages that look at what there is on the whole machine are in one lane with whatever would be in
// their way: those that run containers, who look for the traces of containerd's shims; and the rest, of which
// internal/windows/wine looks for folders that wineservers leave in /tmp, as test/hnswine and test/winapi do.
func lanesOf(rung string, packages []string) [][]string {
	if rung != "wine" {
		return [][]string{packages}
	}

	apart := []string{"./test/cri", "./test/run", "./test/winnode", "./test/winrun"}
	var first, second []string
	for _, pkg := range packages {
		if slices.Contains(apart, pkg) {
			second = append(second, pkg)
		} else {
			first = append(first, pkg)
		}
	}

	return slices.DeleteFunc([][]string{first, second}, func(lane []string) bool { return len(lane) == 0 })
}

// goTest runs go test for each lane, and reads what they say until all have ended.
func (r *result) goTest(ctx context.Context, args []string, lanes [][]string, w io.Writer) error {
	errs := make([]error, len(lanes))
	var running sync.WaitGroup
	for i, lane := range lanes {
		running.Go(func() { errs[i] = r.goTestLane(ctx, append(slices.Clone(args), lane...), w) })
	}
	running.Wait()

	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// goTestLane runs go test once.
func (r *result) goTestLane(ctx context.Context, args []string, w io.Writer) error {
	cmd := endable(ctx, args)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}

	r.read(out, w)
	return cmd.Wait()
}
