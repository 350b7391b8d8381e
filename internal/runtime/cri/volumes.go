package cri

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
