package agent

import (
	"context"
	"io"
	"path/filepath"

	"mullion.dev/mullion/internal/node/pauseimage"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

// imageLoader is the part of a store of images that takes new ones.
type imageLoader interface {
	Load(ctx context.Context, archive io.Reader, o image.LoadOptions) ([]image.Loaded, error)
}

// ensurePause puts the pause image of Mullion's making into the store, if the node's pods are to have that. It replaces
// an image that is there already, which costs little. An image of a registry is pulled by the first pod.
func (a *agent) ensurePause(ctx context.Context, store imageLoader) error {
	if a.config.PauseImage != spec.OwnPauseImage {
		return nil
	}
	img, err := pauseimage.Make(ctx, filepath.Join(filepath.Dir(a.executable), "windows"))
	if err != nil {
		return err
	}

	r, w := io.Pipe()
	go func() { w.CloseWithError(img.WriteArchive(w)) }()
	defer r.Close()
	_, err = store.Load(ctx, r, image.LoadOptions{Local: true})
	return err
}
