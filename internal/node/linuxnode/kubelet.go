package linuxnode

import kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

// tweakKubelet adds to the kubelet's configuration what Linux asks for.
func tweakKubelet(k *kubeletv1beta1.KubeletConfiguration) {
	no, resolv := false, "/etc/resolv.conf"
	k.ContainerRuntimeEndpoint = "unix://" + containerdSocket
	k.ResolverConfig = &resolv
	// The node's cgroup is the root of its cgroup namespace; there is no systemd on the node to ask for others.
	k.CgroupDriver = "cgroupfs"
	// cgroup v1, where the machine has that: else the kubelet refuses to start from 1.35 on.
	k.FailCgroupV1 = &no
	k.EvictionHard["memory.available"] = "100Mi"
	k.EvictionHard["nodefs.inodesFree"] = "1%"
	k.EvictionHard["imagefs.inodesFree"] = "1%"
}
