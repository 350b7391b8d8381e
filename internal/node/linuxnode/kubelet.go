package linuxnode

import kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

// podTasks is how many processes and threads a pod may have: without a limit one may take all of the node's
// (https://kubernetes.io/docs/concepts/policy/pid-limiting/). A Windows container may have as many
// (internal/runtime/engine/resources.go).
const podTasks = 4096

// tweakKubelet adds to the kubelet's configuration what Linux asks for.
func tweakKubelet(k *kubeletv1beta1.KubeletConfiguration) {
	yes := true
	no := false
	resolv := "/etc/resolv.conf"
	tasks := int64(podTasks)
	k.SeccompDefault = &yes // containers that name no profile have the runtime's, and not none
	k.PodPidsLimit = &tasks
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
