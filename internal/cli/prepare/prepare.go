// Package prepare owns `mullion prepare`: it makes, once for a machine, what the first cluster or container on it would
// wait for.
package prepare

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/bringup"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/windows/wine"
)

// Calls are what the command does with the machine.
type Calls struct {
	// Pack makes a packed prefix, as wine.Pack does.
	Pack func(ctx context.Context, o wine.Options, dir string) (file string, made bool, err error)
	// Remove removes those of a folder, as wine.RemovePacked does.
	Remove func(dir string) (files []string, err error)
}

// Real returns the calls that carry it out.
func Real() Calls { return Calls{wine.Pack, wine.RemovePacked} }

// flags are what the command was told.
type flags struct {
	dir, wine      string
	remove, ifWine bool
}

// New returns the command.
func New(call *invoke.Call, calls Calls) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "prepare",
		Short: "Make Wine's Windows folder once for this machine, so that nothing waits for it later",
		Long: `Makes the Windows folder that Wine fills at its first start, and keeps it packed in a file. The first ` + "`mullion up`" + ` with
Windows nodes, and the first ` + "`mullion run`" + `, then unpack it; without it each makes its own, which takes 8 s or more:
most of a first run, and a second or two of an up, which does other things meanwhile. ` + "`mullion down`" + ` leaves the file; --remove removes it.

The file has none of Wine's programs and fits the Wine that is installed; after an upgrade of Wine it is not used, and
prepare makes another. A checkout's ` + "`make up`" + ` and ` + "`make build`" + ` keep one beside the programs already.`,
		Example: `  sudo mullion prepare
  sudo mullion prepare --remove`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), call, calls) },
	}

	cmd.Flags().StringVar(&f.dir, "dir", wine.PackedDir, "folder for the file; mullion up and mullion run look in the default only")
	bringup.WineFlag(cmd, &f.wine)
	cmd.Flags().BoolVar(&f.remove, "remove", false, "remove what prepare made")
	cmd.Flags().BoolVar(&f.ifWine, "if-wine", false, "do nothing on a machine without Wine")
	return cmd
}

func (f flags) run(ctx context.Context, call *invoke.Call, calls Calls) error {
	if f.dir == wine.PackedDir {
		if err := call.RequireRoot("writes " + wine.PackedDir); err != nil {
			return err
		}
	}
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}

	if f.remove {
		files, err := calls.Remove(dir)
		for _, file := range files {
			fmt.Fprintln(call.Env.Out, "removed", file)
		}
		if err == nil && len(files) == 0 {
			fmt.Fprintln(call.Env.Out, "nothing was prepared in", dir)
		}
		return err
	}

	folder, err := bringup.WineFolder(f.wine)
	if err != nil {
		return err
	}

	begin := time.Now()
	file, made, err := calls.Pack(ctx, wine.Options{InstallDir: folder}, dir)
	switch {
	case errors.Is(err, wine.ErrNotFound) && f.ifWine:
		fmt.Fprintln(call.Env.Out, "no Wine on this machine: nothing to prepare")
	case errors.Is(err, wine.ErrNotFound):
		return &exit.Error{
			Code:   exit.Requirement,
			Err:    err,
			Remedy: "`mullion doctor` says how to install it",
		}

	case err != nil:
		return err
	case made:
		fmt.Fprintf(call.Env.Out, "made %s in %.1fs\n", file, time.Since(begin).Seconds())
	default:
		fmt.Fprintln(call.Env.Out, "it is there already:", file)
	}

	return nil
}
