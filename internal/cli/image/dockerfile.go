package image

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/folderimage"
	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/windows/winver"
)

// dockerfileName is what docker build looks for in a folder.
const dockerfileName = "Dockerfile"

// dockerfileFlags are the flags of `image build` for a Dockerfile.
type dockerfileFlags struct {
	args   []string
	target string
}

// given returns the name of a flag that was given, for a message.
func (f dockerfileFlags) given() string {
	switch {
	case len(f.args) > 0:
		return "--build-arg"
	case f.target != "":
		return "--target"
	}
	return ""
}

// dockerfileOf finds what describes the image of a folder: a Dockerfile, whose path is returned, or a description, or
// nothing (""). A Dockerfile is never packed as a file among others.
func dockerfileOf(dir, file string) (string, error) {
	if file != "" {
		switch strings.ToLower(filepath.Ext(file)) {
		case ".yaml", ".yml", ".json":
			return "", nil
		}
		return file, nil
	}

	there := func(name string) (bool, error) {
		_, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}

	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", nil //nolint:nilerr // who reads it says what is wrong
	}
	docker, err := there(dockerfileName)
	if err != nil || !docker {
		return "", err
	}

	own, err := there(imagebuild.SpecFile)
	if err != nil {
		return "", err
	}
	if own {
		return "", fmt.Errorf("%q has a %s and an %s: say by -f which one describes the image", dir, dockerfileName,
			imagebuild.SpecFile)
	}

	return filepath.Join(dir, dockerfileName), nil
}

// buildDockerfile makes the image of a Dockerfile, and says each step.
func (a *commands) buildDockerfile(cmd *cobra.Command, dir, file string, flags dockerfileFlags, over imagebuild.Spec) (
	_ *imagebuild.Image, err error,
) {
	if over.OS == imagebuild.Linux {
		return nil, errors.New("--os linux: Mullion makes images for Linux of folders alone; `docker build` builds this one")
	}
	if name := instead(over); name != "" {
		return nil, fmt.Errorf("--%s is for a folder without a %s, which has an instruction for it", name, dockerfileName)
	}

	args, err := a.buildArgs(flags.args)
	if err != nil {
		return nil, err
	}
	created, err := folderimage.SourceDate(a.Env)
	if err != nil {
		return nil, err
	}

	client, err := engine.Client(a.Call, cmd)
	if err != nil {
		return nil, err
	}

	scratch, err := os.MkdirTemp("", "mullion-build-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	name := filepath.Base(file)

	return dockerfile.Build(cmd.Context(), dockerfile.Options{
		File:       file,
		Name:       name,
		Context:    dir,
		Scratch:    scratch,
		Tags:       over.Tags,
		OSVersions: over.OSVersions,
		Args:       args,
		Target:     flags.target,
		Base: func(ref string) (dockerfile.Base, bool) {
			spec, files, ok := image.StandIn(ref)
			return dockerfile.Base{Spec: spec, Files: files}, ok
		},
		Run: func(ctx context.Context, img *imagebuild.Image, alone bool) (string, error) {
			return a.buildRun(ctx, client, img, alone)
		},
		Created: created,
		Say:     func(e dockerfile.Event) { a.sayBuild(name, e) },
	})
}

// buildRun runs the command of RUN in a container of the image so far, as `mullion run` does, and returns the file with
// the layer of what it has changed.
func (a *commands) buildRun(ctx context.Context, client *single.Client, img *imagebuild.Image, alone bool) (
	layer string, err error,
) {
	if err := a.RequireRoot("makes containers for RUN"); err != nil {
		return "", err
	}

	archive, into := io.Pipe()
	go func() { into.CloseWithError(img.WriteArchive(into)) }()
	if _, err := client.Load(ctx, archive); err != nil {
		return "", errors.Join(err, archive.Close())
	}

	ask := single.Run{
		Image:   img.Refs[0],
		Pull:    single.PullNever,
		Windows: buildOf(img.OSVersions),
		Layer:   filepath.Join(client.Paths.Data, "layer-"+strings.ToLower(rand.Text())),
		Once:    true,
	}
	if alone {
		ask.Network = single.None
	}

	end, err := client.Run(ctx, ask, single.Streams{Out: a.Env.Err, Err: a.Env.Err})
	if err != nil {
		return "", err
	}
	if end != (single.End{}) {
		err := fmt.Errorf("the command ended with exit code %d", end.Code)
		if why := end.Why(); why != "" {
			err = errors.New(why)
		}
		return "", &exit.Error{Code: exit.Internal, Err: err}
	}
	return ask.Layer, nil
}

// buildOf returns the version of Windows in which RUN's containers run: one that the image is for, the usual one if it
// can be.
func buildOf(osVersions []string) string {
	var names []string
	for _, b := range winver.All() {
		if slices.Contains(osVersions, b.Version.String()) {
			names = append(names, b.Name)
		}
	}
	if len(names) == 0 || slices.Contains(names, winver.Default()) {
		return winver.Default()
	}
	return names[0]
}

// instead returns the name of a flag whose place in a Dockerfile an instruction has; "": none was given.
func instead(over imagebuild.Spec) string {
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"entrypoint", len(over.Entrypoint) > 0},
		{"cmd", len(over.Cmd) > 0},
		{"env", len(over.Env) > 0},
		{"workdir", over.WorkingDir != ""},
		{"user", over.User != ""},
		{"expose", len(over.ExposedPorts) > 0},
	} {
		if flag.given {
			return flag.name
		}
	}

	return ""
}

// buildArgs reads --build-arg NAME=VALUE; a NAME alone has the value of the environment, as in Docker.
func (a *commands) buildArgs(flags []string) (map[string]string, error) {
	args := map[string]string{}
	for _, flag := range flags {
		name, value, given := strings.Cut(flag, "=")
		if name == "" {
			return nil, fmt.Errorf("--build-arg %q: want NAME=VALUE", flag)
		}
		if !given {
			if value = a.Env.Getenv(name); value == "" {
				continue
			}
		}
		args[name] = value
	}

	return args, nil
}

// sayBuild tells a step or a warning of a build.
func (a *commands) sayBuild(name string, e dockerfile.Event) {
	if e.Step != "" {
		fmt.Fprintln(a.Env.Err, plaintext.OneLine(plaintext.Shortened(e.Step, longestLine)))
		return
	}
	if e.Line > 0 {
		name = fmt.Sprintf("%s:%d", name, e.Line)
	}
	fmt.Fprintf(a.Env.Err, "warning: %s: %s\n", name, plaintext.OneLine(plaintext.Shortened(e.Warning, longestLine)))
}

// longestLine is how much of a line of a Dockerfile is shown, in bytes: somebody may have made it very long.
const longestLine = 1000
