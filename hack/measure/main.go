// Command measure counts how Go code is set: whether it has paragraphs, what stands on one line, how comments begin.
//
//	go run ./hack/measure [-depth 2] [-tests] [-receivers 5] [FOLDER]
//
// A row of its table is a room: a folder at -depth below FOLDER. Generated files, testdata and vendor are left out.
// It reads the syntax only, so any repository can be measured, whether it compiles here or not:
//
//	lines       lines of the files
//	blank       share of blank lines among the lines inside functions
//	unbroken    share of those lines that are in a run of more than 25 lines without a blank one
//	solid       share of the functions of more than 25 lines that have no blank line at all
//	mixed       && and || in one expression without parentheses, per 1,000 lines
//	two, three  assignments a, b = x, y and a, b, c = x, y, z, per 1,000 lines
//	keyed       literals with three or more keyed fields on one line, per 1,000 lines
//	wide        lines of more than 120 columns, a tab being four, per 1,000 lines
//	x is        share of the functions' comments that begin "x is" or "x are"
//	name        average length of the name of a local variable
//	p50, p99    lines of a function: the middle one, and what one of a hundred exceeds
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	depth := flag.Int("depth", 2, "how many folders deep a room is")
	tests := flag.Bool("tests", false, "measure the tests instead of the code")
	receivers := flag.Int("receivers", 5, "how many of the types with the most methods are named")
	flag.Parse()
	root := cmp.Or(flag.Arg(0), ".")

	if err := run(os.Stdout, root, *depth, *tests, *receivers); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, root string, depth int, tests bool, receivers int) error {
	rooms, err := measure(root, depth, tests)
	if err != nil {
		return err
	}
	return printed(out, rooms, receivers)
}

// measure reads the Go files below root. The room of a file is its folder, depth names deep.
func measure(root string, depth int, tests bool) (map[string]*counts, error) {
	rooms := map[string]*counts{}

	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if entry.IsDir() {
			if path != root && leftOut(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}

		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") != tests {
			return nil
		}

		relative, err := filepath.Rel(root, path)
		if err != nil {
			return fmt.Errorf("name %s below %s: %w", path, root, err)
		}

		source, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a file to measure: %w", err)
		}

		room := roomOf(filepath.ToSlash(relative), depth)
		if rooms[room] == nil {
			rooms[room] = newCounts()
		}

		return rooms[room].add(relative, source)
	})
	if err != nil {
		return nil, err
	}

	if len(rooms) == 0 {
		return nil, errors.New("no Go files are below " + root)
	}

	return rooms, nil
}

// leftOut says whether a folder of this name has nothing that somebody wrote here.
func leftOut(name string) bool {
	return name == "vendor" || name == "testdata" || name == "bin" || strings.HasPrefix(name, ".")
}

// roomOf returns the first depth folders of a file's path.
func roomOf(path string, depth int) string {
	folders := strings.Split(path, "/")
	folders = folders[:len(folders)-1]
	if len(folders) == 0 {
		return "."
	}
	return strings.Join(folders[:min(depth, len(folders))], "/")
}

// printed writes the table, a room a line, all of them in the last line, and then the types with the most methods.
func printed(out io.Writer, rooms map[string]*counts, receivers int) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "room\tlines\tblank\tunbroken\tsolid\tmixed\ttwo\tthree\tkeyed\twide\tx is\tname\tp50\tp99\t")

	all := newCounts()
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		fmt.Fprintln(table, rooms[name].row(name))
		all.merge(rooms[name])
	}

	fmt.Fprintln(table, all.row("all"))

	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}

	for _, line := range all.largest(receivers) {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return fmt.Errorf("print the types: %w", err)
		}
	}

	return nil
}
