package cri

import (
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// VolumePatterns say where on a node's C: the kubelet has pods' volumes: paths in which * is any name, the more special
// ones first. A container writes into a volume, so no path that begins in one must lead out of it. What the kubelet
// writes itself lies above: the volume's folder is a link where the volume is elsewhere, which the kubelet has in place
// of a mount on Windows
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/mount-utils/mount_windows.go), and drivers of
// CSI publish a volume as "mount" in its folder
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/volume/csi/csi_mounter.go, GetPath). The folder
// volume-subpaths beside volumes is not used on Windows
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/volume/util/subpath/subpath_windows.go).
func VolumePatterns() []string {
	return []string{
		"var/lib/kubelet/pods/*/volumes/kubernetes.io~csi/*/mount",
		"var/lib/kubelet/pods/*/volumes/*/*",
	}
}

// HoldPod reports whether nothing of a pod runs, by its UID: all its sandboxes are stopped, or there are none. Then no
// sandbox of it starts until release is called. A pod of which something is being started is not idle.
func (s *Server) HoldPod(uid string) (release func(), idle bool) {
	release, locked := s.locks.tryLock(volumesOf(uid))
	if !locked {
		return nil, false
	}
	up := s.sandboxes.List(func(sb store.Sandbox) bool {
		return sb.Config.GetMetadata().GetUid() == uid && (sb.StoppedAt.IsZero() || s.anyRuns(sb.ID))
	})
	if len(up) > 0 {
		release()
		return nil, false
	}
	return release, true
}

// anyRuns reports whether a container of a sandbox has been started and has not ended.
func (s *Server) anyRuns(sandbox string) bool {
	for _, c := range s.containersOf(sandbox) {
		if c.State() == runtimeapi.ContainerState_CONTAINER_RUNNING {
			return true
		}
	}
	return false
}

// volumesOf returns the id of the lock that keeps a pod's sandboxes from being started.
func volumesOf(uid string) string { return "volumes of " + uid }
