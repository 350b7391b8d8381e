package dockerfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	// final are the target and the stages that it builds on.
	final map[int]bool
	// images are those that files were taken from, by their names in the file.
	images map[string]*stage
	// fetched counts the files in Scratch, steps the steps that have begun.
	fetched, steps int
	// words are the bytes of all words with their variables replaced.
	words int
	// cached says that all that the step at hand has made so far was in the cache.
	cached bool
}

// stage is a stage that is being made.
type stage struct {
	*builder
	config     v1.Config
	author     string
	osVersions []string
	// standIn is the image that the stage begins with, of which Windows' own files are not here; empty for scratch.
	standIn string
	// linux says that the stage is for Linux.
	linux bool
	// real is the image that the stage begins with, if it is there, and windows how many of its layers are Windows'
	// own; the first standing steps are in its place.
	real              v1.Image
	windows, standing int
	steps             []imagebuild.Step
	tree              tree
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
	steps := b.stepsOf(number)
	s, err := b.begin(ctx, number, steps)
	if err != nil {
		return nil, b.at(from.Location, from.SourceCode, err)
	}
	if err := b.needed(ctx, number); err != nil {
		return nil, err
	}

	b.made[number] = s
	for _, c := range from.Commands {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		text := fmt.Sprint(c)
		do := func() error { return s.do(ctx, number, c) }
		if makesLayer(c) {
			do = func() error {
				return s.step(steps, firstLine(c.Location()), text, func() error { return s.do(ctx, number, c) })
			}
		}

		if err := do(); err != nil {
			return nil, b.at(c.Location(), text, err)
		}
	}

	return s, nil
}

// stepCount numbers the steps of a stage: those that make layers, and its base unless it is another stage or scratch.
type stepCount struct {
	stage    string
	now, all int
}

func (b *builder) stepsOf(number int) *stepCount {
	from := b.file.stages[number]
	count := &stepCount{}
	if len(b.file.stages) > 1 {
		count.stage = nameOf(b.file, number) + " "
	}

	for _, c := range from.Commands {
		if makesLayer(c) {
			count.all++
		}
	}

	if _, ok := b.file.named(from.BaseName, number); !ok && from.BaseName != scratch {
		count.all++
	}
	return count
}

// makesLayer reports whether an instruction is a step of its own, as in BuildKit; the others change the configuration.
func makesLayer(c instructions.Command) bool {
	switch c.(type) {
	case *instructions.WorkdirCommand, *instructions.CopyCommand, *instructions.AddCommand, *instructions.RunCommand:
		return true
	}
	return false
}

// step tells of a step while it is done.
func (b *builder) step(of *stepCount, line int, text string, do func() error) error {
	b.steps++
	of.now++
	number, began := b.steps, time.Now()
	b.cached = false
	b.Say(Event{
		Number: number,
		Line:   line,
		Step:   fmt.Sprintf("[%s%d/%d] %s", of.stage, of.now, of.all, text),
	})

	if err := do(); err != nil {
		return err
	}

	b.Say(Event{
		Number: number,
		Line:   line,
		Ended:  true,
		Cached: b.cached,
		Took:   time.Since(began),
	})

	return nil
}

// needed makes the stages that a stage takes files from, so that what is said of each is in one place.
func (b *builder) needed(ctx context.Context, number int) error {
	for _, at := range b.file.sources(number) {
		if _, err := b.stage(ctx, at); err != nil {
			return err
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
func (b *builder) begin(ctx context.Context, number int, steps *stepCount) (*stage, error) {
	from := b.file.stages[number]
	name, system, err := b.baseOf(number)
	if err != nil {
		return nil, err
	}

	if at, ok := b.file.named(name, number); ok && from.Platform == "" {
		below, err := b.stage(ctx, at)
		if err != nil {
			return nil, err
		}
		if len(below.config.OnBuild) > 0 {
			return nil, hasOnBuild("stage " + name)
		}
		return below.above(), nil
	}

	if name == scratch && b.Real && b.final[number] {
		return nil, refuse(errdefs.ErrInvalidArgument, "scratch has no layers of Windows, which --base real keeps")
	}
	if name == scratch {
		return b.base(ctx, name, system)
	}
	return b.fromImage(ctx, number, name, system, steps)
}

// fromImage makes a stage of an image, as a step of the build.
func (b *builder) fromImage(ctx context.Context, number int, name, system string, steps *stepCount) (*stage, error) {
	from := b.file.stages[number]
	var s *stage
	err := b.step(steps, firstLine(from.Location), from.SourceCode, func() (err error) {
		s, err = b.base(ctx, name, system)
		if errdefs.IsNotFound(err) && from.Platform == "" && !b.final[number] {
			s, err = b.otherwise(ctx, number, name, err)
		}
		return err
	})
	if err == nil && b.Real && b.final[number] && s.real == nil {
		err = refuse(errdefs.ErrNotFound, "there are no layers of Windows here that could be kept: leave out --base "+
			"real, or begin with one of Microsoft's images in a registry that can be reached")
	}

	return s, err
}

// otherwise makes a stage of an image for Linux, which others take files from, where there is none for Windows; err
// says so. Somebody who knows Docker writes FROM golang AS build, and not always the platform.
func (b *builder) otherwise(ctx context.Context, number int, name string, err error) (*stage, error) {
	s, linuxErr := b.base(ctx, name, imagebuild.Linux)
	if linuxErr != nil {
		return nil, err
	}
	b.Say(Event{
		Line: firstLine(b.file.stages[number].Location),
		Warning: fmt.Sprintf("%s is not there for Windows, so this stage is for Linux: FROM --platform=linux/amd64 says "+
			"so itself", name),
	})
	return s, nil
}

// baseOf returns the name and the system of a stage's base.
func (b *builder) baseOf(number int) (name, system string, err error) {
	from := b.file.stages[number]
	global, err := b.globals()
	if err != nil {
		return "", "", err
	}
	if name, err = b.expand(from.BaseName, global); err != nil {
		return "", "", err
	}

	platform, err := b.expand(from.Platform, global)
	if err != nil {
		return "", "", err
	}
	if name == "" {
		return "", "", refuse(errdefs.ErrInvalidArgument, "the name of its base is empty")
	}

	system, machine, _ := strings.Cut(platform, "/")
	switch {
	case platform == "":
		return name, b.system(), nil
	case (system != imagebuild.Windows && system != imagebuild.Linux) || (machine != "" && machine != "amd64"):
		return "", "", refuse(errdefs.ErrInvalidArgument, "%s is for %s: want windows/amd64, or linux/amd64 for files "+
			"that another stage copies", name, platform)
	}

	return name, system, nil
}

// system returns the system that the image is for.
func (b *builder) system() string { return cmp.Or(b.OS, imagebuild.Windows) }

// hasOnBuild refuses a base with ONBUILD.
func hasOnBuild(what string) error {
	return refuse(errdefs.ErrNotImplemented,
		"%s has ONBUILD, which is not carried out here: write its instructions after this line", what)
}

// above returns a stage that begins where this one ends.
func (s *stage) above() *stage {
	next := *s
	next.args, next.cmdHere = nil, false
	next.steps = slices.Clone(s.steps)
	next.tree = s.tree.clone()
	next.config.Env = slices.Clone(s.config.Env)
	next.config.Labels = maps.Clone(s.config.Labels)
	next.config.Volumes = maps.Clone(s.config.Volumes)
	next.config.ExposedPorts = maps.Clone(s.config.ExposedPorts)
	next.config.OnBuild = slices.Clone(s.config.OnBuild)
	return &next
}

// base makes a stage of an image.
func (b *builder) base(ctx context.Context, name, system string) (*stage, error) {
	s := &stage{
		builder: b,
		linux:   system == imagebuild.Linux,
	}
	s.tree = newTree(s.linux, b.scratchFile)

	found := Base{}
	if name != scratch {
		named, err := reference.ParseDockerRef(name)
		if err != nil {
			return nil, fmt.Errorf("%q: %w: %w", name, err, errdefs.ErrInvalidArgument)
		}
		s.standIn = named.String()
		if found, err = b.Base(ctx, s.standIn, system); err != nil {
			return nil, err
		}
	}

	switch {
	case found.Image != nil:
		return s, s.onImage(ctx, found)
	case s.linux:
		return s, nil
	}

	return s, s.onStandIn(ctx, found, name)
}

// onStandIn begins a stage with what stands in for an image.
func (s *stage) onStandIn(ctx context.Context, found Base, name string) error {
	if err := s.versions(found.Spec, name); err != nil {
		return err
	}
	s.config = found.Spec.Config()
	first, err := imagebuild.BaseStep(ctx, s.Created)
	if err != nil {
		return err
	}

	s.steps = append(s.steps, first)
	s.cached = true
	if len(found.Files) == 0 {
		return nil
	}

	c := s.tree.change()
	for _, at := range slices.Sorted(maps.Keys(found.Files)) {
		text := []byte(found.Files[at])
		if err := c.add(imagebuild.File{
			Name: at,
			Data: text,
			Size: int64(len(text)),
		}); err != nil {
			return err
		}
	}

	return s.put(ctx, c, "mullion image build: files of the stand-in for "+s.standIn)
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
	layer, err := s.filesLayer(ctx, c)
	if err != nil {
		return err
	}
	s.tree.take(c)
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
func (b *builder) platformArgs() []string {
	return []string{
		"BUILDPLATFORM=linux/amd64", "BUILDOS=linux", "BUILDARCH=amd64", "BUILDVARIANT=",
		"TARGETPLATFORM=" + b.system() + "/amd64", "TARGETOS=" + b.system(), "TARGETARCH=amd64", "TARGETVARIANT=",
	}
}

// globals returns the arguments before the first FROM.
func (b *builder) globals() ([]string, error) {
	all := append(b.platformArgs(), "TARGETSTAGE="+b.Target)
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
	return b.replaceVariables(shell.NewLex(b.file.escape), word, env)
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
	if s.system() != b.system() {
		return nil, refuse(errdefs.ErrInvalidArgument, "the stage that becomes the image is for %s, and the image for %s: "+
			"say --os %[1]s, or choose another one by --target", s.system(), b.system())
	}
	config, versions := s.config, s.osVersions
	if s.entryLine && !s.linux {
		config.Cmd = nil // a line for a shell takes no arguments
	}

	if s.linux {
		versions = []string{""}
	}
	if len(b.Labels) > 0 {
		config.Labels = maps.Clone(config.Labels)
		if config.Labels == nil {
			config.Labels = map[string]string{}
		}
		maps.Copy(config.Labels, b.Labels)
	}

	parts := imagebuild.Parts{
		Tags:       b.Tags,
		OS:         b.system(),
		OSVersions: versions,
		Config:     config,
		Author:     s.author,
		Steps:      s.steps,
		Created:    b.Created,
	}

	if b.Real {
		parts.Base, parts.BaseName = s.real, s.standIn
		parts.Windows = s.windows
		parts.Steps = s.steps[s.standing:]
	}

	return imagebuild.Assemble(parts)
}
