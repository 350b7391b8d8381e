// Package nodeimages owns what is done with the images of a node that has a containerd of its own, of Linux or on a
// Windows host: loading them from archives, pulling them as for a pod, listing and removing them. It knows neither how
// that containerd runs, nor the store that the other Windows nodes of a machine share (package runtime/image).
package nodeimages

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/platforms"
	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"google.golang.org/grpc"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// engineNamespace is the containerd namespace of containerd's CRI.
const engineNamespace = "k8s.io"

// Images is the image store of one node. Such a node has a containerd of its own, and so a store of its own:
// containerd's stores cannot be shared, and one node must not collect another's content as garbage.
type Images struct {
	store Store
	conn  *client.Client
	cri   criapi.ImageServiceClient
}

// Store says which containerd has a node's images.
type Store struct {
	// Node is the node's name.
	Node string
	// Socket is the machine's path of the Unix socket that leads to the node's containerd.
	Socket string
	// Platform is what the node runs.
	Platform platforms.MatchComparer
	// Snapshotter unpacks the images; "" is containerd's usual one on Linux.
	Snapshotter string
}

// Linux is the store of a Linux node, whose containerd listens at a socket.
func Linux(node, socket string) Store {
	return Store{
		Node:     node,
		Socket:   socket,
		Platform: platforms.DefaultStrict(),
	}
}

// Windows is the store of a node with containerd.exe, to whose pipe a socket leads. version is the host's, as
// 10.0.26100.6899: containerd.exe itself takes images for it, and those of older versions that the host runs.
func Windows(node, socket, version string) Store {
	return Store{
		Node:   node,
		Socket: socket,
		Platform: platforms.Only(ocispec.Platform{
			OS:           "windows",
			Architecture: "amd64",
			OSVersion:    version,
		}),
		Snapshotter: "windows",
	}
}

// Open connects to a store. It is to be closed.
func Open(s Store) (*Images, error) {
	conn, err := client.New(s.Socket, client.WithDefaultNamespace(engineNamespace),
		client.WithDefaultPlatform(s.Platform))
	if err != nil {
		return nil, fmt.Errorf("connect to containerd of node %q: %w", s.Node, err)
	}

	channel, ok := conn.Conn().(grpc.ClientConnInterface)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connect to containerd of node %q: no gRPC connection", s.Node),
			conn.Close())
	}

	return &Images{
		store: s,
		conn:  conn,
		cri:   criapi.NewImageServiceClient(channel),
	}, nil
}

// Close ends the connection.
func (i *Images) Close() error { return i.conn.Close() }

// Load stores and unpacks the images of an archive (`docker save`, or an OCI image layout) that are for the node's
// platform, and returns their references; errdefs.ErrNotFound says that none is. They are pinned: the kubelet does not
// collect what may be impossible to pull again.
func (i *Images) Load(ctx context.Context, r io.Reader) ([]string, error) {
	loaded, err := i.conn.Import(ctx, r, client.WithImportPlatform(i.store.Platform),
		client.WithImageLabels(pinned()),
		client.WithImageRefTranslator(translate), client.WithSkipMissing())
	if errors.Is(err, images.ErrEmptyWalk) { // nothing of it is for the platform
		err = fmt.Errorf("%w: %w", errdefs.ErrNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("load images on node %q: %w", i.store.Node, err)
	}

	var refs []string
	var none error
	for _, img := range loaded {
		err := i.unpack(ctx, client.NewImageWithPlatform(i.conn, img, i.store.Platform))
		if err == nil {
			refs = append(refs, img.Name)
			continue
		}

		err = errors.Join(fmt.Errorf("load image %q on node %q: %w", img.Name, i.store.Node, err),
			i.conn.ImageService().Delete(ctx, img.Name))
		if !errdefs.IsNotFound(err) {
			return nil, err
		}
		none = err
	}
	if len(refs) == 0 && none == nil {
		none = fmt.Errorf("load images on node %q: the archive has no image with a name: %w", i.store.Node,
			errdefs.ErrNotFound)
	}

	if len(refs) == 0 {
		return nil, none
	}
	return refs, nil
}

// unpack unpacks an image. The error is errdefs.ErrNotFound if it is for another system, which an archive may tell in
// the image's configuration alone.
func (i *Images) unpack(ctx context.Context, img client.Image) error {
	spec, err := img.Spec(ctx)
	if err != nil {
		return err
	}
	if !i.store.Platform.Match(platforms.Normalize(spec.Platform)) {
		return fmt.Errorf("it is for %s: %w", platforms.Format(spec.Platform), errdefs.ErrNotFound)
	}
	return img.Unpack(ctx, i.store.Snapshotter)
}

// Digest returns the digest of what a reference stands for, an index or a manifest; errdefs.ErrNotFound when the node
// has no such image.
func (i *Images) Digest(ctx context.Context, ref string) (string, error) {
	img, err := i.conn.ImageService().Get(ctx, translate(ref))
	if err != nil {
		return "", fmt.Errorf("look for image %q on node %q: %w", ref, i.store.Node, err)
	}
	return img.Target.Digest.String(), nil
}

// translate writes a reference as the kubelet's requests have it.
func translate(ref string) string {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return ref
	}
	return named.String()
}

// pinned returns the label by which containerd's CRI tells the kubelet that an image is to be kept:
// https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/labels/labels.go
func pinned() map[string]string { return map[string]string{"io.cri-containerd.pinned": "pinned"} }

// Pull has the node pull an image as for a pod, and returns its ID. auth may be nil.
func (i *Images) Pull(ctx context.Context, ref string, auth *criapi.AuthConfig) (string, error) {
	answer, err := i.cri.PullImage(ctx, &criapi.PullImageRequest{Image: &criapi.ImageSpec{Image: ref}, Auth: auth})
	if err != nil {
		return "", fmt.Errorf("pull %q on node %q: %w", ref, i.store.Node, errgrpc.ToNative(err))
	}
	return answer.GetImageRef(), nil
}

// List lists the images as the kubelet sees them.
func (i *Images) List(ctx context.Context) ([]*criapi.Image, error) {
	answer, err := i.cri.ListImages(ctx, &criapi.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list images of node %q: %w", i.store.Node, errgrpc.ToNative(err))
	}
	return answer.GetImages(), nil
}

// Remove removes an image with all its references, given one of them or its ID; errdefs.ErrNotFound when the node has
// no such image.
func (i *Images) Remove(ctx context.Context, ref string) error {
	image := &criapi.ImageSpec{Image: ref}
	status, err := i.cri.ImageStatus(ctx, &criapi.ImageStatusRequest{Image: image})
	err = errgrpc.ToNative(err)
	if err == nil && status.GetImage() == nil {
		err = errdefs.ErrNotFound
	}
	if err == nil {
		_, err = i.cri.RemoveImage(ctx, &criapi.RemoveImageRequest{Image: image})
		err = errgrpc.ToNative(err)
	}
	if err != nil {
		return fmt.Errorf("remove image %q of node %q: %w", ref, i.store.Node, err)
	}

	return nil
}
