// Package dockerfile makes a Windows image from a Dockerfile, on Linux and without Windows.
//
// BuildKit's own parser reads the file, so its grammar is Docker's: directives, heredocs, variables, stages. A stage is
// a configuration, a history, and the files that it has put on C:, which later stages copy from. Only stages that the
// target needs are made.
//
//	Dockerfile ─▶ stages ─▶ instructions ─▶ layers and a configuration ─▶ package imagebuild ─▶ image
//	                             ▲
//	        folder (.dockerignore), stages before, archives, addresses, containers of RUN
//
// It does not own the form of layers and images (package imagebuild), which images Mullion can build on (Options.Base),
// how a command is run (Options.Run), or where an image goes.
package dockerfile

import (
	"context"
	"fmt"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/parser"

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
	// OSVersions are the builds of Windows that the image is for, as in imagebuild.Spec, where its base is for several
	// builds. Empty: all that the base is for.
	OSVersions []string
	// Args are the values of --build-arg.
	Args map[string]string
	// Target is the stage that becomes the image, by its name or number; empty: the last one.
	Target string
	// Base finds an image that a stage builds on, by its full reference.
	Base func(ref string) (Base, bool)
	// Run runs the command of an image in a container, which has no network if it is to be alone, and returns the file
	// with the layer of what it has changed, which imagebuild.WriteWindowsLayer has written, and which Build removes.
	// nil: RUN is refused.
	Run func(ctx context.Context, img *imagebuild.Image, alone bool) (layer string, err error)
	// Created is the time in the image and of its files.
	Created time.Time
	// Say tells what is done, and what is odd.
	Say func(Event)
}

// Base is an image that a stage builds on.
type Base struct {
	// Spec is its configuration, and the builds that it is for.
	Spec imagebuild.Spec
	// Files are its files by their names on C:, with slashes.
	Files map[string]string
}

// Event is something that a person wants to know of a build.
type Event struct {
	// Line is a line of the Dockerfile; 0: none.
	Line int
	// Step is what is being done, such as "[2/5] COPY . C:/app".
	Step string
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
