package dockerfile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// builder makes the stages of a file.
type builder struct {
	Options
	file   file
	folder *folder
	// made are the stages that are made, by their numbers.
	made map[int]*stage
	// used are the build arguments that a line has asked for.
	used map[string]bool
	// fetched counts the files in Scratch.
	fetched int
}

// stage is a stage that is being made.
type stage struct {
	*builder
	config     v1.Config
	author     string
	osVersions []string
	// standIn is the image that the stage begins with, in whose place a stand-in without Windows' files is; empty for
	// scratch.
	standIn string
	steps   []imagebuild.Step
	tree    tree
	// args are the values of ARG.
	args []string
	// cmdHere says that the stage has a CMD of its own, entryLine that its ENTRYPOINT is a line for a shell.
	cmdHere, entryLine bool
}

// scratch is the base without files.
const scratch = "scratch"

// stage makes a stage, unless it is made.
func (b *builder) stage(ctx context.Context, number int) (*stage, error) {
	if s := b.made[number]; s != nil {
		return s, nil
	}

	from := b.file.stages[number]
	s, err := b.begin(ctx, number)
	if err != nil {
		return nil, b.at(from.Location, from.SourceCode, err)
	}
	if err := b.needed(ctx, number); err != nil {
		return nil, err
	}

	b.made[number] = s
	for i, c := range from.Commands {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		label := fmt.Sprintf("[%d/%d] ", i+1, len(from.Commands))
		if len(b.file.stages) > 1 {
			label = fmt.Sprintf("[%s %d/%d] ", nameOf(b.file, number), i+1, len(from.Commands))
		}

		text := fmt.Sprint(c)
		b.Say(Event{Line: firstLine(c.Location()), Step: label + text})
		if err := s.do(ctx, number, c); err != nil {
			return nil, b.at(c.Location(), text, err)
		}
	}

	return s, nil
}

// needed makes the stages that a stage copies from, so that what is said of each is in one place.
func (b *builder) needed(ctx context.Context, number int) error {
	for _, c := range b.file.stages[number].Commands {
		c, ok := c.(*instructions.CopyCommand)
		if !ok {
			continue
		}
		if at, ok := b.file.named(c.From, number); ok {
			if _, err := b.stage(ctx, at); err != nil {
				return err
			}
		}
	}

	return nil
}

// nameOf returns what a person calls a stage.
func nameOf(f file, number int) string {
	if name := f.stages[number].Name; name != "" {
		return name
	}
	return fmt.Sprintf("stage-%d", number)
}

// at says which line an error is about.
func (b *builder) at(where []parser.Range, text string, err error) error {
	if _, ok := errors.AsType[*LineError](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	return &LineError{
		Name:        b.Name,
		Line:        firstLine(where),
		Instruction: text,
		Err:         err,
	}
}

// begin makes what FROM says.
func (b *builder) begin(ctx context.Context, number int) (*stage, error) {
	from := b.file.stages[number]
	global, err := b.globals()
	if err != nil {
		return nil, err
	}
	name, err := b.expand(from.BaseName, global)
	if err != nil {
		return nil, err
	}

	platform, err := b.expand(from.Platform, global)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, refuse(errdefs.ErrInvalidArgument, "the name of its base is empty")
	}

	if at, ok := b.file.named(name, number); ok && from.Platform == "" {
		below, err := b.stage(ctx, at)
		if err != nil {
			return nil, err
		}
		if len(below.config.OnBuild) > 0 {
			return nil, refuse(errdefs.ErrNotImplemented,
				"stage %s has ONBUILD, which is not carried out here: write its instructions after this line", name)
		}
		return below.above(), nil
	}

	if system, _, _ := strings.Cut(platform, "/"); platform != "" && system != imagebuild.Windows {
		return nil, noWindows(name, platform)
	}

	return b.base(ctx, name)
}

// noWindows says that a stage is not for Windows.
func noWindows(name, platform string) error {
	return refuse(errdefs.ErrInvalidArgument, "%s is for %s, and Mullion makes stages for Windows alone; "+
		"build the program before, and COPY it from the folder", name, platform)
}

// above returns a stage that begins where this one ends.
func (s *stage) above() *stage {
	next := *s
	next.args, next.cmdHere = nil, false
	next.steps = slices.Clone(s.steps)
	next.tree = maps.Clone(s.tree)
	next.config.Env = slices.Clone(s.config.Env)
	next.config.Labels = maps.Clone(s.config.Labels)
	next.config.Volumes = maps.Clone(s.config.Volumes)
	next.config.ExposedPorts = maps.Clone(s.config.ExposedPorts)
	next.config.OnBuild = slices.Clone(s.config.OnBuild)
	return &next
}

// base makes a stage of an image that Mullion knows.
func (b *builder) base(ctx context.Context, name string) (*stage, error) {
	s := &stage{builder: b, tree: tree{}}
	spec, files := imagebuild.Spec{}, map[string]string(nil)
	if name != scratch {
		found, ref, err := b.find(name)
		if err != nil {
			return nil, err
		}
		s.standIn = ref
		spec = found.Spec
		files = found.Files
	}

	if err := s.versions(spec, name); err != nil {
		return nil, err
	}

	s.config = spec.Config()
	first, err := imagebuild.BaseStep(ctx, b.Created)
	if err != nil {
		return nil, err
	}
	s.steps = append(s.steps, first)
	if len(files) == 0 {
		return s, nil
	}

	c := s.tree.change()
	for _, at := range slices.Sorted(maps.Keys(files)) {
		text := []byte(files[at])
		if err := c.add(imagebuild.File{
			Name: at,
			Data: text,
			Size: int64(len(text)),
		}); err != nil {
			return nil, err
		}
	}

	return s, s.put(ctx, c, "mullion image build: files of the stand-in for "+s.standIn)
}

// find finds an image that has a stand-in.
func (b *builder) find(name string) (Base, string, error) {
	named, err := reference.ParseDockerRef(name)
	if err != nil {
		return Base{}, "", fmt.Errorf("%q: %w: %w", name, err, errdefs.ErrInvalidArgument)
	}
	found, ok := b.Base(named.String())
	if !ok {
		return Base{}, "", refuse(errdefs.ErrNotFound, "Mullion has no Windows image %s to build on: a stage begins "+
			"with scratch, with another stage, or with one of Microsoft's base images by a tag such as ltsc2022; "+
			"`docker build` builds an image for Linux", named)
	}
	return found, named.String(), nil
}

// versions chooses the builds of Windows that a stage is for.
func (s *stage) versions(base imagebuild.Spec, name string) error {
	if len(base.OSVersions) > 0 && len(s.OSVersions) > 0 {
		return refuse(errdefs.ErrInvalidArgument, "%s is for Windows %s; leave out --windows-version", name,
			strings.Join(base.OSVersions, ", "))
	}
	if len(base.OSVersions) == 0 {
		base.OSVersions = s.OSVersions
	}

	var err error
	s.osVersions, err = base.Versions()
	return err
}

// put makes a layer of what an instruction has added.
func (s *stage) put(ctx context.Context, c *change, by string) error {
	if len(c.files) == 0 {
		s.note(by)
		return nil
	}
	layer, err := imagebuild.WindowsLayer(ctx, c.sorted(), s.Created)
	if err != nil {
		return err
	}
	maps.Copy(s.tree, c.files)
	s.steps = append(s.steps, imagebuild.Step{Layer: layer, By: by})
	return nil
}

// note adds a step that changes the configuration alone.
func (s *stage) note(by string) { s.steps = append(s.steps, imagebuild.Step{By: by}) }

// warn says what is odd about a line.
func (b *builder) warn(c instructions.Command, format string, args ...any) {
	b.Say(Event{Line: firstLine(c.Location()), Warning: fmt.Sprintf(format, args...)})
}

// platformArgs returns the arguments that every Dockerfile has
// (https://docs.docker.com/reference/dockerfile/#automatic-platform-args-in-the-global-scope).
func platformArgs() []string {
	return []string{
		"BUILDPLATFORM=linux/amd64", "BUILDOS=linux", "BUILDARCH=amd64", "BUILDVARIANT=",
		"TARGETPLATFORM=windows/amd64", "TARGETOS=windows", "TARGETARCH=amd64", "TARGETVARIANT=",
	}
}

// globals returns the arguments before the first FROM.
func (b *builder) globals() ([]string, error) {
	all := append(platformArgs(), "TARGETSTAGE="+b.Target)
	for _, c := range b.file.global {
		for _, arg := range c.Args {
			value, ok, err := b.argument(arg, all)
			if err != nil {
				return nil, b.at(c.Location(), c.String(), err)
			}
			if ok {
				all = append(all, arg.Key+"="+value)
			}
		}
	}

	return all, nil
}

// argument returns the value of an ARG: --build-arg's, or its default; false: it has none.
func (b *builder) argument(arg instructions.KeyValuePairOptional, env []string) (string, bool, error) {
	b.used[arg.Key] = true
	if value, ok := b.Args[arg.Key]; ok {
		return value, true, nil
	}
	if arg.Value == nil {
		return "", false, nil
	}
	value, err := b.expand(*arg.Value, env)
	return value, true, err
}

// expand replaces variables in a word.
func (b *builder) expand(word string, env []string) (string, error) {
	value, _, err := shell.NewLex(b.file.escape).ProcessWord(word, shell.EnvsFromSlice(env))
	if err != nil {
		return "", fmt.Errorf("%q: %w: %w", word, err, errdefs.ErrInvalidArgument)
	}
	return value, nil
}

// proxies are arguments that need no ARG
// (https://docs.docker.com/reference/dockerfile/#predefined-args).
func isProxy(name string) bool {
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY", "SOURCE_DATE_EPOCH":
		return true
	}
	return strings.HasPrefix(name, "BUILDKIT_")
}

// sayUnused names arguments that no line has asked for.
func (b *builder) sayUnused() {
	for _, name := range slices.Sorted(maps.Keys(b.Args)) {
		if !b.used[name] && !isProxy(name) {
			b.Say(Event{Warning: fmt.Sprintf("no ARG of the stages that were made asks for --build-arg %s", name)})
		}
	}
}

// assemble makes the image.
func (b *builder) assemble(s *stage) (*imagebuild.Image, error) {
	config := s.config
	if s.entryLine {
		config.Cmd = nil // a line for a shell takes no arguments
	}

	return imagebuild.Assemble(imagebuild.Parts{
		Tags:       b.Tags,
		OS:         imagebuild.Windows,
		OSVersions: s.osVersions,
		Config:     config,
		Author:     s.author,
		Steps:      s.steps,
		Created:    b.Created,
	})
}
