package critest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/image"
)

var _ cri.Images = (*Images)(nil)

// The Windows builds of the fakes: the node's own, which runs images of that build only, and a later one.
const (
	NodeBuild  = "10.0.20348.2762"
	OtherBuild = "10.0.26100.1742"
)

// The images that NewImages knows.
const (
	// AppImage is on the node. Its program is C:\app\app.exe serve, as ContainerUser, in C:\app.
	AppImage = "mullion.test/app:1"
	// OtherImage is on the node, but for OtherBuild.
	OtherImage = "mullion.test/other:1"
	// EmptyImage is on the node and names no program.
	EmptyImage = "mullion.test/empty:1"
	// RemoteImage is in the registry only.
	RemoteImage = "mullion.test/remote:1"
)

// Images is a fake of *image.Store.
type Images struct {
	calls *Calls

	mu       sync.Mutex
	local    map[string]image.Info
	registry map[string]image.Info
	handlers []string
	auth     []*image.Auth
}

// NewImages returns the images above. It records its calls in calls.
func NewImages(calls *Calls) *Images {
	app := imageInfo(AppImage, "a", NodeBuild, ocispec.ImageConfig{
		Entrypoint: []string{`C:\app\app.exe`},
		Cmd:        []string{"serve"},
		WorkingDir: `C:\app`,
		User:       "ContainerUser",
		Env:        []string{"Color=red", "From_Image=yes"},
	})
	app.Pinned = true
	return &Images{
		calls: calls,
		local: map[string]image.Info{
			AppImage:   app,
			OtherImage: imageInfo(OtherImage, "b", OtherBuild, app.Config),
			EmptyImage: imageInfo(EmptyImage, "c", NodeBuild, ocispec.ImageConfig{User: "1000:1000"}),
		},
		registry: map[string]image.Info{RemoteImage: imageInfo(RemoteImage, "d", NodeBuild, app.Config)},
	}
}

// imageInfo returns an image whose id is 64 times the same digit.
func imageInfo(ref, digit, osVersion string, config ocispec.ImageConfig) image.Info {
	return image.Info{
		ID:        "sha256:" + strings.Repeat(digit, 64),
		RepoTags:  []string{ref},
		Size:      100,
		ChainID:   "chain-" + digit,
		OSVersion: osVersion,
		Config:    config,
	}
}

// GetFor finds an image that the node can run.
func (i *Images) GetFor(_ context.Context, idOrRef, handler string) (info image.Info, err error) {
	err = i.calls.do("Images.GetFor", handler, idOrRef, func() error {
		if info, err = i.find(idOrRef); err == nil && i.check(info) != nil {
			info, err = image.Info{}, fmt.Errorf("image %q: %w", idOrRef, errdefs.ErrNotFound)
		}
		return err
	})
	return info, err
}

// GetAny finds an image of any build.
func (i *Images) GetAny(_ context.Context, idOrRef, handler string) (info image.Info, err error) {
	err = i.calls.do("Images.GetAny", handler, idOrRef, func() error {
		info, err = i.find(idOrRef)
		return err
	})
	return info, err
}

func (i *Images) find(idOrRef string) (image.Info, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if info, there := i.local[idOrRef]; there {
		return info, nil
	}
	for _, info := range i.local {
		if info.ID == idOrRef {
			return info, nil
		}
	}
	return image.Info{}, fmt.Errorf("image %q: %w", idOrRef, errdefs.ErrNotFound)
}

// Check refuses images of another build than the node's.
func (i *Images) Check(info image.Info, handler string) error {
	return i.calls.do("Images.Check", handler, info.ID, func() error { return i.check(info) })
}

func (*Images) check(info image.Info) error {
	if info.OSVersion != NodeBuild {
		return &image.MismatchError{Image: info.OSVersion, Node: NodeBuild}
	}
	return nil
}

// Pull takes an image from the registry.
func (i *Images) Pull(_ context.Context, ref string, auth *image.Auth, handler string) (info image.Info, err error) {
	err = i.calls.do("Images.Pull", handler, ref, func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		var there bool
		if info, there = i.registry[ref]; !there {
			return fmt.Errorf("registry has no %q: %w", ref, errdefs.ErrNotFound)
		}
		i.handlers, i.auth = append(i.handlers, handler), append(i.auth, auth)
		i.local[ref] = info
		return nil
	})
	return info, err
}

// List lists the images that the node can run, by their references.
func (i *Images) List(context.Context) (out []image.Info, err error) {
	err = i.calls.do("Images.List", "", "", func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, ref := range slices.Sorted(maps.Keys(i.local)) {
			if i.check(i.local[ref]) == nil {
				out = append(out, i.local[ref])
			}
		}
		return nil
	})
	return out, err
}

// Remove removes an image.
func (i *Images) Remove(_ context.Context, idOrRef string) error {
	return i.calls.do("Images.Remove", "", idOrRef, func() error {
		info, err := i.find(idOrRef)
		if err != nil {
			return err
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		maps.DeleteFunc(i.local, func(_ string, other image.Info) bool { return other.ID == info.ID })
		return nil
	})
}

// FsInfo is always the same but for the time.
func (i *Images) FsInfo(context.Context) (image.Usage, error) {
	usage := image.Usage{
		Path:   "/images",
		Bytes:  5000,
		Inodes: 7,
		Time:   time.Now(),
	}
	return usage, i.calls.do("Images.FsInfo", "", "", func() error { return nil })
}

// Pulls returns the runtime handlers and the credentials of the pulls so far.
func (i *Images) Pulls() (handlers []string, auth []*image.Auth) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.handlers), slices.Clone(i.auth)
}
