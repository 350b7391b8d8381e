package gotest

import (
	"path/filepath"
	"slices"
	"strings"
)

// outputFolder is where the container has what the program writes by its flags.
const outputFolder = drive + `\go-test`

// output is a file or a folder that a flag names: in the container it is outputFolder\name.
type output struct {
	// path is its place on this machine.
	path string
	name string
	kind kind
}

// kind is what a flag names.
type kind int

const (
	file   kind = iota + 1
	folder      // of files, which are read and written
)

// kindOf returns what a flag of Go's test programs names, 0 where that is no path
// (https://pkg.go.dev/cmd/go#hdr-Testing_flags; those that only go passes are in $GOROOT/src/testing and
// $GOROOT/src/cmd/go/internal/test).
func kindOf(flag string) kind {
	switch flag {
	case "test.blockprofile", "test.coverprofile", "test.cpuprofile", "test.memprofile", "test.mutexprofile", "test.trace",
		"test.testlogfile":
		return file
	case "test.outputdir", "test.gocoverdir", "test.fuzzcachedir":
		return folder
	}
	return 0
}

// coverVariable is where a program that was built for coverage writes it, and what go passes with -cover.
const coverVariable = "GOCOVERDIR"

// ofVariable is the name of the output of that variable.
const ofVariable = "gocoverdir-variable"

// outputs returns the arguments with paths of the container, and what they name.
func (p Program) outputs() (args []string, all []output) {
	base := p.Dir
	for i := 0; i < len(p.Args); i++ {
		arg := p.Args[i]
		if arg == "--" {
			return slices.Concat(args, p.Args[i:]), p.complete(all, base)
		}

		flag, value, has := cutFlag(arg)
		k := kindOf(flag)
		if k == 0 {
			args = append(args, arg)
			continue
		}

		if !has && i+1 < len(p.Args) {
			i++
			value = p.Args[i]
		}
		if value == "" {
			args = append(args, arg) // the program says what is missing, or that it is no name
			continue
		}

		if flag == "test.outputdir" {
			base = absolute(p.Dir, value)
		}
		o := output{
			path: value,
			name: strings.TrimPrefix(flag, "test."),
			kind: k,
		}

		all = append(all, o)
		args = append(args, "-"+flag+"="+o.inContainer())
	}

	return args, p.complete(all, base)
}

// complete gives the outputs their absolute paths: those of files are relative to base, which a flag has named. Of
// several of one name the last one counts, as for the program.
func (p Program) complete(all []output, base string) (out []output) {
	if dir := p.lookup(coverVariable); dir != "" {
		all = append(all, output{
			path: dir,
			name: ofVariable,
			kind: folder,
		})
	}

	for i, o := range all {
		later := func(other output) bool { return other.name == o.name }
		if slices.ContainsFunc(all[i+1:], later) {
			continue
		}
		if o.kind == folder {
			o.path = absolute(p.Dir, o.path)
		} else {
			o.path = absolute(base, o.path)
		}

		out = append(out, o)
	}

	return out
}

// inContainer returns where the container has an output.
func (o output) inContainer() string { return outputFolder + `\` + o.name }

// cutFlag reads -flag=value and --flag=value, as Go's package flag does; flag is "" for what is none.
func cutFlag(arg string) (flag, value string, has bool) {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return "", "", false
	}
	return strings.Cut(strings.TrimPrefix(name, "-"), "=")
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// variables returns the variables that name outputs.
func (c *Call) variables() (out []string) {
	for _, o := range c.outputs {
		if o.name == ofVariable {
			out = append(out, coverVariable+"="+o.inContainer())
		}
	}
	return out
}

// isRead reports whether the program also reads what is in the folder.
func (o output) isRead() bool { return o.kind == folder && o.name != "outputdir" }
