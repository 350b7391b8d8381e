package linuxnode

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
	"google.golang.org/grpc"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// engineNamespace is the containerd namespace of containerd's CRI.
const engineNamespace = "k8s.io"

// Images is the image store of one Linux node. Every Linux node has a containerd of its own, and so a store of its own:
// containerd's stores cannot be shared, and one node must not collect another's content as garbage.
type Images struct {
	node string
	conn *client.Client
	cri  criapi.ImageServiceClient
}

// OpenImages connects to the store of the node whose containerd listens at Socket(runDir). It is to be closed.
func OpenImages(node, runDir string) (*Images, error) {
	conn, err := client.New(Socket(runDir), client.WithDefaultNamespace(engineNamespace),
		client.WithDefaultPlatform(platforms.DefaultStrict()))
	if err != nil {
		return nil, fmt.Errorf("connect to containerd of node %q: %w", node, err)
	}

	channel, ok := conn.Conn().(grpc.ClientConnInterface)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connect to containerd of node %q: no gRPC connection", node),
			conn.Close())
	}

	return &Images{
		node: node,
		conn: conn,
		cri:  criapi.NewImageServiceClient(channel),
	}, nil
}

// Close ends the connection.
func (i *Images) Close() error { return i.conn.Close() }

// Load stores and unpacks the images of an archive (`docker save`, or an OCI image layout) that are for the node's
// platform, and returns their references; errdefs.ErrNotFound says that none is. They are pinned: the kubelet does not
// collect what may be impossible to pull again.
func (i *Images) Load(ctx context.Context, r io.Reader) ([]string, error) {
	loaded, err := i.conn.Import(ctx, r, client.WithImportPlatform(platforms.DefaultStrict()),
		client.WithImageLabels(pinned()),
		client.WithImageRefTranslator(translate), client.WithSkipMissing())
	if errors.Is(err, images.ErrEmptyWalk) { // nothing of it is for the platform
		err = fmt.Errorf("%w: %w", errdefs.ErrNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("load images on node %q: %w", i.node, err)
	}

	var refs []string
	var none error
	for _, img := range loaded {
		err := i.unpack(ctx, client.NewImageWithPlatform(i.conn, img, platforms.DefaultStrict()))
		if err == nil {
			refs = append(refs, img.Name)
			continue
		}

		err = errors.Join(fmt.Errorf("load image %q on node %q: %w", img.Name, i.node, err),
			i.conn.ImageService().Delete(ctx, img.Name))
		if !errdefs.IsNotFound(err) {
			return nil, err
		}
		none = err
	}
	if len(refs) == 0 && none == nil {
		none = fmt.Errorf("load images on node %q: the archive has no image with a name: %w", i.node,
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
	if !platforms.DefaultStrict().Match(platforms.Normalize(spec.Platform)) {
		return fmt.Errorf("it is for %s: %w", platforms.Format(spec.Platform), errdefs.ErrNotFound)
	}
	return img.Unpack(ctx, "")
}

// Digest returns the digest of what a reference stands for, an index or a manifest; errdefs.ErrNotFound when the node
// has no such image.
func (i *Images) Digest(ctx context.Context, ref string) (string, error) {
	img, err := i.conn.ImageService().Get(ctx, translate(ref))
	if err != nil {
		return "", fmt.Errorf("look for image %q on node %q: %w", ref, i.node, err)
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
		return "", fmt.Errorf("pull %q on node %q: %w", ref, i.node, errgrpc.ToNative(err))
	}
	return answer.GetImageRef(), nil
}

// List lists the images as the kubelet sees them.
func (i *Images) List(ctx context.Context) ([]*criapi.Image, error) {
	answer, err := i.cri.ListImages(ctx, &criapi.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list images of node %q: %w", i.node, errgrpc.ToNative(err))
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
		return fmt.Errorf("remove image %q of node %q: %w", ref, i.node, err)
	}

	return nil
}
