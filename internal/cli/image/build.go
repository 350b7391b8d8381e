package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/folderimage"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

func (a *commands) build() *cobra.Command {
	var over imagebuild.Spec
	var docker dockerfileFlags
	var file, output string

	cmd := &cobra.Command{
		Use:   "build FOLDER",
		Short: "Make a Windows image from a Dockerfile or a folder of files",
		Long: `Makes an OCI image for windows/amd64, as the Dockerfile in the folder says, or from the folder's files. The image is
loaded into the cluster that is up, or written to a file with --output. All timestamps in the image are the time in the
environment variable SOURCE_DATE_EPOCH (seconds), or the start of 1970.

RUN runs in a container as of ` + "`mullion run`" + `, which needs root. A stage begins with scratch, with another stage, or with one of
Microsoft's base images, such as mcr.microsoft.com/windows/nanoserver:ltsc2022, in whose place a stand-in without
Windows' files is. .dockerignore leaves files out.

Without a Dockerfile the image has the folder's files and one manifest for each Windows version. An image.yaml in the
folder describes it (tags, os, osVersions, target, entrypoint, cmd, env, workingDir, user, exposedPorts, volumes,
labels); flags override it.

On a Mullion node, Wine takes the place of the Windows base layer. On real Windows the image needs a real base layer.

With --os linux the image is for linux/amd64, and FOLDER may also be one program, linked statically.`,
		Example: `  mullion image build examples/webserver
  mullion image build . -t mullion.local/app:v1                       # by ./Dockerfile
  mullion image build . -f deploy/windows.Dockerfile --build-arg VERSION=1.2 -t mullion.local/app:v1
  mullion image build ./app -t registry.example/app:v1 --windows-version ltsc2022 -o app.tar
  mullion image build --os linux ./server -t mullion.local/server:v1`,
		Args: cmdline.Exactly("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			img, err := a.buildAny(cmd, args[0], file, docker, over)
			if err != nil {
				return err
			}
			return a.placeImage(cmd.Context(), img, output)
		},
	}

	f := cmd.Flags()
	f.StringVarP(&file, "file", "f", "", "the Dockerfile, or the description if it ends with .yaml "+
		"(default: Dockerfile or image.yaml in the folder, if there is one)")
	f.StringVarP(&output, "output", "o", "",
		"write an OCI archive to this file instead of loading the image into the cluster")
	f.StringArrayVarP(&over.Tags, "tag", "t", nil, "reference of the image, for example mullion.local/app:v1")
	f.StringArrayVar(&docker.args, "build-arg", nil, "value of an ARG of the Dockerfile, NAME=VALUE")
	f.StringVar(&docker.target, "target", "", "the Dockerfile's stage that becomes the image (default: the last one)")
	f.StringVar(&over.OS, "os", "", "windows or linux (default: windows)")

	f.StringSliceVar(&over.OSVersions, "windows-version", nil,
		"Windows versions that the image is for (default: all of the catalogue)")
	f.StringArrayVar(&over.Entrypoint, "entrypoint", nil, "program and leading arguments; give the flag once for each")
	f.StringArrayVar(&over.Cmd, "cmd", nil, "default arguments; give the flag once for each")
	f.StringArrayVarP(&over.Env, "env", "e", nil, "NAME=value")
	f.StringVar(&over.WorkingDir, "workdir", "", `folder that the program starts in, for example C:\app`)
	f.StringVar(&over.User, "user", "", "ContainerUser or ContainerAdministrator")
	f.StringArrayVar(&over.ExposedPorts, "expose", nil, "port, for example 80/tcp")
	return cmd
}

// buildAny makes an image as a Dockerfile or a description says.
func (a *commands) buildAny(cmd *cobra.Command, dir, file string, docker dockerfileFlags, over imagebuild.Spec) (
	*imagebuild.Image, error,
) {
	by, err := dockerfileOf(dir, file)
	if err != nil {
		return nil, exit.Misuse(err, "")
	}
	if by != "" {
		img, err := a.buildDockerfile(cmd, dir, by, docker, over)
		if own, ok := errors.AsType[*exit.Error](err); ok { // beside the line, the code and what to do
			err = &exit.Error{Code: own.Code, Err: err, Remedy: own.Remedy}
		} else if err != nil {
			err = exit.Misuse(err, "")
		}
		return img, err
	}

	if name := docker.given(); name != "" {
		return nil, exit.Misuse(fmt.Errorf("%s is for a Dockerfile, and %q has none", name, dir), "name it by -f")
	}
	img, err := folderimage.Build(cmd.Context(), a.Env, dir, file, over)
	if err != nil {
		return nil, exit.Misuse(err, "`mullion image build --help` describes image.yaml")
	}
	return img, nil
}

// placeImage writes the image to a file, or loads it into the cluster.
func (a *commands) placeImage(ctx context.Context, img *imagebuild.Image, output string) error {
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := img.WriteArchive(&archive); err != nil {
		return err
	}

	where := output
	if output != "" {
		if err := atomicfile.Write(output, archive.Bytes(), 0o644); err != nil {
			return err
		}
	} else {
		where = "the cluster"
		if err := stores.Load(ctx, a.Call, bytes.NewReader(archive.Bytes()), img.OS); err != nil {
			return err
		}
	}

	for _, ref := range img.Refs {
		what := fmt.Sprintf("%d Windows version(s)", len(img.OSVersions))
		if img.OS == imagebuild.Linux {
			what = "linux/amd64"
		}
		fmt.Fprintf(a.Env.Out, "%s@%s for %s, in %s\n", ref, digest, what, where)
	}

	return nil
}
