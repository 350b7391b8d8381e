package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/stores"
)

// What follows are the shared packages' things under the names by which what runs single containers, and builds images,
// calls them.

// apiPatience bounds what is asked of the API.
const apiPatience = reader.Patience

// outputFlags say how a command speaks.
type outputFlags struct{ quiet bool }

func (a *app) requireRoot(why string) error { return a.RequireRoot(why) }

func noArgs(cmd *cobra.Command, args []string) error { return cmdline.None(cmd, args) }

func exactArgs(names ...string) cobra.PositionalArgs { return cmdline.Exactly(names...) }

func flagError(cmd *cobra.Command, err error) error { return cmdline.FlagError(cmd, err) }

func (a *app) loadImages(ctx context.Context, archive io.ReadSeeker, system string) error {
	return stores.Load(ctx, a.Call, archive, system)
}
