package linuxnode

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// pauseProgram is the one file of the pause image.
const pauseProgram = "mullion-pause"

// criReady asks the node's containerd whether its CRI serves.
func (c Config) criReady(ctx context.Context) error {
	conn, err := grpc.NewClient("unix://"+Socket(c.RunDir), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = criapi.NewRuntimeServiceClient(conn).Version(ctx, &criapi.VersionRequest{})
	return err
}

// ensurePause puts the pause image into the node's containerd. It replaces an image that is there already, which costs
// little.
func (c Config) ensurePause(ctx context.Context) error {
	img, err := imagebuild.Build(ctx, imagebuild.Options{
		Dir:     filepath.Join(c.Bin, pauseProgram),
		Created: time.Unix(0, 0),
		Spec: imagebuild.Spec{
			OS:   imagebuild.Linux,
			Tags: []string{pauseImage},
			User: "65535:65535",
		},
	})
	if err != nil {
		return err
	}

	store, err := OpenImages(c.Name, c.RunDir)
	if err != nil {
		return err
	}
	defer store.Close()
	r, w := io.Pipe()
	go func() { w.CloseWithError(img.WriteArchive(w)) }()
	defer r.Close()
	_, err = store.Load(ctx, r)
	return err
}
