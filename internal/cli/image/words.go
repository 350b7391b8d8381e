package image

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// dockerWords are flags of `docker build` and `docker buildx build` for what has another name here, or is so anyway
// (https://docs.docker.com/reference/cli/docker/buildx/build/).
type dockerWords struct {
	labels             []string
	platform, progress string
	quiet, load        bool
	idFile             string
}

// flags adds them.
func (w *dockerWords) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&w.labels, "label", nil, "a label of the image, NAME=VALUE")
	f.StringVar(&w.platform, "platform", "", "windows/amd64 or linux/amd64, as --os")
	f.StringVar(&w.progress, "progress", "auto", "auto and plain: each step; quiet: none, as -q")
	f.BoolVarP(&w.quiet, "quiet", "q", false, "print the image's digest alone")
	f.BoolVar(&w.load, "load", false, "load the image into the cluster, as without --output, --push and --run")
	f.StringVar(&w.idFile, "iidfile", "", "write the image's digest to this file")
}

// heed puts what they say where this program's own flags have it.
func (w *dockerWords) heed(over *imagebuild.Spec, docker *dockerfileFlags, to *placing) error {
	for _, label := range w.labels {
		name, value, _ := strings.Cut(label, "=")
		if name == "" {
			return fmt.Errorf("--label %q: want NAME=VALUE", label)
		}
		if over.Labels == nil {
			over.Labels = map[string]string{}
		}
		over.Labels[name] = value
	}

	if err := w.heedPlatform(over); err != nil {
		return err
	}

	switch w.progress {
	case "auto", "plain", "tty":
	case "quiet", "none":
		w.quiet = true
	default:
		return fmt.Errorf("--progress %q is none of auto, plain, quiet", w.progress)
	}

	if w.load && !to.cluster() {
		return errors.New("--load is for the cluster, and --output, --push and --run are not: leave one of them out")
	}
	docker.quiet, to.quiet = w.quiet, w.quiet
	to.idFile = w.idFile

	file, err := archiveOf(to.file)
	to.file = file
	return err
}

// heedPlatform is --os by Docker's word.
func (w *dockerWords) heedPlatform(over *imagebuild.Spec) error {
	if w.platform == "" {
		return nil
	}
	system, processor, _ := strings.Cut(w.platform, "/")
	if (system != imagebuild.Windows && system != imagebuild.Linux) || (processor != "" && processor != "amd64") {
		return fmt.Errorf("--platform %q is neither windows/amd64 nor linux/amd64", w.platform)
	}
	if over.OS != "" && over.OS != system {
		return fmt.Errorf("--os %s and --platform %s are not the same", over.OS, w.platform)
	}
	over.OS = system
	return nil
}

// archiveOf reads --output: a file, or buildx' type=oci,dest=FILE.
func archiveOf(output string) (string, error) {
	if !strings.HasPrefix(output, "type=") && !strings.Contains(output, ",type=") {
		return output, nil
	}

	fields := map[string]string{}
	for field := range strings.SplitSeq(output, ",") {
		key, value, _ := strings.Cut(field, "=")
		if key != "type" && key != "dest" {
			return "", fmt.Errorf("--output %q: %q is not known here: want type=oci,dest=FILE", output, key)
		}
		fields[key] = value
	}

	switch {
	case fields["type"] != "oci" && fields["type"] != "docker":
		return "", fmt.Errorf("--output %q: an archive is of the type oci, which docker load takes too; --push is for "+
			"registries", output)
	case fields["dest"] == "":
		return "", fmt.Errorf("--output %q: want dest=FILE, or - for standard output", output)
	}
	return fields["dest"], nil
}

// mostOfInput bounds a Dockerfile that comes by standard input, in bytes.
const mostOfInput = 1 << 20

// fromInput puts the Dockerfile of standard input into a folder: of `build -`, whose only file it is, or of `-f -`.
func (a *builds) fromInput(dir, file string) (_, _ string, remove func() error, err error) {
	if dir != "-" && file != "-" {
		return dir, file, func() error { return nil }, nil
	}
	if dir == "-" && file != "" && file != "-" {
		return "", "", nil, exit.Misuse(errors.New("- is a Dockerfile by standard input, and -f names another one"),
			"leave one of them out")
	}

	text, err := io.ReadAll(io.LimitReader(a.Env.In, mostOfInput+1))
	switch {
	case err != nil:
		return "", "", nil, fmt.Errorf("read the Dockerfile from standard input: %w", err)
	case len(text) > mostOfInput || bytes.IndexByte(text, 0) >= 0:
		return "", "", nil, exit.Misuse(errors.New("standard input is no Dockerfile"), "unpack an archive, and name its folder")
	}

	temporary, err := os.MkdirTemp("", "mullion-input-")
	if err != nil {
		return "", "", nil, err
	}
	remove = func() error { return os.RemoveAll(temporary) }
	file = filepath.Join(temporary, dockerfileName)
	if dir == "-" {
		dir = filepath.Join(temporary, "context")
		err = os.Mkdir(dir, 0o700)
	}

	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		return "", "", nil, errors.Join(err, remove())
	}
	return dir, file, remove, nil
}
