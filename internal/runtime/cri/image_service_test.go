package cri_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/image"
)

func spec(ref string) *runtimeapi.ImageSpec { return &runtimeapi.ImageSpec{Image: ref} }

func TestListImages(t *testing.T) {
	n := critest.NewNode(t)
	for _, tc := range []struct {
		name, filter string
		want         []string
	}{
		{"no-filter", "", []string{critest.AppImage, critest.EmptyImage}}, // not the one of another build
		{"filter", critest.EmptyImage, []string{critest.EmptyImage}},
		{"filter-of-another-build", critest.OtherImage, nil},
		{"filter-not-there", critest.RemoteImage, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			filter := &runtimeapi.ImageFilter{Image: spec(tc.filter)}
			resp, err := n.ImageService.ListImages(t.Context(), &runtimeapi.ListImagesRequest{Filter: filter})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range resp.GetImages() {
				got = append(got, i.GetRepoTags()...)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
			stream, err := n.ImageService.StreamImages(t.Context(), &runtimeapi.StreamImagesRequest{Filter: filter})
			if err != nil {
				t.Fatal(err)
			}

			got = nil
			for m, err := stream.Recv(); !errors.Is(err, io.EOF); m, err = stream.Recv() {
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range m.GetImages() {
					got = append(got, i.GetRepoTags()...)
				}
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("images as a stream (-want +got):\n%s", diff)
			}
		})
	}

	n.Calls.Fail("Images.List", errors.New("no containerd"))
	_, err := n.ImageService.ListImages(t.Context(), &runtimeapi.ListImagesRequest{})
	expect(t, err, codes.Unknown, "list images: no containerd")
}

func TestImageStatus(t *testing.T) {
	n := critest.NewNode(t)
	status := func(ref string) *runtimeapi.Image {
		t.Helper()
		req := &runtimeapi.ImageStatusRequest{Image: spec(ref), Verbose: true}
		resp, err := n.ImageService.ImageStatus(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetImage()
	}

	app := status(critest.AppImage)
	if !app.GetPinned() || app.GetUsername() != "ContainerUser" || app.GetUid() != nil || app.GetSize() != 100 {
		t.Errorf("image: %v", app)
	}
	if same := status(app.GetId()); same.GetId() != app.GetId() {
		t.Errorf("image by its id: %v", same)
	}

	if empty := status(critest.EmptyImage); empty.GetUid().GetValue() != 1000 || empty.GetUsername() != "" {
		t.Errorf("image with a number for a user: %v", empty)
	}
	// The kubelet must not pull an image of another build again and again: CreateContainer says why it is of no use.
	if other := status(critest.OtherImage); other == nil {
		t.Error("an image of another build is not there")
	}

	if none := status(critest.RemoteImage); none != nil {
		t.Errorf("an image that is not there: %v", none)
	}
	n.Calls.Fail("Images.GetAny", errors.New("no containerd"))
	_, err := n.ImageService.ImageStatus(t.Context(), &runtimeapi.ImageStatusRequest{Image: spec(critest.AppImage)})
	expect(t, err, codes.Unknown, "get status of image", "no containerd")
}

// TestPullImage: the kubelet names the pod, but not its runtime handler.
func TestPullImage(t *testing.T) {
	n := critest.NewNode(t)
	pod := critest.PodConfig("web")
	req := &runtimeapi.RunPodSandboxRequest{Config: pod, RuntimeHandler: critest.Handler}
	if _, err := n.RunPodSandbox(t.Context(), req); err != nil {
		t.Fatal(err)
	}

	named := spec(critest.RemoteImage)
	named.RuntimeHandler = "named"
	for _, pull := range []*runtimeapi.PullImageRequest{
		{
			Image:         spec(critest.RemoteImage),
			SandboxConfig: pod,
			Auth:          &runtimeapi.AuthConfig{Username: "u", Password: "p"},
		},
		{Image: named, SandboxConfig: pod},
		{Image: spec(critest.RemoteImage), SandboxConfig: critest.PodConfig("other")},
		{Image: spec(critest.RemoteImage)},
	} {
		resp, err := n.ImageService.PullImage(t.Context(), pull)
		if err != nil || resp.GetImageRef() != "sha256:"+strings.Repeat("d", 64) {
			t.Errorf("PullImage: %v, %v", resp, err)
		}
	}

	handlers, auth := n.Images.Pulls()
	if diff := cmp.Diff([]string{critest.Handler, "named", "", ""}, handlers); diff != "" {
		t.Errorf("handlers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]*image.Auth{{Username: "u", Password: "p"}, nil, nil, nil}, auth); diff != "" {
		t.Errorf("credentials (-want +got):\n%s", diff)
	}
	_, err := n.ImageService.PullImage(t.Context(), &runtimeapi.PullImageRequest{Image: spec("mullion.test/none:1")})
	expect(t, err, codes.NotFound, `pull image "mullion.test/none:1"`)
}

func TestRemoveImage(t *testing.T) {
	n := critest.NewNode(t)
	removeImage := func() error {
		_, err := n.ImageService.RemoveImage(t.Context(),
			&runtimeapi.RemoveImageRequest{Image: spec(critest.EmptyImage)})
		return err
	}
	n.Calls.Fail("Images.Remove", errors.New("it is in use"))
	expect(t, removeImage(), codes.Unknown, "remove image", "it is in use")
	n.Calls.Reset()
	for range 2 {
		if err := removeImage(); err != nil {
			t.Errorf("RemoveImage: %v", err)
		}
	}

	resp, err := n.ImageService.ImageStatus(t.Context(),
		&runtimeapi.ImageStatusRequest{Image: spec(critest.EmptyImage)})
	if err != nil || resp.GetImage() != nil {
		t.Errorf("image after it was removed: %v, %v", resp, err)
	}
}

func TestImageFsInfo(t *testing.T) {
	n := critest.NewNode(t)
	resp, err := n.ImageService.ImageFsInfo(t.Context(), &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}

	for _, fs := range append(resp.GetImageFilesystems(), resp.GetContainerFilesystems()...) {
		// The kubelet asks Windows for the free space at the mount point.
		bytes, inodes := fs.GetUsedBytes().GetValue(), fs.GetInodesUsed().GetValue()
		if fs.GetFsId().GetMountpoint() != `C:\` || bytes != 5000 || inodes != 7 {
			t.Errorf("file system: %v", fs)
		}
	}

	if len(resp.GetImageFilesystems()) != 1 || len(resp.GetContainerFilesystems()) != 1 {
		t.Errorf("file systems: %v", resp)
	}
}
