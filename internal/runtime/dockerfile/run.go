package dockerfile

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// run carries out RUN: the image so far becomes a container, and what its command changes is a layer.
func (s *stage) run(ctx context.Context, number int, c *instructions.RunCommand) error {
	if s.Run == nil {
		return refuse(errdefs.ErrNotImplemented, "no program is started in this build")
	}

	network := instructions.GetNetwork(c)
	other := slices.DeleteFunc(slices.Clone(c.FlagsUsed), func(flag string) bool {
		return flag == "mount" || (flag == "network" && network != instructions.NetworkHost)
	})
	if len(other) > 0 {
		return refuse(errdefs.ErrNotImplemented, "--%s of RUN is not carried out here", strings.Join(other, ", --"))
	}

	config, err := s.commandOf(c)
	if err != nil {
		return err
	}
	mounts, err := s.mounts(ctx, number, c)
	if err != nil {
		return err
	}

	alone := network == instructions.NetworkNone
	key, err := s.runKey(config, alone, mounts)
	if err != nil {
		return err
	}

	s.cached = true
	layer, err := s.layer(ctx, key, func(w io.Writer) error {
		return s.runAnew(ctx, w, Command{Step: s.builder.steps, Alone: alone}, config, mounts)
	})
	if err != nil {
		return err
	}

	if err := s.written(ctx, layer); err != nil {
		return fmt.Errorf("read the layer of the command: %w", err)
	}
	s.steps = append(s.steps, imagebuild.Step{Layer: layer, By: fmt.Sprint(c)})
	return nil
}

// defaultPath is what Docker gives to commands of an image without one.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// runAnew runs a command, and writes the layer of what it has changed.
func (s *stage) runAnew(ctx context.Context, w io.Writer, ask Command, config v1.Config, mounts []mount) (err error) {
	if s.linux {
		ask.Linux = s.linuxCommand(config)
	} else if ask.Image, err = s.imageOfCommand(config); err != nil {
		return err
	}

	release, err := s.hold(ctx, mounts)
	if err != nil {
		return err
	}
	defer release()

	for _, m := range mounts {
		undo, err := m.prepare(ctx, s.builder, &ask)
		if undo != nil {
			defer undo()
		}
		if err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}

	dir, remove, err := s.Cache.WorkFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	ask.Layer = filepath.Join(dir, "layer")
	if err := s.Run(ctx, ask); err != nil {
		return err
	}

	file, _, err := beneath.OpenPath(ask.Layer)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.Copy(w, file)
	return err
}

// linuxCommand returns what runs in a stage for Linux.
func (s *stage) linuxCommand(config v1.Config) *LinuxCommand {
	made := &LinuxCommand{Config: config}
	for _, step := range s.steps {
		if step.Layer != nil {
			made.Layers = append(made.Layers, step.Layer.Bytes())
		}
	}
	return made
}

// imageOfCommand returns the image so far, with a command as its own.
func (s *stage) imageOfCommand(config v1.Config) (*imagebuild.Image, error) {
	tag := "mullion.local/build:" + strings.ToLower(rand.Text())
	config.Labels = maps.Clone(config.Labels)
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	config.Labels[labelBuild] = tag // an equal build beside this one has another image
	return imagebuild.Assemble(imagebuild.Parts{
		Tags:       []string{tag},
		OS:         imagebuild.Windows,
		OSVersions: s.osVersions,
		Config:     config,
		Steps:      s.steps,
		Created:    s.Created,
	})
}

// labelBuild is a label of the images of RUN.
const labelBuild = "dev.mullion.build"

// commandOf returns the configuration with which the command is run: its environment has the stage's arguments too.
func (s *stage) commandOf(c *instructions.RunCommand) (v1.Config, error) {
	words := c.CmdLine
	if len(c.Files) > 0 {
		text, err := s.heredoc(c)
		if err != nil {
			return v1.Config{}, err
		}
		words = []string{text}
	}

	config := s.config
	config.Entrypoint = nil
	config.Cmd = words
	config.ArgsEscaped = c.PrependShell && !s.linux
	if c.PrependShell {
		config.Cmd = s.line(words)
	}

	env := slices.Clone(s.args)
	for _, e := range s.config.Env {
		name, value, _ := strings.Cut(e, "=")
		env = s.withVariable(env, name, value)
	}
	if s.linux && !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
		env = append(env, defaultPath)
	}

	config.Env = env
	return config, nil
}

// heredoc returns the command line of RUN with heredocs: what one has, if there is nothing beside it, or the line with
// all of them, which the shell is to understand.
func (s *stage) heredoc(c *instructions.RunCommand) (string, error) {
	if len(c.CmdLine) != 1 || !c.PrependShell {
		return "", refuse(errdefs.ErrInvalidArgument, "a heredoc belongs to the shell form")
	}

	if parser.MustParseHeredoc(c.CmdLine[0]) != nil {
		text := c.Files[0].Data
		if c.Files[0].Chomp {
			text = parser.ChompHeredocContent(text)
		}
		if s.linux && strings.HasPrefix(text, "#!") {
			return "", refuse(errdefs.ErrNotImplemented, "a heredoc with #! is not carried out here: name the program on "+
				"the line, as in RUN python3 <<EOF")
		}

		if !s.linux && len(s.config.Shell) == 0 && strings.Contains(strings.TrimSpace(text), "\n") {
			return "", refuse(errdefs.ErrInvalidArgument, "cmd reads one line alone: join them by &&, or have a shell "+
				`that reads more, as by SHELL ["powershell", "-Command"]`)
		}
		return text, nil
	}

	var text strings.Builder
	text.WriteString(c.CmdLine[0])
	for _, f := range c.Files {
		text.WriteString("\n" + f.Data + f.Name)
	}

	return text.String(), nil
}
