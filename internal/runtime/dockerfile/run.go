package dockerfile

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// run carries out RUN: the image so far becomes a container, and what its command changes is a layer.
func (s *stage) run(ctx context.Context, c *instructions.RunCommand) error {
	if s.Run == nil {
		return refuse(errdefs.ErrNotImplemented, "no program is started in this build")
	}
	network := instructions.GetNetwork(c)
	other := slices.DeleteFunc(slices.Clone(c.FlagsUsed), func(flag string) bool {
		return flag == "network" && network != instructions.NetworkHost
	})
	if len(other) > 0 {
		return refuse(errdefs.ErrNotImplemented, "--%s of RUN is not carried out here", strings.Join(other, ", --"))
	}

	config, err := s.commandOf(c)
	if err != nil {
		return err
	}

	tag := "mullion.local/build:" + strings.ToLower(rand.Text())
	config.Labels = maps.Clone(config.Labels)
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	config.Labels[labelBuild] = tag // an equal build beside this one has another image
	img, err := imagebuild.Assemble(imagebuild.Parts{
		Tags:       []string{tag},
		OS:         imagebuild.Windows,
		OSVersions: s.osVersions,
		Config:     config,
		Steps:      s.steps,
		Created:    s.Created,
	})
	if err != nil {
		return err
	}

	name, err := s.Run(ctx, img, network == instructions.NetworkNone)
	if err != nil {
		return err
	}

	defer func() { _ = os.Remove(name) }() // its folder is the engine's
	layer, err := imagebuild.LayerOf(name)
	if err != nil {
		return err
	}
	if err := s.written(name); err != nil {
		return fmt.Errorf("read the layer of the command: %w", err)
	}
	s.steps = append(s.steps, imagebuild.Step{Layer: layer, By: fmt.Sprint(c)})
	return nil
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
	config.ArgsEscaped = c.PrependShell
	if c.PrependShell {
		config.Cmd = s.line(words)
	}

	env := slices.Clone(s.args)
	for _, e := range s.config.Env {
		name, value, _ := strings.Cut(e, "=")
		env = withVariable(env, name, value)
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
		if len(s.config.Shell) == 0 && strings.Contains(strings.TrimSpace(text), "\n") {
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

// written brings what a layer has into the stage's tree.
func (s *stage) written(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()

	for r := tar.NewReader(file); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if at, ok := strings.CutPrefix(header.Name, "Files/"); ok {
			if err := s.entry(path.Clean(at), header, r); err != nil {
				return fmt.Errorf("%q: %w", at, err)
			}
		}
	}
}

// entry brings one entry of a layer into the stage's tree.
func (s *stage) entry(name string, header *tar.Header, from io.Reader) (err error) {
	base := path.Base(name)
	switch {
	case base == imagebuild.OpaqueWhiteout:
		s.tree.remove(path.Dir(name), false)
		return nil
	case strings.HasPrefix(base, imagebuild.Whiteout):
		s.tree.remove(path.Join(path.Dir(name), base[len(imagebuild.Whiteout):]), true)
		return nil
	}

	f := imagebuild.File{Name: name}
	switch header.Typeflag {
	case tar.TypeDir:
		f.Kind = fs.ModeDir
	case tar.TypeSymlink:
		f.Kind, f.Link = fs.ModeSymlink, header.Linkname
	default:
		file, err := s.scratchFile()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		f.Source = file.Name()
		if f.Size, err = io.Copy(file, from); err != nil {
			return err
		}
	}

	made := s.tree.change()
	if old, there := made.find(name); there && (old.Kind == fs.ModeDir) != (f.Kind == fs.ModeDir) {
		s.tree.remove(name, true)
	}
	if err := made.add(f); err != nil {
		return err
	}
	maps.Copy(s.tree, made.files)
	return nil
}

// remove removes what is below a name, and it itself if asked to.
func (t tree) remove(name string, itself bool) {
	folded := strings.ToLower(name)
	if itself {
		delete(t, folded)
	}
	maps.DeleteFunc(t, func(other string, _ imagebuild.File) bool { return strings.HasPrefix(other, folded+"/") })
}
