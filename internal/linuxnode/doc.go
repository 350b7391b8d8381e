// Package linuxnode owns a Linux node as parts of a cluster.
package linuxnode

// Names of the programs, which are also the names that programs.Run knows.
const (
	Kubelet   = "kubelet"
	KubeProxy = "kube-proxy"
)
