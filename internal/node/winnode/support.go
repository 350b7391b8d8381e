package winnode

import "mullion.dev/mullion/internal/base/support"

// SupportRows say what of a Windows host is there.
func SupportRows() []support.Row {
	const area = "Windows host"
	return []support.Row{
		{
			Area:  area,
			Name:  "kubelet.exe",
			Level: support.Supported,
			Ref:   "https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/",
		},
		{
			Area:  area,
			Name:  `\\.\pipe\containerd-containerd`,
			Level: support.Partly,
			Note:  "speaks CRI to crictl.exe and other programs of the host and of HostProcess pods; all of these may open it, because Wine gives every program of a host the same rights and does not compare a pipe's access list (administrators and the system) with who opens it. kubelet.exe calls the same server by a port of the host's loopback: over the pipe an idle node took 65 instead of 31 thousandths of a processor, and 123 instead of 105 with ten pods",
			Ref:   "https://github.com/containerd/containerd/blob/v2.4.2/defaults/defaults_windows.go",
		},
		{
			Area:  area,
			Name:  "crictl.exe",
			Level: support.Supported,
			Note:  `upstream's, in C:\Program Files\containerd, which is in PATH; configured by C:\Users\Administrator\.crictl\crictl.yaml. Packages have it; in a checkout "make crictl" or "make build" builds it, "make up" does not, and a host has it from its next start on`,
			Ref:   "https://kubernetes.io/docs/tasks/debug/debug-cluster/crictl/",
		},
		{
			Area:  area,
			Name:  "runtime: containerd",
			Level: support.Partly,
			Note:  containerdNote,
			Ref:   "https://github.com/containerd/containerd/blob/v2.4.2/docs/cri/config.md",
		},
		{
			Area:  area,
			Name:  "SMB shares",
			Level: support.Partly,
			Note:  `New-, Get- and Remove-SmbGlobalMapping (and SmbMapping, which is for all of the host here) with a user and a password (NTLM), drive letters, -RequirePrivacy and -RequireIntegrity; \\server\share and links to it for programs of the host and HostProcess containers, and as volumes of pods (hostPath, FlexVolume, CSI). The client is in user space (FUSE). -RequirePrivacy encrypts also where the server leaves it to the client, and is refused where the server does not encrypt. Mappings outlive the host's agent and the cluster's supervisor, not a restart of the machine; -Persistent $true, folders below the share in -RemotePath, Kerberos, locks that other clients see and net use are not there`,
			Ref:   "https://learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping",
		},
		{
			Area:  area,
			Name:  "data disks",
			Level: support.Partly,
			Note:  `mullion node disk add, grow, ls and rm, while the host runs; PowerShell's cmdlets for disks, partitions and volumes; access paths are folders of C: and drive letters; \\.\PHYSICALDRIVEn answers IOCTL_STORAGE_GET_DEVICE_NUMBER and IOCTL_STORAGE_QUERY_PROPERTY for its identifiers, and \\?\Volume{GUID}\ leads to the volume. A pod has a volume by hostPath or CSI, with its size; a full one gives ERROR_DISK_FULL. A disk is a sparse file of the machine, from 320 MiB on, with a partition table of GPT; a volume is a file system of Linux, XFS, that programs see as NTFS, so what makes NTFS itself (streams, quotas, compression, its journal) is not there, and names differ by case on it where programs of Linux make them. What another system has formatted is not read and not formatted unasked. Partitions and volumes grow and do not shrink; MBR, dynamic disks, Storage Spaces, virtual disks, reading a disk's bytes, mountvol.exe and diskpart.exe are not there. It needs the kernel's loop devices and XFS, and Debian's xfsprogs`,
			Ref:   "https://learn.microsoft.com/powershell/module/storage",
		},
		{
			Area:  area,
			Name:  "iSCSI",
			Level: support.Partly,
			Note:  `an initiator in user space, in the host's network: New-, Get-, Update- and Remove-IscsiTargetPortal, Get-, Connect-, Disconnect- and Update-IscsiTarget, Get-, Register- and Unregister-IscsiSession, Get-IscsiConnection, Get-InitiatorPort, Set-IscsiChapSecret; CHAP and mutual CHAP with MD5; a target's disks are data disks of the host, with the bus type iSCSI. While a target does not answer, who uses a disk waits for a minute, as on Windows (MaxRequestHoldTime), then gets errors, and the disk is gone until the target is back; a container that had its volume then has to start anew, and so it has after a kill -9 of what keeps the session. A persistent session is made again after a restart of the machine, another ends with it. The service MSiSCSI can be started, and the initiator is there without it. Of what is another system's on a disk nothing is read or formatted unasked. Sectors of 4096 bytes are used as eight of 512. Digests, multipath I/O, several connections of a session, iSNS, other initiators' ports (-InitiatorPortalAddress), persistent reservations, iscsicli.exe and CHAP with other hashes are not there; nor are names of targets with letters beyond ASCII`,
			Ref:   "https://learn.microsoft.com/powershell/module/iscsi",
		},
		{
			Area:  area,
			Name:  "csi-proxy",
			Level: support.Partly,
			Note:  `upstream's csi-proxy.exe v1.1.3, unmodified, as a service or in a HostProcess DaemonSet (examples/csi-proxy). The groups filesystem, smb and system work; smb maps with -RequirePrivacy, so that the server has to know encryption (SMB 3). Its groups disk and volume work on the host's data disks (mullion node disk): locations, identifiers, partitions, formatting, mounting, growing while a pod uses the volume, figures. C: is a volume on no disk. Its group iscsi works with the host's initiator. v1.3.0, which asks WMI for all of this, is not there`,
			Ref:   "https://github.com/kubernetes-csi/csi-proxy/blob/v1.1.3/README.md",
		},
		{
			Area:  area,
			Name:  "FlexVolume drivers",
			Level: support.Partly,
			Note:  `programs in C:\usr\libexec\kubernetes\kubelet-plugins\volume\exec that a person puts there; Microsoft's for SMB shares (smb.cmd, smb.ps1) runs as it is; one for iSCSI may log in, format and mount as Microsoft's iscsi.ps1 does, which itself wants persistent reservations and a program of its own for them (iscsiHelper.exe)`,
			Ref:   "https://github.com/kubernetes/community/blob/master/contributors/devel/sig-storage/flexvolume.md",
		},
		{
			Area:  area,
			Name:  "kube-proxy.exe",
			Level: support.Supported,
			Note:  "kernelspace mode on an L2Bridge network; healthz on the host's loopback only; not started on builds without HNS v2 (2016, 1709, 1803), where it would panic, as on Windows",
			Ref:   "https://kubernetes.io/docs/reference/command-line-tools-reference/kube-proxy/",
		},
		{
			Area:  area,
			Name:  "TLS bootstrap",
			Level: support.Supported,
			Note:  "the nodes of a machine that joins ask for their first certificate with the token, all nodes for later ones; on the control plane's machine the first one is there when the kubelet starts, as on a control plane of kubeadm",
			Ref:   "https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/",
		},
		{
			Area:  area,
			Name:  "memory eviction",
			Level: support.Supported,
			Note:  "by the kubelet's thresholds of the commit limit; without the field memory of a node in cluster.yaml the limit is the machine's, so all such nodes are under pressure at once",
			Ref:   "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
		},
		{
			Area:  area,
			Name:  "reserved resources",
			Level: support.Partly,
			Note:  "systemReserved and kubeReserved are subtracted from what is allocatable; as on Windows, nothing limits the system's programs to them",
			Ref:   "https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/",
		},
		{
			Area:  area,
			Name:  "kubelet configuration, flags of kubelet.exe and kube-proxy.exe",
			Level: support.Partly,
			Note:  "kubeletConfiguration, kubeletExtraArgs and kubeProxyExtraArgs of a node in cluster.yaml, but for what Mullion reaches the programs by",
			Ref:   "https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/",
		},
		{
			Area:  area,
			Name:  "node log query",
			Level: support.Supported,
			Note:  "where a node's kubeletConfiguration has enableSystemLogQuery: events of the host's log Application by their source, and files of C:\\var\\log, where kubelet.exe and kube-proxy.exe log too",
			Ref:   "https://kubernetes.io/docs/concepts/cluster-administration/system-logs/#log-query",
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
			Name:  "memory of a node",
			Level: support.Partly,
			Note: "the machine's, or what the field memory of a node in cluster.yaml says: the host's programs and all pods of the node together cannot hold more (the kernel kills a pod's programs first), and see that much, what is " +
				"in use of it as committed and the rest as available, by GlobalMemoryStatusEx, GetPhysicallyInstalledSystemMemory, GetPerformanceInfo, the counters of Memory and Process(_Total), and so the kubelet. In containers memory beyond " +
				"it, but for 64 MiB, is refused with ERROR_COMMITMENT_LIMIT, as far as it is asked for in pieces of 256 KiB and more by VirtualAlloc or a heap; what is committed and not touched is not counted, as there is no page file and no commit charge. " +
				"Counters of paging stay the machine's, and so does /proc/meminfo for programs of Linux. The node's agent and containers' shims are not counted; on cgroup v1 the kernel's caches of names and inodes count as in use. Nodes may have more together than the machine has",
			Ref: "https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-globalmemorystatusex",
		},
		{
			Area:  area,
			Name:  "processors and NUMA nodes",
			Level: support.Partly,
			Note: "the machine's, or those that the field processors of a node in cluster.yaml names: GetLogicalProcessorInformationEx, GetActiveProcessorCount, the functions for NUMA nodes and so the kubelet and its CPU, memory and " +
				"topology managers see those. Each stands for a processor of the machine (number modulo theirs) and for a part of its time, so exclusive processors are not exclusive and memory is of no node; the " +
				"processor time that the kubelet tells of the node is in shown processors, of containers in the machine's; GetSystemInfo, affinities of the host's own programs, performance counters and what containers see stay the machine's",
			Ref: "https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/",
		},
		{
			Area:  area,
			Name:  "service control manager",
			Level: support.Partly,
			Note:  "Wine's, with what containers' has beside it (failure actions, dependencies, events; see the Windows API). Services are in session 0, and programs that people start in session 1, as on Windows: Go's svc.IsWindowsService says so. Services that start automatically do so with the host, in no order, and without the variables of their key (Environment) and the hooks until they start again. kubelet and kube-proxy of a node are services with one failure action (restart after a second) and without dependencies, started by mullion-service.exe; on a bare host they are what you make of them",
			Ref:   "https://learn.microsoft.com/windows/win32/services/service-control-manager",
		},
		{
			Area:  area,
			Name:  "bare host",
			Level: support.Partly,
			Note:  "bare: true of a Windows node in cluster.yaml: container runtime, HNS, CNI plugins (unless disableDefaultCNI), tools, and kubelet.exe, kube-proxy.exe and (after make kubeadm) kubeadm.exe in C:\\k, which somebody makes services by sc.exe or nssm; kubeadm.exe join and reset of 1.37 work against a control plane of kubeadm on a bare Linux host. NetworkPolicies are not carried out for its pods; a machine that joins a cluster has none",
			Ref:   "https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/adding-windows-nodes/",
		},
		{
			Area:  area,
			Name:  "graceful node shutdown",
			Level: support.Partly,
			Note:  "when shutdown.exe or Restart-Computer ends the host, kubelet.exe gets PRESHUTDOWN and ends the pods in the order and the time of shutdownGracePeriod (or shutdownGracePeriodByPodPriority) of its kubeletConfiguration; 10 s after its services the host is off. PreshutdownOrder is there, names no services, and is not carried out: services end side by side. `mullion node stop`, `mullion node restart` and `mullion down` tell nobody",
			Ref:   "https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/",
		},
		{
			Area:  area,
			Name:  "ver",
			Level: support.Partly,
			Note:  "answers 10.0.<build> without the revision; the registry has the revision (UBR)",
			Ref:   "https://learn.microsoft.com/windows-server/administration/windows-commands/ver",
		},
		{
			Area:  area,
			Name:  "hostname",
			Level: support.Partly,
			Note:  "answers in capitals, as %COMPUTERNAME% does",
			Ref:   "https://learn.microsoft.com/windows-server/administration/windows-commands/hostname",
		},
	}
}

// containerdNote says what a node with containerd.exe does and does not.
const containerdNote = `upstream's containerd.exe with containerd-shim-runhcs-v1.exe, unmodified, as a service of the host (make containerd-windows), is what kubelet.exe calls, by \\.\pipe\containerd-containerd. On Windows Server 2019 and later, in the modes l2bridge, l2tunnel and overlay, IPv4 alone, with Kubernetes 1.26 and later; else it is refused. Tried (TestFieldContainerdNode): a pod with its log and exec, the flows of mullion net test, kills of containerd.exe, of the agent and of the shim; of suite smoke of Kubernetes' own tests 28 of 29 specs pass, all but that of HostProcess pods (TestFieldConformanceContainerd). Base images (nanoserver, servercore, server, windows) are stand-ins, imported when it starts. Hyper-V isolation and HostProcess pods do not start, with an event that says why; neither do credential specs. It pulls by the cluster's registries and proxy. Not there: stand-ins for other images, image save, and pods that wait for their NetworkPolicies, which take effect when the API has the pod's address`
