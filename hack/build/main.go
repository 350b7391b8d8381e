// Command build makes Mullion's programs, and upstream's, in bin:
//
//	go run ./hack/build SET|STEP...
//
// A step makes programs of one module for one system; steps.go has the table of them. A set is what somebody needs:
// `up` what `make up` runs, `build` all that a release has, and so on. Steps whose packages are of different systems
// run side by side; those of one system run one after the other, since each finds what the one before has compiled.
// While a step runs, its line says how far it is. What is up to date is not made again.
//
// MULLION_VERSION is the version that Mullion's programs say they have.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "build: interrupted; what was finished is kept, and the next build goes on from there")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args, environ []string, out io.Writer) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	list := flags.Bool("list", false, "print the steps, and what needs them")
	count := flags.Bool("count", false, "print how many packages the steps compile from empty caches, and stop")
	force := flags.Bool("force", false, "make also what is up to date")
	lanes := flags.Int("j", sideBySide, "how many steps run side by side")
	kube := flags.String("kubernetes", "", "a version of Kubernetes whose bundle is made, for example v1.35.8")

	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: go run ./hack/build [flags] SET|STEP...\n\n")
		flags.PrintDefaults()
		fmt.Fprintf(flags.Output(), "\nsets: %s\n", strings.Join(sets(table()), ", "))
	}

	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}

	root, err := repository()
	if err != nil {
		return err
	}

	steps := table()
	if *kube != "" {
		more, err := bundleOf(root, *kube)
		if err != nil {
			return err
		}
		steps = append(steps, more...)
	}

	if *list {
		return printTable(out, steps)
	}
	chosen, err := choose(steps, flags.Args())
	if err != nil {
		return err
	}

	b, err := newBuilder(root, environ, out)
	if err != nil {
		return err
	}
	defer b.close()

	if *count {
		return b.count(ctx, chosen, out)
	}
	b.force = *force
	return b.build(ctx, chosen, *lanes)
}

// sideBySide is how many steps run at once: one for each system. Each compiles on all processors already; the others
// fill the time in which it links, or compiles the one large package that all wait for.
const sideBySide = 3

// repository returns the root of the checkout that the working directory is in.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}

	for {
		if _, err := os.Stat(filepath.Join(dir, "hack/build/steps.go")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("find the checkout: the working directory is not in one of Mullion")
		}
		dir = filepath.Dir(dir)
	}
}

// choose returns the steps of these names and sets with all that they need, in the order of the table.
func choose(steps []step, names []string) ([]step, error) {
	if len(names) == 0 {
		return nil, errors.New("name what to build; -h lists the sets, -list the steps")
	}

	wanted := map[string]bool{}
	for _, name := range names {
		found := false
		for _, s := range steps {
			if s.name == name || slices.Contains(s.sets, name) {
				wanted[s.name], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q is neither a step nor a set; -list prints both", name)
		}
	}

	// A step comes after all that it needs, so one pass from the end finds what is needed by what is needed.
	for _, s := range slices.Backward(steps) {
		if wanted[s.name] {
			for _, need := range s.needs {
				wanted[need] = true
			}
		}
	}

	var chosen []step
	for _, s := range steps {
		if wanted[s.name] {
			chosen = append(chosen, s)
		}
	}

	return chosen, nil
}

// sets returns the names of all sets, sorted.
func sets(steps []step) []string {
	var all []string
	for _, s := range steps {
		all = append(all, s.sets...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func printTable(w io.Writer, steps []step) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STEP\tFOR\tMODULE\tSETS\tWHY")
	for _, s := range steps {
		module := s.module
		if module == "" {
			module = "."
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", s.name, s.system, module, strings.Join(s.sets, ","), s.why)
	}
	return t.Flush()
}
