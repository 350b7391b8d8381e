package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/folderimage"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/runtime/bases"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// builds is `mullion image build`.
type builds struct{ *reader.Reader }

func (a *builds) command() *cobra.Command {
	var over imagebuild.Spec
	var docker dockerfileFlags
	var file string
	var to placing
	var words dockerWords

	cmd := &cobra.Command{
		Use:   "build FOLDER|-",
		Short: "Make a Windows image from a Dockerfile or a folder of files",
		Long: `Makes an OCI image for windows/amd64, as the Dockerfile in the folder says, or from the folder's files. The image is
loaded into the cluster that is up, or written to a file with --output. All timestamps in the image are the time in the
environment variable SOURCE_DATE_EPOCH (seconds), or the start of 1970.

RUN runs in a container as of ` + "`mullion run`" + `, which needs root; in a stage for Linux (FROM --platform=linux/amd64) in one of
Linux, so that Go's or Node's compilers of Linux build what the image for Windows copies. A stage begins with scratch,
with another stage, with an image of the machine (for root) or of a registry, or with one of Microsoft's base images,
such as mcr.microsoft.com/windows/nanoserver:ltsc2022, in whose place a stand-in without Windows' files is; --base real
keeps Windows' own layers. .dockerignore leaves files out. What a build has made is kept in $MULLION_CACHE_DIR (by
default /var/cache/mullion for root, and ~/.cache/mullion), so the next one makes only what has changed.

Without a Dockerfile the image has the folder's files and one manifest for each Windows version. An image.yaml in the
folder describes it (tags, os, osVersions, target, entrypoint, cmd, env, workingDir, user, exposedPorts, volumes,
labels); flags override it.

On a Mullion node, Wine takes the place of the Windows base layer. On real Windows the image needs a real base layer.

With --os linux the image is for linux/amd64; without a Dockerfile FOLDER may also be one program, linked statically.

A Dockerfile may come by standard input: ` + "`-f -`" + ` beside a FOLDER, or - in its place, which then has no files.`,
		Example: `  mullion image build examples/webserver
  mullion image build . -t mullion.local/app:v1                       # by ./Dockerfile
  mullion image build . -f deploy/windows.Dockerfile --build-arg VERSION=1.2 -t mullion.local/app:v1
  mullion image build ./app -t registry.example/app:v1 --windows-version ltsc2022 -o app.tar
  mullion image build . -t mullion.local/app:v1 --run && mullion run mullion.local/app:v1
  mullion image build . -t registry.example/app:v1 --base real --push  # for real Windows
  mullion image build --os linux ./server -t mullion.local/server:v1`,
		Args: cmdline.Exactly("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := words.heed(&over, &docker, &to); err != nil {
				return exit.Misuse(err, "")
			}
			if err := a.hasPlace(to); err != nil {
				return err
			}

			dir, file, remove, err := a.fromInput(args[0], file)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, remove()) }()

			img, done, err := a.buildAny(cmd, dir, file, docker, over)
			if err != nil {
				return err
			}
			return errors.Join(a.placeImage(cmd, img, to), done())
		},
	}

	f := cmd.Flags()
	f.StringVarP(&file, "file", "f", "", "the Dockerfile, or the description if it ends with .yaml "+
		"(default: Dockerfile or image.yaml in the folder, if there is one)")
	words.flags(f)
	f.StringVarP(&to.file, "output", "o", "",
		"write an OCI archive to this file (-: standard output; type=oci,dest=FILE too) instead of loading the image into "+
			"the cluster")
	f.BoolVar(&to.run, "run", false, "load the image for single containers (mullion run) instead of into the cluster")
	f.BoolVar(&to.push, "push", false, "push the image to the registries of its tags instead of loading it into the cluster")
	f.StringArrayVarP(&over.Tags, "tag", "t", nil, "reference of the image, for example mullion.local/app:v1")
	f.StringArrayVar(&docker.args, "build-arg", nil, "value of an ARG of the Dockerfile, NAME=VALUE")
	f.StringVar(&docker.target, "target", "", "the Dockerfile's stage that becomes the image (default: the last one)")
	f.StringArrayVar(&docker.secrets, "secret", nil, "a secret for RUN --mount=type=secret: id=ID,src=FILE or id=ID,env=NAME")
	f.BoolVar(&docker.noCache, "no-cache", false, "make every step anew, whatever earlier builds have made")
	f.BoolVar(&docker.pull, "pull", false, "ask registries for the bases, also for those that are here")
	f.StringVar(&docker.base, "base", baseStandIn,
		"what lies below the image: standin, or real: Windows' own layers of a base in a registry, for real Windows")
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

// buildAny makes an image as a Dockerfile or a description says. It is to be used before done is called.
func (a *builds) buildAny(cmd *cobra.Command, dir, file string, docker dockerfileFlags, over imagebuild.Spec) (
	_ *imagebuild.Image, done func() error, err error,
) {
	by, err := dockerfileOf(dir, file)
	if err != nil {
		return nil, nil, exit.Misuse(err, "")
	}

	if by != "" {
		img, done, err := a.buildDockerfile(cmd, dir, by, docker, over)
		if own, ok := errors.AsType[*exit.Error](err); ok { // beside the line, the code and what to do
			err = &exit.Error{
				Code:   own.Code,
				Err:    err,
				Remedy: own.Remedy,
			}
		} else if err != nil {
			err = exit.Misuse(err, "")
		}

		return img, done, err
	}

	if name := docker.given(); name != "" {
		return nil, nil, exit.Misuse(fmt.Errorf("%s is for a Dockerfile, and %q has none", name, dir), "name it by -f")
	}
	img, err := folderimage.Build(cmd.Context(), a.Env, dir, file, over)
	if err != nil {
		return nil, nil, exit.Misuse(err, "`mullion image build --help` describes image.yaml")
	}
	return img, func() error { return nil }, nil
}

// placing is where a built image goes: into the cluster unless something is given.
type placing struct {
	file      string
	run, push bool
	// quiet says the digest alone, which idFile gets too.
	quiet  bool
	idFile string
}

// cluster reports whether the image goes into the cluster.
func (to placing) cluster() bool { return to.file == "" && !to.run && !to.push }

// hasPlace refuses a build for a cluster that is not there, before anything is made.
func (a *builds) hasPlace(to placing) error {
	if !to.cluster() {
		return nil
	}
	if err := a.RequireRoot("loads images into the nodes' stores"); err != nil {
		return err
	}
	_, _, err := a.Cluster()
	if own, ok := errors.AsType[*exit.Error](err); ok && own.Code == exit.NotFound {
		own.Remedy = "`--run` puts the image where `mullion run` finds it, `-o FILE` into an archive, `--push` into its " +
			"registry; `mullion up` brings a cluster up"
	}
	return err
}

// placeImage writes the image to a file, loads or pushes it.
func (a *builds) placeImage(cmd *cobra.Command, img *imagebuild.Image, to placing) error {
	digest, err := img.Digest()
	if err != nil {
		return err
	}

	ctx, where := cmd.Context(), "the cluster"
	if to.file != "" {
		where = to.file
		if err := a.writeArchive(to.file, img); err != nil {
			return err
		}
		if len(img.Elsewhere) > 0 {
			fmt.Fprintln(a.Env.Err, "Windows' own layers are not in the archive: `--push` takes them from one registry to the other")
		}
	}

	if to.run {
		where = "the store of single containers"
		if err := a.loadBuiltForRun(cmd, img); err != nil {
			return err
		}
	}

	if to.push {
		where = "its registry"
		for _, ref := range img.Refs {
			if _, err := (bases.Registry{}).Push(ctx, ref, bases.Single{Index: img.Index}); err != nil {
				return err
			}
		}
	}

	if to.cluster() {
		if err := a.loadBuilt(ctx, img); err != nil {
			return err
		}
	}

	return a.sayPlaced(img, digest, where, to)
}

// writeArchive writes the image to a file, or to standard output.
func (a *builds) writeArchive(file string, img *imagebuild.Image) error {
	if file == "-" {
		return img.WriteArchive(a.Env.Out)
	}
	return atomicfile.Stream(file, 0o644, img.WriteArchive)
}

// sayPlaced says what was built, and where it is.
func (a *builds) sayPlaced(img *imagebuild.Image, digest, where string, to placing) error {
	if to.idFile != "" {
		if err := atomicfile.Write(to.idFile, []byte(digest), 0o644); err != nil {
			return err
		}
	}

	say := a.Env.Out
	if to.file == "-" {
		say, where = a.Env.Err, "standard output"
	}
	if to.quiet {
		_, err := fmt.Fprintln(say, digest)
		return err
	}

	for _, ref := range img.Refs {
		what := fmt.Sprintf("%d Windows version(s)", len(img.OSVersions))
		if img.OS == imagebuild.Linux {
			what = "linux/amd64"
		}
		fmt.Fprintf(say, "%s@%s for %s, in %s\n", ref, digest, what, where)
	}

	return nil
}

// loadBuiltForRun loads the image into the store of single containers.
func (a *builds) loadBuiltForRun(cmd *cobra.Command, img *imagebuild.Image) error {
	if img.OS == imagebuild.Linux {
		return exit.Misuse(errors.New("--run: single containers are of Windows"), "")
	}
	if err := a.RequireRoot("loads images into the store of single containers"); err != nil {
		return err
	}

	client, err := engine.Client(a.Call, cmd)
	if err != nil {
		return err
	}
	archive, into := io.Pipe()
	go func() { into.CloseWithError(img.WriteArchive(into)) }()
	_, err = client.Load(cmd.Context(), archive)
	return errors.Join(err, archive.Close())
}

// loadBuilt loads the image into the cluster, by a file that exists as long as it is open.
func (a *builds) loadBuilt(ctx context.Context, img *imagebuild.Image) (err error) {
	archive, err := os.CreateTemp("", "mullion-image-*.tar")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	if err := errors.Join(os.Remove(archive.Name()), img.WriteArchive(archive)); err != nil {
		return err
	}
	return stores.Load(ctx, a.Call, archive, img.OS, "")
}
