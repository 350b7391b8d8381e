// Package cri tests the CRI server of a Windows node against real parts: our containerd, runc, Wine and a Windows
// program, driven by the client that the kubelet uses. It needs root.
package cri
