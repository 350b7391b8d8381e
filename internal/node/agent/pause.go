package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/base/filecopy"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
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
	dir, err := os.MkdirTemp("", "mullion-pause-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	programs := filepath.Join(filepath.Dir(a.executable), "windows")
	for program, place := range agentconfig.PausePrograms() {
		to := filepath.Join(dir, place)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if _, err := filecopy.Onto(filepath.Join(programs, program), to, 0o666); err != nil {
			return fmt.Errorf("find the programs of the pause image: %w; build them with `make pause`", err)
		}
	}

	img, err := imagebuild.Build(ctx, imagebuild.Options{
		Dir:     dir,
		Created: time.Unix(0, 0),
		Spec: imagebuild.Spec{
			Tags:       []string{string(spec.OwnPauseImage)},
			Entrypoint: []string{`C:\pause.exe`},
			User:       "ContainerUser", // as nanoserver's, of which upstream's image is made
		},
	})
	if err != nil {
		return fmt.Errorf("make the pause image: %w", err)
	}

	r, w := io.Pipe()
	go func() { w.CloseWithError(img.WriteArchive(w)) }()
	defer r.Close()
	_, err = store.Load(ctx, r, image.LoadOptions{Local: true})
	return err
}
