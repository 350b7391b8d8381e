package linuxnode

import (
	"context"
	"fmt"
	"io"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/platforms"
)

// Load puts the images of an archive into a node's containerd and unpacks them, and returns their references. They are pinned: the kubelet does not
// collect what may be impossible to pull again.
func Load(ctx context.Context, conn *client.Client, r io.Reader) ([]string, error) {
	loaded, err := conn.Import(ctx, r, client.WithImportPlatform(platforms.DefaultStrict()), client.WithImageLabels(pinned()))
	if err != nil {
		return nil, fmt.Errorf("import images: %w", err)
	}
	var refs []string
	for _, i := range loaded {
		if err := unpack(ctx, conn, i); err != nil {
			return nil, err
		}
		refs = append(refs, i.Name)
	}
	return refs, nil
}

// pinned is the label by which containerd's CRI tells the kubelet that an image is to be kept:
// https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/labels/labels.go
func pinned() map[string]string { return map[string]string{"io.cri-containerd.pinned": "pinned"} }

func unpack(ctx context.Context, conn *client.Client, i images.Image) error {
	if err := client.NewImageWithPlatform(conn, i, platforms.DefaultStrict()).Unpack(ctx, ""); err != nil {
		return fmt.Errorf("unpack image %q: %w", i.Name, err)
	}
	return nil
}
