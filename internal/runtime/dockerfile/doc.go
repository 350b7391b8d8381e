// Package dockerfile makes an image from a Dockerfile, on Linux and without Windows: one for Windows, with stages for
// Linux where it has some, or one for Linux.
//
// BuildKit's own parser reads the file, so its grammar is Docker's: directives, heredocs, variables, stages. A stage is
// a configuration, a history, and the files that it has, on C: those that it has put there, which later stages copy
// from. Only stages that the target needs are made.
//
//	Dockerfile ─▶ stages ─▶ instructions ─▶ layers and a configuration ─▶ package imagebuild ─▶ image
//	                             ▲
//	        folder (.dockerignore), stages before, archives, addresses, containers of RUN
//
// A layer is kept in package buildcache by all that it was made of: files by their bytes, what a command has changed by
// the layers below it, its command line, its environment and what it mounts. So a step is made again when something
// that it depends on is another, and only then.
//
// It does not own the form of layers and images (package imagebuild), which images Mullion can build on (Options.Base),
// how a command is run (Options.Run), or where an image goes.
package dockerfile

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"mullion.dev/mullion/internal/runtime/buildcache"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// Options are what Build works on.
type Options struct {
	// File is the Dockerfile's path, Name what messages call it.
	File, Name string
	// Context is the folder that COPY and ADD take files from.
	Context string
	// Scratch is an empty folder for files of archives and addresses. The caller removes it afterwards.
	Scratch string
	// Tags are the references that the image gets.
	Tags []string
	// Labels are the image's, beside those of the Dockerfile, and before them.
	Labels map[string]string
	// OSVersions are the builds of Windows that the image is for, as in imagebuild.Spec, where its base is for several
	// builds. Empty: all that the base is for.
	OSVersions []string
	// Args are the values of --build-arg.
	Args map[string]string
	// Secrets are the values of --secret by their ids.
	Secrets map[string][]byte
	// OS is what the image is for: imagebuild.Windows, which "" is too, or imagebuild.Linux.
	OS string
	// LinuxOwner is the user of the machine that root is in the container of a command for Linux.
	LinuxOwner int
	// Target is the stage that becomes the image, by its name or number; empty: the last one.
	Target string
	// Cache keeps the layers. The image is read from it, so it is closed when the image is not used any more.
	Cache *buildcache.Cache
	// NoCache makes everything anew, and keeps it.
	NoCache bool
	// Base finds an image that a stage builds on, or copies from, by its full reference: one for Windows, or for Linux.
	// The error is errdefs.ErrNotFound if there is none.
	Base func(ctx context.Context, ref, system string) (Base, error)
	// Real keeps the layers of the bases that are Windows' own, so that real Windows can run the image. Otherwise a
	// layer without files is in their place.
	Real bool
	// Run runs a command in a container. nil: RUN is refused.
	Run func(context.Context, Command) error
	// Runner says what runs commands: the results of another one are not taken from the cache.
	Runner string
	// Created is the time in the image and of its files.
	Created time.Time
	// Say tells what is done, and what is odd.
	Say func(Event)
}

// Base is an image that a stage builds on: one that is there, or one that stands in for it.
type Base struct {
	// Image is there, and Windows is how many of its layers, the lowest, are Windows' own.
	Image   v1.Image
	Windows int
	// Spec is the configuration of one that stands in, and the builds that it is for. Files are its files by their
	// names on C:, with slashes.
	Spec  imagebuild.Spec
	Files map[string]string
}

// Command is the command of a RUN.
type Command struct {
	// Step is its step's number, as in Event.
	Step int
	// Image is the image so far, with the command as its own; nil for Linux.
	Image *imagebuild.Image
	// Linux is what runs in a stage for Linux; nil: the stage is for Windows.
	Linux *LinuxCommand
	// Alone says that it has no network.
	Alone  bool
	Mounts []Mount
	// Env are variables that are in no image, as NAME=VALUE.
	Env []string
	// Layer is the file, which is not there yet, for the layer of what the command has changed, as
	// imagebuild.WriteWindowsLayer writes it.
	Layer string
}

// LinuxCommand is the command of a RUN in a stage for Linux.
type LinuxCommand struct {
	// Layers are those of the stage so far, the lowest first.
	Layers []v1.Layer
	// Config has the command, its environment, its folder and its user.
	Config v1.Config
}

// Mount is a folder or a file of the machine in a command's container. Target is a path there.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// Event is something that a person wants to know of a build: a step begins, or has ended, or something is odd.
type Event struct {
	// Number is the step's, from 1; 0: it is about no step.
	Number int
	// Step is what is being done as the step begins, such as "[2/5] COPY . C:/app".
	Step string
	// Ended says that the step has ended: after so long, Cached if what it makes was there.
	Ended, Cached bool
	Took          time.Duration
	// Line is a line of the Dockerfile; 0: none.
	Line int
	// Warning is what is not as the Dockerfile's author may think.
	Warning string
}

// LineError is what is wrong with a line.
type LineError struct {
	// Name is the file's, Line counts from 1, 0 where it is not known.
	Name string
	Line int
	// Instruction is the line's text; empty where it cannot be read.
	Instruction string
	Err         error
}

// Error is "Dockerfile:7: COPY a C:/: …".
func (e *LineError) Error() string {
	text := e.Name
	if e.Line > 0 {
		text = fmt.Sprintf("%s:%d", e.Name, e.Line)
	}
	if e.Instruction != "" {
		text += ": " + e.Instruction
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// firstLine returns the number of the first line of a place in the file.
func firstLine(at []parser.Range) int {
	if len(at) == 0 {
		return 0
	}
	return at[0].Start.Line
}

// Build makes the image. Errors about a line are LineErrors.
func Build(ctx context.Context, o Options) (*imagebuild.Image, error) {
	if _, err := imagebuild.References(o.Tags); err != nil {
		return nil, err
	}
	f, err := read(o)
	if err != nil {
		return nil, err
	}

	target, err := f.target(o.Target)
	if err != nil {
		return nil, err
	}

	folder, err := openFolder(o)
	if err != nil {
		return nil, err
	}
	defer folder.close()

	b := &builder{
		Options: o,
		file:    f,
		folder:  folder,
		final:   f.above(target),
		images:  map[string]*stage{},
		made:    map[int]*stage{},
		used:    map[string]bool{},
	}

	s, err := b.stage(ctx, target)
	if err != nil {
		return nil, err
	}
	b.sayUnused()
	return b.assemble(s)
}

// refusal is an error of a class of errdefs, whose text is a person's alone.
type refusal struct {
	class error
	text  string
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.class }

// refuse returns an error of a class.
func refuse(class error, format string, args ...any) error {
	return &refusal{class, fmt.Sprintf(format, args...)}
}
