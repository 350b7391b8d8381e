// Package agnhost owns the images of the pods of `mullion net test`. It builds them from the agnhost programs beside
// mullion, and only for a store that lacks them. It owns neither the stores nor what the pods are asked.
package agnhost

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/containerd/errdefs"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/filecopy"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/nettest"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// NotBuiltError says that a program for an image is not beside mullion.
type NotBuiltError struct{ Err error }

func (e *NotBuiltError) Error() string { return fmt.Sprintf("build the test pods' image: %v", e.Err) }

// Unwrap gives what kept the program from being read.
func (e *NotBuiltError) Unwrap() error { return e.Err }

// WindowsStore is the store of the Windows nodes.
type WindowsStore interface {
	Get(ctx context.Context, idOrRef string) (image.Info, error)
	Load(ctx context.Context, archive io.Reader, o image.LoadOptions) ([]image.Loaded, error)
}

// NodeStore is the store that a node has of its own.
type NodeStore interface {
	List(ctx context.Context) ([]*criapi.Image, error)
	Load(ctx context.Context, archive io.Reader) ([]string, error)
}

// Images makes the images.
type Images struct {
	Paths layout.Paths
	// Step gets a line for each step that takes a while.
	Step func(string)
}

// ForWindows makes sure that the store of the Windows nodes has its image.
func (i Images) ForWindows(ctx context.Context, s WindowsStore) error {
	if _, err := s.Get(ctx, nettest.Image); err == nil || !errdefs.IsNotFound(err) {
		return err
	}
	archive, err := i.windowsArchive(ctx)
	if err != nil {
		return err
	}
	_, err = s.Load(ctx, archive, image.LoadOptions{})
	return err
}

// ForOwn makes sure that the store of a Windows node with containerd.exe has its image.
func (i Images) ForOwn(ctx context.Context, s NodeStore) error {
	all, err := s.List(ctx)
	has := func(img *criapi.Image) bool { return slices.Contains(img.GetRepoTags(), nettest.Image) }
	if err != nil || slices.ContainsFunc(all, has) {
		return err
	}
	archive, err := i.windowsArchive(ctx)
	if err != nil {
		return err
	}
	_, err = s.Load(ctx, archive)
	return err
}

// windowsArchive returns an archive of the image for every version of Windows.
func (i Images) windowsArchive(ctx context.Context) (io.Reader, error) {
	i.Step("building the image " + nettest.Image)
	dir, err := os.MkdirTemp("", "mullion-agnhost-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	program := i.Paths.Program("windows/agnhost.exe")
	if _, err := os.Stat(program); err != nil {
		return nil, &NotBuiltError{err}
	}
	if _, err := filecopy.Onto(program, filepath.Join(dir, "agnhost.exe"), 0o666); err != nil {
		return nil, &NotBuiltError{err}
	}

	return archiveOf(ctx, dir, imagebuild.Spec{
		Tags:       []string{nettest.Image},
		Entrypoint: []string{`C:\agnhost.exe`},
	})
}

// ForLinux makes sure that the store of a Linux node has its image.
func (i Images) ForLinux(ctx context.Context, s NodeStore) error {
	all, err := s.List(ctx)
	if err != nil || slices.ContainsFunc(all, isLinuxImage) {
		return err
	}
	i.Step("building the image " + nettest.LinuxImage)
	program := i.Paths.Program("linux/agnhost")
	if _, err := os.Stat(program); err != nil {
		return &NotBuiltError{err}
	}

	archive, err := archiveOf(ctx, program, imagebuild.Spec{
		OS:         imagebuild.Linux,
		Tags:       []string{nettest.LinuxImage},
		Entrypoint: []string{"/agnhost"},
	})
	if err != nil {
		return err
	}
	_, err = s.Load(ctx, archive)
	return err
}

func isLinuxImage(img *criapi.Image) bool {
	return slices.Contains(img.GetRepoTags(), nettest.LinuxImage)
}

// archiveOf returns an archive with an image made from a folder or from one program.
func archiveOf(ctx context.Context, from string, description imagebuild.Spec) (io.Reader, error) {
	img, err := imagebuild.Build(ctx, imagebuild.Options{Dir: from, Spec: description})
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	return &archive, img.WriteArchive(&archive)
}
