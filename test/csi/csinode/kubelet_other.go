//go:build !windows

package csinode

// kubelet is the kubelet's folder.
const kubelet = "/var/lib/kubelet"
