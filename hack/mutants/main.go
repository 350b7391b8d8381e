// Command mutants asks whether the tests would notice: it changes one expression of a package at a time, runs the
// package's own tests of the pure rung, and counts the changes that no test fails for.
//
//	go run ./hack/mutants [-n 40] [-seed 1] [-each 2] [-timeout 2m] [-show] [PACKAGE…]
//
// A mutant is one of kinds: a comparison that is turned round, && for ||, a condition that has lost its !, a bool that
// is returned the other way, an error that is not looked at. Which ones are tried is drawn from all places of the
// packages by the seed, at most -each of a package. Nothing is written to the tree: the compiler gets the changed file
// as an overlay. The tests run as nobody when root asks, as nobody knows what a mutant does. A mutant that does not
// compile does not count, nor does one of a package whose tests fail without it.
//
// The result is written below .cache/results as suite mutants: a mutant that is noticed is "passed", one that survives
// is "failed". `go run ./hack/results keep mutants` keeps it. What survives here may fail in another rung; which one
// says nobody but a reader.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"mullion.dev/mullion/hack/kept"
	"mullion.dev/mullion/internal/conformance/result"
)

// options is what the command line says.
type options struct {
	n, each  int
	seed     uint64
	timeout  time.Duration
	show     bool
	packages []string
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 40, "how many mutants are tried")
	flag.IntVar(&o.each, "each", 2, "how many of them at most are of one package")
	flag.Uint64Var(&o.seed, "seed", 1, "which ones are drawn")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long the tests of a package may take")
	flag.BoolVar(&o.show, "show", false, "print the mutants, run nothing")
	flag.Parse()
	o.packages = flag.Args()
	if len(o.packages) == 0 {
		o.packages = []string{"./internal/..."}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	packages, err := list(ctx, o.packages)
	if err != nil {
		return err
	}
	mutants, err := draw(packages, o)
	if err != nil {
		return err
	}

	if o.show {
		for _, m := range mutants {
			fmt.Fprintln(out, m)
		}
		return nil
	}

	of := kept.Result{
		Suite:   "mutants",
		Began:   time.Now().UTC().Truncate(time.Second),
		Machine: kept.ThisMachine(ctx),
		Args:    append([]string{fmt.Sprintf("-n=%d", o.n), fmt.Sprintf("-seed=%d", o.seed)}, o.packages...),
	}
	of.Commit, of.Changed = kept.Commit(ctx, ".")
	load := kept.WatchLoad()

	of.Tests, err = try(ctx, mutants, o.timeout, out)
	of.Load = load()
	of.Seconds = time.Since(of.Began).Seconds()
	if err != nil {
		of.Incomplete = err.Error()
	}
	if len(of.Tests) == 0 {
		return cmp.Or(err, errors.New("no mutant was tried: the packages have none, or no tests"))
	}

	counts := of.Count()
	fmt.Fprintf(out, "%d of %d mutants survive\n", counts[result.Failed], len(of.Tests))
	path, writeErr := kept.Write(kept.Fresh, of)
	fmt.Fprintln(out, path)
	return errors.Join(err, writeErr)
}

// try runs the tests of each mutant's package, and returns how that ended for those that count.
func try(ctx context.Context, mutants []mutant, timeout time.Duration, out io.Writer) (ended []kept.Test, err error) {
	t, err := newTests(timeout)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()

	good := map[string]bool{} // by import path: whether the tests pass as the package stands
	for _, m := range mutants {
		path := m.pkg.ImportPath
		if _, known := good[path]; !known {
			if good[path], err = t.passes(ctx, m.pkg); err != nil {
				return ended, err
			}
		}

		if !good[path] {
			fmt.Fprintf(out, "  %-11s %s (its package fails without it)\n", "not tried", m)
			continue
		}

		began := time.Now()
		said, noticed, err := t.mutant(ctx, m)
		switch {
		case ctx.Err() != nil:
			return ended, context.Cause(ctx)
		case errors.Is(err, errNoMutant):
			fmt.Fprintf(out, "  %-11s %s\n", "no mutant", m)
			continue
		case err != nil:
			return ended, err
		}

		end := kept.Test{
			Name:     m.String(),
			State:    result.Passed,
			Attempts: 1,
			Seconds:  time.Since(began).Seconds(),
		}

		word := "noticed"
		if !noticed {
			word = "SURVIVES"
			end.State = result.Failed
			end.Reason = "no test of the package fails"
		}
		ended = append(ended, end)
		fmt.Fprintf(out, "  %-11s %s %s\n", word, m, firstFailure(said))
	}

	return ended, nil
}

// firstFailure returns the name of the first test that go test says has failed, in parentheses, or nothing.
func firstFailure(said string) string {
	_, rest, found := strings.Cut(said, "--- FAIL: ")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, " ")
	return "(" + name + ")"
}
