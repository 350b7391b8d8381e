package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/images"
	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/check/programs"
	"mullion.dev/mullion/internal/check/rules"
)

// programs judges the programs of images.
func (p Program) programs() *cobra.Command {
	o := Options{}
	var wines []string
	cmd := &cobra.Command{
		Use:   "programs PATH…",
		Short: "Say what the programs of an image will miss on Mullion's nodes",
		Long: `Reads the programs and libraries of images (an OCI image layout or a tar archive, as of ` + "`mullion image build -o`" + ` and ` + "`docker save`" + `), of a
folder, or one program, and says which of the libraries and functions that they import are not there:
neither in the image, nor in Mullion, nor in Wine; which are only stubs there; and which programs are
not for 64-bit Windows. Nothing is run, and no cluster is needed.

What a program looks up while it runs (LoadLibrary, GetProcAddress), and functions that Wine has and that do less than
Windows', are not seen; ` + "`mullion support`" + ` has what is known of those.`,
		Example: `  mullion image build ./app -t registry.example/app:v1 -o app.tar && mullion check programs app.tar
  mullion check programs ./app/bin
  mullion check programs --wine-version 10.0 -o sarif app.tar`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Dir, err = os.Getwd(); err != nil {
				return err
			}
			o.Paths, o.Version = args, p.Version
			return p.End(Programs(cmd.Context(), o, wines, p.Out))
		},
	}

	f := cmd.Flags()
	f.StringSliceVar(&wines, "wine-version", nil, "versions of Wine to judge by, 8.0 or 10.0 (default: both)")
	f.StringVar(&o.FailOn, "fail-on", "",
		"severity from which findings make the exit code: error, warning or info (default error)")
	f.StringVarP(&o.Output, "output", "o", "text", strings.Join(Outputs(), ", ")+"; json is an object a line")
	f.StringVar(&o.Config, "config", "",
		"configuration file (default the nearest "+ConfigName+" from the working directory upward)")
	complete(cmd, "output", Outputs())
	complete(cmd, "fail-on", []string{string(check.Error), string(check.Warning), string(check.Info)})
	complete(cmd, "wine-version", []string{"8.0", "10.0"})

	return cmd
}

// Programs judges the programs in o.Paths and prints to out.
func Programs(ctx context.Context, o Options, wines []string, out io.Writer) (Outcome, error) {
	var result Outcome
	c, err := readConfig(o.Config, o.Dir)
	if err != nil {
		return result, &UsageError{err}
	}

	o = o.with(c)
	result.FailOn = o.FailOn
	if _, err := o.checkOptions(); err != nil {
		return result, &UsageError{err}
	}
	if len(o.Paths) == 0 {
		return result, &UsageError{errors.New("name an image's archive, a folder or a program")}
	}

	all, err := c.apply(rules.All())
	if err != nil {
		return result, &UsageError{err}
	}
	judge, err := programs.NewJudge(all, wines)
	if err != nil {
		return result, &UsageError{err}
	}

	printer := o.printer(out)
	emit := result.tell(printer)
	for _, path := range o.Paths {
		err := programsOf(ctx, judge, path, emit)
		if ctx.Err() != nil {
			return result, ctx.Err()
		}

		if err != nil {
			err = emit(check.Result{File: path, Faults: []manifest.Fault{{
				Pos: manifest.Pos{Line: 1, Column: 1}, Fatal: true, Message: err.Error(),
			}}})
		}
		if err != nil {
			return result, err
		}
	}

	return result, printer.Close()
}

// programsOf judges an archive or layout of images, a folder or a program.
func programsOf(ctx context.Context, judge *programs.Judge, path string, emit func(check.Result) error) error {
	kind, err := kindOf(path)
	if err != nil {
		return err
	}

	if kind != ofImages {
		set := programs.NewSet(false)
		if err := set.ReadFolder(ctx, path); err != nil {
			return err
		}
		if set.Len() == 0 {
			return errors.New("there is no program or library of Windows in it")
		}
		return emit(judge.Set(set, check.Object{Kind: string(kind), Name: filepath.Base(path)}, path))
	}

	count := 0
	err = images.ForWindows(ctx, path, func(image *images.Layers) error {
		count++
		set := programs.NewSet(true)
		if err := set.ReadImage(ctx, image); err != nil {
			return fmt.Errorf("image %q: %w", image.Name, err)
		}
		return emit(judge.Set(set, check.Object{Kind: string(ofImages), Name: image.Name}, path))
	})
	if err == nil && count == 0 {
		err = errors.New("there is no image for Windows in it")
	}

	return err
}

// what a path is; the text is the kind of the object in findings.
type pathKind string

const (
	ofImages  pathKind = "Image"
	ofFolder  pathKind = "Folder"
	ofProgram pathKind = "Program"
)

func kindOf(path string) (pathKind, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}

	if info.IsDir() {
		for _, name := range []string{"index.json", "manifest.json"} {
			_, layoutErr := os.Stat(filepath.Join(path, "blobs"))
			if _, err := os.Stat(filepath.Join(path, name)); err == nil && layoutErr == nil {
				return ofImages, nil
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}

		return ofFolder, nil
	}

	f, _, err := beneath.OpenPath(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var head [2]byte
	if _, err := io.ReadFull(f, head[:]); err == nil && string(head[:]) == "MZ" {
		return ofProgram, nil
	}

	return ofImages, nil
}
