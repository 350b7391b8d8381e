// Package pauseimage makes the pause image of Windows nodes: that of a pod's first container.
package pauseimage

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mullion.dev/mullion/internal/base/filecopy"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/spec"
)

// Places are upstream's programs in the image, by their files in the folder of programs for Windows: where they lie on
// C:, as upstream has them (https://github.com/kubernetes/kubernetes/blob/v1.37.1/build/pause/Dockerfile_windows).
func Places() map[string]string {
	return map[string]string{
		"pause.exe":  "pause.exe",
		"wincat.exe": "Windows/System32/wincat.exe",
	}
}

// Programs returns the files of the image's programs in the folder of programs for Windows.
func Programs(folder string) (files []string) {
	for _, name := range slices.Sorted(maps.Keys(Places())) {
		files = append(files, filepath.Join(folder, name))
	}
	return files
}

// Check says which program of the image is not in the folder of programs for Windows.
func Check(folder string) error {
	for _, file := range Programs(folder) {
		if _, err := os.Stat(file); err != nil {
			return missing(err)
		}
	}
	return nil
}

func missing(err error) error {
	return fmt.Errorf("find the programs of the pause image: %w; build them with `make pause`", err)
}

// Make makes the image spec.OwnPauseImage of the programs in a folder, for builds of Windows; without one for any. It
// is the same whenever it is made.
func Make(ctx context.Context, folder string, builds ...string) (*imagebuild.Image, error) {
	dir, err := os.MkdirTemp("", "mullion-pause-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	for program, place := range Places() {
		to := filepath.Join(dir, place)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, err
		}
		if _, err := filecopy.Onto(filepath.Join(folder, program), to, 0o666); err != nil {
			return nil, missing(err)
		}
	}

	img, err := imagebuild.Build(ctx, imagebuild.Options{
		Dir:     dir,
		Created: time.Unix(0, 0),
		Spec: imagebuild.Spec{
			OSVersions: builds,
			Tags:       []string{string(spec.OwnPauseImage)},
			Entrypoint: []string{`C:\pause.exe`},
			User:       "ContainerUser", // as nanoserver's, of which upstream's image is made
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the pause image: %w", err)
	}
	return img, nil
}
