package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// counted is what `go list` says of each package of a step: its path, its module and version, its folder, its Go files,
// and what it imports, those before those that import them.
const counted = "{{.ImportPath}}\t{{with .Module}}{{.Path}}@{{.Version}}{{end}}\t{{.Dir}}\t" +
	"{{range .GoFiles}}{{.}} {{end}}\t{{range .Imports}}{{.}} {{end}}"

// count prints how many packages each step compiles from empty caches. A package is compiled once for all that use it
// as long as its system, its version, its files, its flags and all that it imports are the same. Tags choose files.
func (b *builder) count(ctx context.Context, steps []step, out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STEP\tFOR\tPACKAGES\tCOMPILED\tTHEIR SOURCE")
	seen := map[[sha256.Size]byte]bool{}
	var all, bytesOfAll int64
	for _, s := range steps {
		if s.run != nil {
			continue
		}
		text, err := b.packagesOf(ctx, s)
		if err != nil {
			return err
		}

		packages, compiled, size := countStep(s, text, seen)
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.1f MB\n", s.name, s.system, packages, compiled, float64(size)/1e6)
		all += compiled
		bytesOfAll += size
	}

	fmt.Fprintf(t, "together\t\t\t%d\t%.1f MB\n", all, float64(bytesOfAll)/1e6)
	return t.Flush()
}

// packagesOf returns what go list says of a step's packages and all that they import.
func (b *builder) packagesOf(ctx context.Context, s step) ([]byte, error) {
	args := []string{"list", "-deps", "-f", counted}
	if s.modfile != "" {
		args = append(args, "-modfile="+s.modfile)
	}
	for _, f := range s.flags {
		if strings.HasPrefix(f, "-tags") {
			args = append(args, f)
		}
	}

	c := exec.CommandContext(ctx, "go", append(args, s.packages...)...)
	c.Dir = filepath.Join(b.root, s.module)
	c.Env = append(slices.Clone(b.environ), "GOOS="+s.system, "CGO_ENABLED="+cgo(s))
	var problem bytes.Buffer
	c.Stderr = &problem
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w\n%s", s.name, err, problem.Bytes())
	}

	return text, nil
}

// countStep counts a step's packages, those of them that are not in seen yet, and the bytes of the source of these.
func countStep(s step, text []byte, seen map[[sha256.Size]byte]bool) (packages, compiled, size int64) {
	keys := map[string][sha256.Size]byte{}
	flags := slices.DeleteFunc(slices.Clone(s.flags), func(flag string) bool {
		return strings.HasPrefix(flag, "-tags")
	})

	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 5 || fields[0] == "unsafe" {
			continue
		}

		h := sha256.New()
		fmt.Fprintln(h, fields[0], s.system, flags, cmp.Or(fields[1], "std"), fields[3])
		for imported := range strings.FieldsSeq(fields[4]) {
			fmt.Fprintf(h, "%x\n", keys[imported])
		}

		key := [sha256.Size]byte(h.Sum(nil))
		keys[fields[0]] = key

		packages++
		if seen[key] {
			continue
		}

		seen[key] = true
		compiled++
		for file := range strings.FieldsSeq(fields[3]) {
			if info, err := os.Stat(filepath.Join(fields[2], file)); err == nil {
				size += info.Size()
			}
		}
	}

	return packages, compiled, size
}
