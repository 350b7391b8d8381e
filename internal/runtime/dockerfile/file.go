package dockerfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"mullion.dev/mullion/internal/base/beneath"
)

// mostOfFile bounds a Dockerfile, in bytes.
const mostOfFile = 1 << 20

// file is a Dockerfile that has been read.
type file struct {
	name   string
	escape rune
	stages []instructions.Stage
	// global are the ARGs before the first FROM.
	global []instructions.ArgCommand
}

// read reads the Dockerfile.
func read(o Options) (file, error) {
	text, err := beneath.ReadPath(o.File, mostOfFile)
	if err != nil {
		return file{}, fmt.Errorf("read Dockerfile: %w", err)
	}

	f := file{name: o.Name}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return f, f.wrong(err)
	}

	f.escape = parsed.EscapeToken
	f.stages, f.global, err = instructions.Parse(parsed.AST, linter.New(&linter.Config{
		Warn: func(_, _, _, says string, at []parser.Range) {
			o.Say(Event{Line: firstLine(at), Warning: says})
		},
	}))
	if err != nil {
		return f, f.wrong(err)
	}

	if len(f.stages) == 0 {
		return f, f.wrong(errors.New("it has no FROM"))
	}
	if syntax, _, at, ok := parser.DetectSyntax(text); ok && !strings.HasPrefix(syntax, "docker/dockerfile") {
		o.Say(Event{Line: firstLine(at), Warning: fmt.Sprintf(
			"the frontend %s is not fetched: BuildKit's own parser reads the file", syntax)})
	}

	return f, nil
}

// wrong returns an error of the parser, which knows the line.
func (f file) wrong(err error) error {
	e := &LineError{Name: f.name, Err: err}
	if at, ok := errors.AsType[*parser.LocationError](err); ok && len(at.Locations) > 0 {
		e.Line = firstLine(at.Locations[0])
	}

	said := fmt.Sprintf("dockerfile parse error on line %d: ", e.Line) // which the error has too
	e.Err = refuse(errdefs.ErrInvalidArgument, "%s", strings.TrimPrefix(err.Error(), said))
	return e
}

// target finds the stage that becomes the image.
func (f file) target(name string) (int, error) {
	if name == "" {
		return len(f.stages) - 1, nil
	}
	if at, ok := f.named(name, len(f.stages)); ok {
		return at, nil
	}

	var names []string
	for _, s := range f.stages {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}

	return 0, refuse(errdefs.ErrInvalidArgument, "%s has no stage %q, but %s", f.name, name, list(names))
}

// named finds a stage by its name or number among the first so many. The last one of a name counts.
func (f file) named(name string, before int) (int, bool) {
	for i, s := range slices.Backward(f.stages[:before]) {
		if s.Name != "" && strings.EqualFold(s.Name, name) {
			return i, true
		}
	}
	if at, err := strconv.Atoi(name); err == nil && at >= 0 && at < before {
		return at, true
	}
	return 0, false
}

// list are names for a message.
func list(names []string) string {
	if len(names) == 0 {
		return "none that has a name"
	}
	return strings.Join(names, ", ")
}

// sources returns the stages from which a stage takes files.
func (f file) sources(number int) []int {
	var names []string
	for _, c := range f.stages[number].Commands {
		switch c := c.(type) {
		case *instructions.CopyCommand:
			names = append(names, c.From)
		case *instructions.RunCommand:
			for _, m := range instructions.GetMounts(c) {
				names = append(names, m.From)
			}
		}
	}

	var all []int
	for _, name := range names {
		if at, ok := f.named(name, number); ok && name != "" {
			all = append(all, at)
		}
	}

	return all
}

// above returns a stage and those that it builds on.
func (f file) above(number int) map[int]bool {
	all := map[int]bool{number: true}
	for {
		below, ok := f.named(f.stages[number].BaseName, number)
		if !ok {
			return all
		}
		number = below
		all[number] = true
	}
}
