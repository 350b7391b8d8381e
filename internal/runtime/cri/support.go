package cri

import "mullion.dev/mullion/internal/base/support"

// apiRef is where CRI's calls and fields are described.
const apiRef = "https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/api.proto"

// hcsRef is where the limits of Windows containers are described.
const hcsRef = "https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/resource-controls"

// SupportRows returns how much of CRI the server has: a row for each call, and for each field or behaviour that is
// Windows' own or that a reader may look for.
func SupportRows() []support.Row {
	var rows []support.Row
	add := func(area, ref string, list []support.Row) {
		for _, r := range list {
			r.Area, r.Ref = area, ref
			if r.Level == "" {
				r.Level = support.Supported
			}
			rows = append(rows, r)
		}
	}
	add("CRI runtime calls", apiRef, runtimeRows())
	add("CRI image calls", apiRef, []support.Row{
		{Name: "ListImages"},
		{Name: "StreamImages"},
		{Name: "ImageStatus"},
		{Name: "PullImage"},
		{Name: "RemoveImage"},
		{Name: "ImageFsInfo", Note: `reports the mount point C:\, which is on the engine's file system`},
	})
	add("Windows container fields", hcsRef, fieldRows())

	return rows
}

func runtimeRows() []support.Row {
	return []support.Row{
		{Name: "Version", Note: "every call of this table is answered by its second name too, runtime.v1alpha2, by which kubelets before Kubernetes 1.23 call"},
		{Name: "Status"},
		{Name: "UpdateRuntimeConfig"},
		{Name: "RuntimeConfig", Note: "empty, as on Windows: it is about cgroups"},
		{Name: "RunPodSandbox", Note: "no pause process unless the node has `pauseImage`: the network namespace is the sandbox; on a busy node starts of pods and containers wait for their turn, and an event WaitsForProcessor says so"},
		{Name: "StopPodSandbox"},
		{Name: "RemovePodSandbox"},
		{Name: "PodSandboxStatus"},
		{Name: "ListPodSandbox"},
		{Name: "StreamPodSandboxes"},
		{Name: "CreateContainer"},
		{Name: "StartContainer", Note: "if Windows would not start the program, the call fails with Windows' error text"},
		{Name: "StopContainer", Note: "CTRL_SHUTDOWN to the container's first program alone, as on Windows; when it has ended or the grace period is over, every process is killed. An event of the pod (ProgramsNotTold) names the programs that the first one had left, but not a HostProcess container's"},
		{Name: "RemoveContainer"},
		{Name: "ListContainers"},
		{Name: "StreamContainers"},
		{Name: "ContainerStatus"},
		{
			Name:  "UpdateContainerResources",
			Level: support.Partly,
			Note:  "processors, rates, weights and the limit of all programs together change at once; running programs keep the limit that the kernel has for each of them, so they cannot commit more than that; a HostProcess container's do not learn of processors; rootfs_size_in_bytes changes nothing",
		},
		{Name: "ReopenContainerLog"},
		{Name: "ExecSync", Note: "output is cut off at 16 MiB, both streams together; on a busy node a program waits for its turn, and one whose time passes meanwhile is answered as timed out and not started"},
		{Name: "Exec"},
		{Name: "Attach"},
		{Name: "PortForward"},
		{Name: "ContainerStats"},
		{Name: "ListContainerStats"},
		{Name: "StreamContainerStats"},
		{Name: "PodSandboxStats"},
		{Name: "ListPodSandboxStats"},
		{Name: "StreamPodSandboxStats"},
		{Name: "ListMetricDescriptors"},
		{
			Name:  "ListPodSandboxMetrics",
			Level: support.Partly,
			Note:  "processor, memory, disk and process metrics of containers; processor time in whole seconds",
		},
		{Name: "StreamPodSandboxMetrics", Level: support.Partly, Note: "as ListPodSandboxMetrics"},
		{Name: "GetContainerEvents"},
		{Name: "CheckpointContainer", Level: support.Not, Note: "answers Unimplemented, as Windows does"},
		{Name: "CheckpointPod", Level: support.Not, Note: "answers Unimplemented"},
		{Name: "RestorePod", Level: support.Not, Note: "answers Unimplemented"},
		{
			Name:  "UpdatePodSandboxResources",
			Level: support.Not,
			Note:  "does nothing: the kubelet calls it on Linux nodes only",
		},
	}
}

func fieldRows() []support.Row {
	return []support.Row{
		{
			Name: "mounts, drives",
			Note: `a container_path on C:, or on a drive from D to Z, which the container has then: the drive itself (D:) or a folder of it (D:\data). C: itself and drives A and B are refused, and of a HostProcess container, which has the host's drives, all but C:`,
		},
		{
			Name:  "mounts, files of the host",
			Level: support.Partly,
			Note: `as the host's lists of access rights say for C:\var\log: the logs of containers are for ContainerAdministrator to read, ` +
				`and for ContainerUser where the kubelet's list has Users (not from 1.31, 1.30.3, 1.29.7 and 1.28.12 on), and agents may write beside them; folders that a mount makes ` +
				`are for all. Elsewhere ContainerAdministrator reads and does not write what the host's system has, C:\Windows for example, and does not read the node's keys, which it may on Windows`,
		},
		{
			Name:  "mounts, files that are open",
			Level: support.Partly,
			Note: "a file that a program of the host, or a HostProcess container, has open without sharing its removal keeps no pod from going, as it does on Windows: " +
				"the node's agent empties the emptyDirs of pods that have ended, whatever is open there",
		},
		{
			Name:  "mounts, the kubelet's own files",
			Level: support.Partly,
			Note: `the hosts file and that of the termination message are copies in memory, of a container each, which have no more than 4 MiB together: ` +
				`the other containers of a pod do not see what one writes to its hosts file. A container whose hosts file has more than 2 MiB is not made`,
		},
		{Name: "resources.cpu_maximum"},
		{
			Name:  "processes and threads of a pod",
			Level: support.Partly,
			Note:  "4096 for all containers of a pod together, because CRI has no field for it; the pods of a node together may use a part of the machine's",
		},
		{
			Name:  "answers in sockets of netlink and ping that no program reads",
			Level: support.Partly,
			Note:  "memory that Linux counts for no container: those of a pod that has more than 16 MiB of it are ended within a second, as OOMKilled, and the event UnreadAnswers says why",
		},
		{
			Name:  "what is killed when the machine has no memory left",
			Level: support.Partly,
			Note:  "first a container without limits; a container with a memory limit by the kubelet's formula for Burstable pods, with the limit in place of the request. CRI tells a Windows runtime neither requests nor the QoS class, so Guaranteed and node-critical pods are not spared longest",
		},
		{
			Name: "resources.cpu_count",
			Note: "processor time is limited, the job object says so as a rate, and GetSystemInfo shows all processors: as on Windows in process isolation",
		},
		{Name: "resources.cpu_shares", Note: "ignored beside cpu_count or cpu_maximum, as on Windows"},
		{
			Name:  "resources.memory_limit_in_bytes",
			Level: support.Partly,
			Note:  "when all processes together use as much, an allocation fails, as on Windows, where what they have committed and not touched counts too. Sections, and what is touched only later, can be more: if all together use the limit plus 64 MiB, the kernel kills, which Windows never does",
		},
		{Name: "resources.rootfs_size_in_bytes", Level: support.Not, Note: "ignored: the writable layer has no quota"},
		{
			Name:  "resources.affinity_cpus",
			Level: support.Partly,
			Note:  "kept by the kernel's cpuset, without which such a container does not start; programs see them as the processors of their process, also after an update, but those of a HostProcess container that run already do not learn of an update; processors from the 65th on are kept but not seen; where a node shows more processors than the machine has, each stands for one of those",
		},
		{
			Name:  "security_context.run_as_username",
			Level: support.Partly,
			Note:  `ContainerAdministrator, ContainerUser and NT AUTHORITY\SYSTEM (as ContainerAdministrator); accounts that an image adds (RUN net user NAME /add), with the rights of ContainerAdministrator if they are members of Administrators, else with those of ContainerUser, and a profile folder of their own; what the image has in that folder belongs to ContainerAdministrator. Their passwords, other groups, and whether they are disabled have no effect. Other names fail with 0x52e (unknown user). ContainerUser cannot write the system's files (by Linux' permissions), nor HKEY_LOCAL_MACHINE and with it the machine's certificate stores: that holds against programs that go by Windows' calls, not against one that calls Linux or Wine's server itself, as a container's registry and its server belong to the container's user; it goes no further than that container. Unlike on Windows, ContainerUser may make services, has the group Administrators in its token, and cannot make folders in C:\ and C:\ProgramData`,
		},
		{
			Name:  "security_context.credential_spec",
			Level: support.Partly,
			Note: "the container is in the spec's domain by name (NetGetJoinInformation, DsGetDcName, nltest). Where cluster.yaml has keys for the domain (of the account, or of a computer that may read its password), its programs are the service account: Kerberos tickets, " +
				"AES only, renewed by the node, for SSPI's packages Kerberos and Negotiate as a client, and for programs of MIT's Kerberos; an account that the domain refuses (0x52e) or a domain that does not " +
				"answer (0x51f) stops the container. Without keys nltest /query says ERROR_NO_LOGON_SERVERS. A spec that is wrong or names a plugin stops it too, and one of a HostProcess container, which " +
				"Windows starts. Of several accounts it is the first of the domain. Its programs use SMB shares of the domain's servers by their names, 64 at most. Tried with Samba 4.22 " +
				"as Active Directory and MIT's server, not with Windows Server's; AcceptSecurityContext and SPNEGO's wrapping (a Negotiate token is Kerberos' own) are not there",
		},
		{
			Name:  "security_context.host_process",
			Level: support.Partly,
			Note:  `runs in the host, with the host's name, network, processes, registry and C:; image and volumes are where hcsshim puts them (C:\hpc, or C:\hpc\<id> before Windows Server 2022), and only the container sees them; programs are started directly, not with cmd /c`,
		},
		{
			Name:  "security_context.run_as_username of HostProcess",
			Level: support.Partly,
			Note:  `NT AUTHORITY\SYSTEM, Local Service, Network Service, Windows' local groups and groups made with net localgroup: the account decides the user name, variables and folders, but all have the same rights; other names fail with 0x52e`,
		},
		{
			Name:  "HostProcess and volumes",
			Level: support.Partly,
			Note:  "the mount path is made on the host's C: as an empty folder or file, and stays there; a read-only volume can be written below the mount point, as on Windows; before Windows Server 2022 volumes are seen only below the image, without links",
		},
		{
			Name:  "HostProcess and stopping",
			Level: support.Partly,
			Note:  "CTRL_SHUTDOWN goes to the container's own program; programs that it has started are killed",
		},
		{
			Name:  "namespace_options.network",
			Level: support.Not,
			Note:  "ignored, as containerd on Windows does: every pod but HostProcess pods has a network of its own",
		},
		{
			Name:  "mounts",
			Level: support.Partly,
			Note:  "folders, single files, also read-only, in any letter case, and named pipes; no image volumes, no propagation",
		},
		{
			Name:  "mounts of named pipes",
			Level: support.Partly,
			Note:  "under any name of a pipe in the container; the host's pipe is opened as an administrator for ContainerAdministrator, and for ContainerUser if its access list lets somebody read and write who is none; who may not, or asks for a pipe that is not there, is disconnected and not refused; a pipe is a stream of bytes, without messages; its server does not learn of the client's process and cannot act in its name; a container with such mounts has one process and some 20 MB more. HostProcess containers see the host's pipes as they are, and are refused mounts of them, as on Windows",
		},
		{Name: "devices", Level: support.Not, Note: "ignored"},
		{Name: "envs", Note: "names without regard to case"},
		{Name: "stdin, stdin_once, tty"},
		{Name: "stop_signal", Level: support.Not, Note: "ignored: Windows has no signals"},
		{Name: "exit_code", Note: "all 32 bits, shown signed"},
		{Name: "port_mappings", Note: "handed to the pod network"},
		{
			Name: "dns_config",
			Note: "servers and the first search domain, because Windows has one DNS suffix and no options; with the profile modern all search domains and options",
		},
	}
}
