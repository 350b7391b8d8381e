package linuxnode

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// imageServer answers each request about images with an error, as containerd does.
type imageServer struct {
	criapi.UnimplementedImageServiceServer

	err error
}

func (s imageServer) ListImages(context.Context, *criapi.ListImagesRequest) (*criapi.ListImagesResponse, error) {
	return nil, s.err
}

func (s imageServer) PullImage(context.Context, *criapi.PullImageRequest) (*criapi.PullImageResponse, error) {
	return nil, s.err
}

func (s imageServer) ImageStatus(context.Context, *criapi.ImageStatusRequest) (*criapi.ImageStatusResponse, error) {
	return nil, s.err
}

// imagesOf opens the store of a node whose containerd answers with err.
func imagesOf(t *testing.T, err error) *Images {
	t.Helper()
	runDir := t.TempDir()
	if err := os.MkdirAll(filepath.Dir(Socket(runDir)), 0o755); err != nil {
		t.Fatal(err)
	}
	l, listenErr := (&net.ListenConfig{}).Listen(t.Context(), "unix", Socket(runDir))
	if listenErr != nil {
		t.Fatal(listenErr)
	}

	server := grpc.NewServer()
	criapi.RegisterImageServiceServer(server, imageServer{err: err})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	images, openErr := OpenImages("linux-1", runDir)
	if openErr != nil {
		t.Fatal(openErr)
	}

	t.Cleanup(func() {
		err := images.Close()
		server.Stop()
		if err := errors.Join(err, <-served); err != nil {
			t.Error(err)
		}
	})

	return images
}

// TestErrorsOfTheStoreAreKnown holds that callers can tell what is not there, or not for this system, and a containerd
// that does not answer, from other errors.
func TestErrorsOfTheStoreAreKnown(t *testing.T) {
	for code, want := range map[codes.Code]error{
		codes.NotFound: errdefs.ErrNotFound, codes.Unavailable: errdefs.ErrUnavailable,
	} {
		i := imagesOf(t, status.Error(code, "no match for platform"))
		_, list := i.List(t.Context())
		_, pull := i.Pull(t.Context(), "example.com/a:b", nil)
		remove := i.Remove(t.Context(), "example.com/a:b")
		for name, err := range map[string]error{"list": list, "pull": pull, "remove": remove} {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), "no match for platform") ||
				strings.Contains(err.Error(), "rpc error") {
				t.Errorf("%s: %v is not %v", name, err, want)
			}
		}
	}
}
