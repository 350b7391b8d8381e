package cluster

import "mullion.dev/mullion/internal/base/support"

// SupportRows says which parts of Kubernetes a cluster has. What pods can do is in the tables of the parts that do it.
func SupportRows() []support.Row {
	const docs = "https://kubernetes.io/docs/"
	row := func(name string, level support.Level, ref, note string) support.Row {
		return support.Row{
			Area:  "Kubernetes",
			Name:  name,
			Level: level,
			Ref:   docs + ref,
			Note:  note,
		}
	}

	return append([]support.Row{
		row("kube-apiserver, kube-controller-manager, kube-scheduler, etcd", support.Supported,
			"concepts/overview/components/", "upstream's, one of each"),
		row("kubelet.exe", support.Supported, "reference/command-line-tools-reference/kubelet/",
			"upstream's, unmodified"),
		row("kubectl", support.Supported, "reference/kubectl/", "upstream's, as `mullion kubectl`"),
		row("RBAC, Node authorizer, NodeRestriction", support.Supported, "reference/access-authn-authz/node/", ""),
		row("joining by bootstrap token, serving certificates", support.Supported,
			"reference/access-authn-authz/kubelet-tls-bootstrapping/", ""),
		row("several Windows versions in one cluster", support.Supported, "concepts/windows/user-guide/", ""),
		row("RuntimeClass", support.Partly, "concepts/containers/runtime-class/",
			"each Windows version of the nodes has a class windows-VERSION (windows-ltsc2022) that places pods on those nodes; a pod of runhcs-wcow-hypervisor has a virtual machine for itself where the machine has what that needs (see Images)"),
		row("Services (kube-proxy.exe)", support.Partly, "reference/networking/virtual-ips/",
			"upstream's, unmodified, on each node: pods reach ClusterIPs, callers from outside reach node ports; a Windows host itself does not reach its own node ports; the HNS table has the rest"),
		row("IPv4 and IPv6 (dual stack)", support.Partly, "concepts/services-networking/dual-stack/",
			"in mode l2bridge, on one machine or several; Windows versions before build 19041 have IPv4 only; on dual-stack Windows nodes the agent connects pods, because win-bridge.exe gives a pod only one address; load balancers have addresses of both families; pods reach what the machine reaches by IPv6, behind its address. Servers that mullion-agent joins have IPv4 only"),
		row("cluster DNS", support.Partly, "concepts/services-networking/dns-pod-service/",
			"CoreDNS beside the control plane, behind the Service kube-dns; Windows pods resolve names by Windows' rules (one suffix, names with a dot taken as they are), which the profile modern lifts; a zone can have name servers of its own; the Corefile is not a ConfigMap"),
		row("LoadBalancer Services", support.Partly, "concepts/services-networking/service/#loadbalancer",
			"upstream's service controller with addresses of networking.loadBalancerPool, one of each family that the Service has; one node at a time serves an address; the machine and the nodes' network reach it. spec.loadBalancerSourceRanges work on Linux nodes only: kube-proxy.exe ignores them"),
		row("Ingress, Gateway", support.Not, "concepts/services-networking/",
			"no controller for them is part of a cluster"),
		row("NetworkPolicy", support.Partly, "concepts/services-networking/network-policies/",
			"carried out on nodes of both systems, by a table of nftables in each node's network namespace, in modes l2bridge, overlay and l2tunnel; a pod starts only when the policies that select it are carried out, later changes take effect within a second. networking.windowsNetworkPolicy: external leaves those of Windows nodes to a program of yours, Calico's Felix for example. In modes nat and transparent, with networking.disableDefaultCNI and with networking.networkPolicy: false they are not: each policy then gets the event NotCarriedOut, and `mullion status` warns. On nodes in a cluster that kubeadm made they are not, without a warning. Connections that were open stay open; what is dropped gets no answer; an egress rule that names pods does not let a packet pass to the address of a Service with preserve-destination"),
		row("Linux nodes", support.Supported, "concepts/architecture/nodes/",
			"upstream's kubelet and kube-proxy, containerd's CRI, each in namespaces of its own; their table has the rest"),
		row("several machines", support.Partly, "setup/production-environment/tools/kubeadm/create-cluster-kubeadm/",
			"mullion server and mullion join, with bootstrap tokens and a pinned certificate authority, as with kubeadm; VXLAN between the machines, not encrypted"),
		row("joining a cluster that kubeadm made", support.Partly, "reference/setup-tools/kubeadm/kubeadm-join/",
			"mullion join with an administrator's kubeconfig, or with kubeadm's token and hash; Windows nodes only, in mode l2bridge, with addresses on the machine's network; the cluster's pod network has to route pods' own addresses (flannel's host-gw, kindnet); clusters without kubeadm's ConfigMaps cannot be joined"),
		row("a real Windows Server as a node", support.Partly, "tasks/administer-cluster/kubeadm/adding-windows-nodes/",
			"mullion-agent.exe joins it by token and pinned authority, to a cluster of mullion server's or kubeadm's, upgrades it and takes it out; its own network is an l2bridge, others come by DaemonSets; the network between the nodes has to route their ranges. It was tried under Wine only, with the container runtime that is there; not on a Windows Server, and not with containerd.exe"),
		row("several control plane nodes", support.Partly, "setup/production-environment/tools/kubeadm/high-availability/",
			"by kubeadm, on bare Linux hosts of one machine, each with an etcd; an address of the nodes' network leads to those that answer. Mullion's own control plane is one"),
		row("limits of emptyDirs on Windows nodes", support.Partly, "concepts/storage/ephemeral-storage/",
			"kubelet.exe evicts as on Windows, by the sizes of files; beside it Mullion measures the emptyDirs every 30 s in blocks of the disk, and ends a pod that is over its sizeLimit or its limit of ephemeral-storage for 2 minutes, so that the kubelet has not (64 MiB more are left for folders, links and the ends of blocks, which Windows does not count), or at once one with more than 300,000 entries, 256 folders in one another or a path of 30,000 bytes in a volume, which neither the kubelet nor a program of Windows can handle: the pod fails with DeadlineExceeded, its event Evicted and its condition DisruptionTarget say why. kubelet.exe counts what a sparse file takes, not its size"),
		row("StorageClass local", support.Partly, "concepts/storage/storage-classes/",
			"the default class: a volume is a folder on the node of the claim's first pod, Windows or Linux, and is removed with the claim (Delete) or kept (Retain); ReadWriteOnce and ReadWriteOncePod; the size is not enforced, a volume cannot grow, no block volumes"),
		row("local and hostPath PersistentVolumes", support.Supported, "concepts/storage/volumes/#local",
			"on Windows and Linux nodes"),
		row("CSI on Windows nodes", support.Partly, "concepts/storage/volumes/#csi",
			"node plugins as HostProcess pods, or as ordinary pods with the pipes of csi-proxy (the table of the Windows host; examples/csi-proxy deploys it): the kubelet finds their Unix sockets, registers and calls them; volumes that they publish by a link on C: are mounted, SMB shares among them. An ordinary container cannot write to the kubelet's own folders: it mounts folders below plugins and plugins_registry that the kubelet makes (DirectoryOrCreate). Volumes on a node's data disks (mullion node disk) are mounted too, with their size; no controller attaches those. Upstream's external-provisioner, -attacher, -resizer and -snapshotter (make csi) make, attach, grow, snapshot, clone and remove volumes of both systems' nodes with a driver of the tests, of folders of nodes and of folders of a share; published drivers have not been run, and no driver is part of a cluster"),
		row("resource metrics API", support.Supported, "tasks/debug/debug-cluster/resource-metrics-pipeline/",
			"upstream's metrics-server, beside the control plane: kubectl top and HorizontalPodAutoscalers by CPU and memory, for pods of both systems"),
		row("registry of images beside the cluster (KEP-1755)", support.Partly, "concepts/containers/images/",
			"mullion up --registry, or registry in cluster.yaml: upstream's distribution (make registry), at localhost:5001 of the machine and of each node, without a password and without garbage collection; pods do not reach it, nor nodes of other machines, so that a cluster of several machines cannot have it"),
		row("custom and external metrics", support.Not,
			"tasks/run-application/horizontal-pod-autoscale/#support-for-metrics-apis",
			"no adapter is part of a cluster"),
		row("HostProcess pods", support.Partly, "tasks/configure-pod-container/create-hostprocess-pod/",
			"they run in the Windows host; the table of the CRI says how"),
		row("kube-proxy and CNI as DaemonSets", support.Partly, "reference/networking/virtual-ips/",
			"networking.kubeProxyMode: none and networking.disableDefaultCNI leave both out (the names are kind's); on Linux nodes they leave out kube-proxy and the CNI configuration. HostProcess pods install both as SIG Windows' do, in C:\\opt\\cni\\bin and C:\\etc\\cni\\net.d: examples/windows-network has win-bridge and kube-proxy, and SIG Windows' DaemonSets of kube-proxy for flannel and for Calico run with their own start.ps1. examples/flannel has upstream's flannel with the backends host-gw and vxlan on nodes of both systems; in mode overlay disableDefaultCNI leaves out Mullion's own overlay too, and kube-proxy.exe is started again when C:\\k\\sourceVip.json is there. examples/calico has upstream's Calico for Windows for policies alone, beside win-bridge; its CNI plugin and networks are not tried"),
	}, support.Row{
		Area:  "Kubernetes",
		Name:  "who gives way on a busy machine",
		Level: support.Partly,
		Ref:   "https://docs.kernel.org/admin-guide/cgroup-v2.html#weights",
		Note:  "by weights of cgroups (v1 and v2), for processor time and, where the disk's scheduler knows them, for input and output: " + classesText() + ". While a container starts, or a program that the kubelet or a person runs in one, its pod goes ahead of the other pods of its node (runtime/admission), for 2 s of processor time at most and, over longer, a tenth of one processor; its limits hold. What serves the cluster comes before the machine's other work, pods after it; below systemd's scope all of the cluster has the scope's weight beside other units. `mullion up --nice` puts all of it below the machine's other work; `mullion status -v` has the shares. On cgroup v2 the control plane's memory is taken away last (memory.low), where the cgroups above have such a thing too: below systemd's system.slice they do not",
	}, support.Row{
		Area:  "Kubernetes",
		Name:  "API models of acs-engine and AKS Engine (windows.json)",
		Level: support.Partly,
		Ref:   "https://github.com/Azure/aks-engine/blob/v0.80.2/docs/topics/clusterdefinitions.md",
		Note:  "mullion up -f takes the pools with their number, system, labels and Windows version, the subnets, the number of pods of a node, and the network plugin as far as it is here (kubenet; azure as win-bridge, flannel as win-overlay); what it ignores it says, field by field: one control plane, no accounts, no addons, nothing of Azure's. Passwords and keys of a model are not kept",
	})
}
