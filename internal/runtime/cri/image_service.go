package cri

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/image"
)

// ListImages lists the node's images, or the one that a filter names.
func (s *Server) ListImages(ctx context.Context, req *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse,
	error,
) {
	images, err := s.listImages(ctx, req.GetFilter())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ListImagesResponse{Images: images}, nil
}

// StreamImages is ListImages for nodes with very many images.
func (s *Server) StreamImages(req *runtimeapi.StreamImagesRequest,
	out runtimeapi.ImageService_StreamImagesServer,
) error {
	images, err := s.listImages(out.Context(), req.GetFilter())
	if err != nil {
		return err
	}
	return inBatches(images, func(batch []*runtimeapi.Image) error {
		return out.Send(&runtimeapi.StreamImagesResponse{Images: batch})
	})
}

func (s *Server) listImages(ctx context.Context, f *runtimeapi.ImageFilter) ([]*runtimeapi.Image, error) {
	if name := f.GetImage().GetImage(); name != "" {
		info, err := s.cfg.Images.GetFor(ctx, name, f.GetImage().GetRuntimeHandler())
		if errdefs.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []*runtimeapi.Image{imageItem(info)}, nil
	}

	infos, err := s.cfg.Images.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var out []*runtimeapi.Image
	for _, info := range infos {
		out = append(out, imageItem(info))
	}

	return out, nil
}

// ImageStatus returns one image; one that is not there has an empty answer, no error
// (https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/api.proto#L227-L230).
func (s *Server) ImageStatus(ctx context.Context, req *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse,
	error,
) {
	info, err := s.cfg.Images.GetAny(ctx, req.GetImage().GetImage(), req.GetImage().GetRuntimeHandler())
	if errdefs.IsNotFound(err) {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get status of image %q: %w", req.GetImage().GetImage(), err)
	}

	resp := &runtimeapi.ImageStatusResponse{Image: imageItem(info)}
	if req.GetVerbose() {
		data, err := json.Marshal(map[string]any{
			"chainID": info.ChainID, "imageSpec": info.Spec,
			"skippedLayers": info.SkippedLayers,
		})
		if err != nil {
			return nil, fmt.Errorf("encode status of image %q: %w", info.ID, err)
		}
		resp.Info = map[string]string{"info": string(data)}
	}

	return resp, nil
}

// PullImage fetches an image.
func (s *Server) PullImage(ctx context.Context, req *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse,
	error,
) {
	var auth *image.Auth
	if a := req.GetAuth(); a != nil {
		auth = &image.Auth{
			Username:      a.GetUsername(),
			Password:      a.GetPassword(),
			Auth:          a.GetAuth(),
			ServerAddress: a.GetServerAddress(),
			IdentityToken: a.GetIdentityToken(),
		}
	}

	info, err := s.cfg.Images.Pull(ctx, req.GetImage().GetImage(), auth, s.pullHandler(req))
	if err != nil {
		return nil, fmt.Errorf("pull image %q: %w", req.GetImage().GetImage(), err)
	}
	return &runtimeapi.PullImageResponse{ImageRef: info.ID}, nil
}

// pullHandler returns the runtime handler that an image is pulled for. The kubelet names it only with the feature gate
// RuntimeClassInImageCriApi, but it does name the pod, whose sandbox is there by then.
func (s *Server) pullHandler(req *runtimeapi.PullImageRequest) string {
	if handler := req.GetImage().GetRuntimeHandler(); handler != "" {
		return handler
	}
	uid := req.GetSandboxConfig().GetMetadata().GetUid()
	for _, sb := range s.sandboxes.List(nil) {
		if uid != "" && sb.Config.GetMetadata().GetUid() == uid && sb.Ready {
			return sb.Handler
		}
	}
	return ""
}

// RemoveImage removes an image; one that is not there is no error
// (https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/api.proto#L233-L243).
func (s *Server) RemoveImage(ctx context.Context, req *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse,
	error,
) {
	if err := s.cfg.Images.Remove(ctx, req.GetImage().GetImage()); err != nil && !errdefs.IsNotFound(err) {
		return nil, fmt.Errorf("remove image %q: %w", req.GetImage().GetImage(), err)
	}
	return &runtimeapi.RemoveImageResponse{}, nil
}

// ImageFsInfo returns what images and containers take on disk.
func (s *Server) ImageFsInfo(ctx context.Context, _ *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse,
	error,
) {
	usage, err := s.cfg.Images.FsInfo(ctx)
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ImageFsInfoResponse{
		ImageFilesystems:     []*runtimeapi.FilesystemUsage{fsUsage(usage.Time, hostDrive, usage.Bytes, usage.Inodes)},
		ContainerFilesystems: []*runtimeapi.FilesystemUsage{fsUsage(usage.Time, hostDrive, usage.Bytes, usage.Inodes)},
	}, nil
}

// hostDrive is where images and containers lie as the kubelet sees it: it asks Windows for the free space there, so the
// path must exist on the Windows host. The host's C: is on the same file system as the engine's folders.
const hostDrive = `C:\`

func fsUsage(at time.Time, path string, bytes, inodes uint64) *runtimeapi.FilesystemUsage {
	return &runtimeapi.FilesystemUsage{
		Timestamp:  at.UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: path},
		UsedBytes:  number(bytes),
		InodesUsed: number(inodes),
	}
}

func imageItem(i image.Info) *runtimeapi.Image {
	item := &runtimeapi.Image{
		Id:          i.ID,
		RepoTags:    i.RepoTags,
		RepoDigests: i.RepoDigests,
		Size:        i.Size,
		Pinned:      i.Pinned,
		Spec:        &runtimeapi.ImageSpec{Image: i.ID},
	}

	uid, name := i.User()
	item.Username = name
	if uid != nil {
		item.Uid = &runtimeapi.Int64Value{Value: *uid}
	}

	return item
}
