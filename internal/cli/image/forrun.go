package image

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/single"
)

// storeForRun returns the engine that has the images of single containers. does is what a command does with them.
func (a *commands) storeForRun(cmd *cobra.Command, does string) (*single.Client, error) {
	if err := a.RequireRoot(does + " the store of single containers"); err != nil {
		return nil, err
	}
	return engine.Client(a.Call, cmd)
}

// imagesForRun returns the images of single containers.
func (a *commands) imagesForRun(cmd *cobra.Command) ([]image.Info, error) {
	client, err := a.storeForRun(cmd, "reads")
	if err != nil {
		return nil, err
	}
	list, err := client.Images(cmd.Context())
	return list, engine.Refused(err)
}

// pullForRun pulls an image for single containers.
func (a *commands) pullForRun(cmd *cobra.Command, ref, windows string, auth *image.Auth) error {
	client, err := a.storeForRun(cmd, "changes")
	if err != nil {
		return err
	}
	info, err := client.Pull(cmd.Context(), ref, windows, auth)
	if err != nil {
		return engine.Refused(err)
	}

	_, err = fmt.Fprintf(a.Env.Out, "%s is %s (%s)\n", ref, info.ID, info.OSVersion)
	return err
}

// removeForRun removes an image of single containers, or one of its names.
func (a *commands) removeForRun(ctx context.Context, client *single.Client, ref string, force bool) error {
	kept, err := client.RemoveImage(ctx, ref, force)
	if errdefs.IsNotFound(err) {
		return notForRun(err)
	}
	if err != nil {
		return engine.Refused(err)
	}

	if len(kept) > 0 {
		_, err = fmt.Fprintf(a.Env.Out, "removed the name %s; the image still is %s\n", ref, strings.Join(kept, ", "))
		return err
	}
	_, err = fmt.Fprintf(a.Env.Out, "removed %s\n", ref)
	return err
}

// notForRun is the error of an image that single containers do not have.
func notForRun(err error) error {
	return &exit.Error{
		Code: exit.NotFound,
		Err:  err,
		Remedy: "`mullion image ls --run` lists those of single containers; `mullion image build`, `load` and `pull` " +
			"bring more with --run",
	}
}
