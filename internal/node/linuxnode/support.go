package linuxnode

import "mullion.dev/mullion/internal/base/support"

// SupportRows say what of a Linux node is there.
func SupportRows() []support.Row {
	const area = "Linux node"
	return []support.Row{
		{
			Area:  area,
			Name:  "kubelet",
			Level: support.Supported,
			Note:  "upstream's, linked in; cgroup driver cgroupfs; tried on cgroup v1, and on v2 below a scope that systemd delegates (docs/compat/machines.md)",
			Ref:   "https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/",
		},
		{
			Area:  area,
			Name:  "kube-proxy",
			Level: support.Supported,
			Note:  "upstream's, in mode nftables; of Kubernetes before 1.31 in mode iptables, with the machine's iptables (1.20 is tried)",
			Ref:   "https://kubernetes.io/docs/reference/networking/virtual-ips/#proxy-mode-nftables",
		},
		{
			Area:  area,
			Name:  "kubelet configuration, flags of kubelet and kube-proxy",
			Level: support.Supported,
			Note:  "kubeletConfiguration, kubeletExtraArgs and kubeProxyExtraArgs of a node in cluster.yaml, but for what Mullion reaches the programs by",
			Ref:   "https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/",
		},
		{
			Area:  area,
			Name:  "node log query",
			Level: support.Partly,
			Note:  "where a node's kubeletConfiguration has enableSystemLogQuery: files of /var/log; a node has no journal",
			Ref:   "https://kubernetes.io/docs/concepts/cluster-administration/system-logs/#log-query",
		},
		{
			Area:  area,
			Name:  "container runtime",
			Level: support.Supported,
			Note:  "containerd's own CRI and Mullion's runc; each node has a containerd and an image store of its own",
			Ref:   "https://github.com/containerd/containerd/blob/v2.4.2/docs/cri/architecture.md",
		},
		{
			Area:  area,
			Name:  "pod network",
			Level: support.Supported,
			Note:  "CNI's ptp, host-local and portmap; pods of Linux and Windows nodes reach each other under their own addresses in modes l2bridge, l2tunnel, overlay (VXLAN as flannel's) and transparent; in mode nat Windows pods are hidden behind their nodes",
			Ref:   "https://www.cni.dev/plugins/current/main/ptp/",
		},
		{
			Area:  area,
			Name:  "pods outlive the kubelet, containerd and the supervisor",
			Level: support.Supported,
			Ref:   "https://kubernetes.io/docs/concepts/containers/cri/",
		},
		{
			Area:  area,
			Name:  "hostPath, privileged pods",
			Level: support.Partly,
			Note:  "pods see the node's own files and a few devices; a privileged pod is still the machine's root, and can make any device",
			Ref:   "https://kubernetes.io/docs/concepts/storage/volumes/#hostpath",
		},
		{
			Area:  area,
			Name:  "hostPID",
			Level: support.Partly,
			Note:  "shows the machine's processes: a node has no PID namespace of its own, so its pods do not depend on any process of Mullion's",
			Ref:   "https://kubernetes.io/docs/concepts/workloads/pods/advanced-pod-config/",
		},
		{
			Area:  area,
			Name:  "kernel parameters",
			Level: support.Partly,
			Note:  "only those of the pod's own namespaces; the settings that a kubelet makes for a whole machine are not written to the machine",
			Ref:   "https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/",
		},
		{
			Area:  area,
			Name:  "user namespaces (hostUsers: false)",
			Level: support.Not,
			Note:  "the sandbox does not start: the kernel lets a user namespace mount /proc only where all of one is seen, and a node's /proc is covered in part, so that pods cannot change the machine's settings",
			Ref:   "https://kubernetes.io/docs/concepts/workloads/pods/user-namespaces/",
		},
		{
			Area:  area,
			Name:  "seccomp",
			Level: support.Supported,
			Note:  "containers that name no profile have the runtime's default profile (seccompDefault)",
			Ref:   "https://kubernetes.io/docs/tutorials/security/seccomp/",
		},
		{
			Area:  area,
			Name:  "AppArmor, SELinux",
			Level: support.Not,
			Note:  "profiles belong to the machine; Mullion loads none",
			Ref:   "https://kubernetes.io/docs/tutorials/security/apparmor/",
		},
		{
			Area:  area,
			Name:  "processes and threads of a pod",
			Level: support.Partly,
			Note:  "4096 for each pod (podPidsLimit); the pods of a node together may use a part of the machine's",
			Ref:   "https://kubernetes.io/docs/concepts/policy/pid-limiting/",
		},
		{
			Area:  area,
			Name:  "disk eviction",
			Level: support.Supported,
			Note:  "the thresholds are amounts, not percentages, because the disk is the machine's: DiskPressure below 256Mi, eviction after 2 minutes of it or below 100Mi; loaded images are never collected; all nodes of the machine are under pressure at once",
			Ref:   "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
		},
		{
			Area:  area,
			Name:  "bare host",
			Level: support.Partly,
			Note:  "bare: true of a Linux node in cluster.yaml: containerd, CNI plugins, kubeadm, kubelet and kubectl, and a systemctl that knows the kubelet's service; kubeadm init, join and reset of 1.37 work (kube-proxy in mode nftables), also for several control planes. There is no systemd and no journal; not in mode overlay and not in a cluster of several machines, whose tunnels its pods could send into",
			Ref:   "https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/create-cluster-kubeadm/",
		},
		{
			Area:  area,
			Name:  "graceful node shutdown",
			Level: support.Not,
			Note:  "the kubelet is ended; pods live on until the cluster is taken down",
			Ref:   "https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/",
		},
	}
}
