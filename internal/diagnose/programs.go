package diagnose

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/podowner"
)

func programProbes() []Probe {
	return []Probe{
		{
			ID:     "volume-not-mounted",
			Title:  "a volume cannot be mounted on a Windows node",
			Source: Source{"Storage on Windows nodes", "https://kubernetes.io/docs/concepts/storage/windows-storage/"},
			Looks:  "events FailedMount and FailedAttachVolume of pods on Windows nodes",
			Needs:  []Need{Pods, Events},
			Cause: "the volume's driver does not run on Windows nodes, or the volume is of a kind that Windows lacks: block " +
				"devices, memory, NFS, mount propagation",
			Remedies: []string{
				"deploy the CSI driver's part for Windows nodes (`kubectl get csinodes` lists which node has which driver)",
				"see `kubectl describe pod POD` for the volume's name and the whole error",
			},
			look: said(`(?i)(MountVolume|MapVolume|AttachVolume|NodeStageVolume|NodePublishVolume|UnmountDevice)\S* (\S+ )*failed|`+
				`driver name \S+ not found in the list of registered CSI drivers`, ""),
		},
		{
			ID:     "program-not-found",
			Title:  "a container's command is not in its image",
			Source: Source{"Windows containers: command and entrypoint", guide + "#getting-started-deploying-a-windows-workload"},
			Looks:  "states and events of pods on Windows nodes",
			Needs:  []Need{Pods},
			Cause: "Windows does not find the program, or it is none for Windows: often a command of Linux, such as /bin/sh, or a " +
				"path that Linux' kubectl wrote",
			Remedies: []string{
				"name the program as it is in the image: `cmd /c …`, `powershell -Command …`, C:\\app\\app.exe",
				"`mullion check` finds commands of Linux in manifests",
			},
			look: said(`(?i)(CreateProcess|failed to create (containerd )?task|StartError|start container|entrypoint).*`+
				`(cannot find the (file|path) specified|not a valid Win32 application|executable file not found)`, mismatch),
		},
		{
			ID:     "program-status",
			Title:  "a container's program ends with one of Windows' status codes",
			Source: Source{"NTSTATUS values", "https://learn.microsoft.com/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55"},
			Looks:  "exit codes of containers on Windows nodes",
			Needs:  []Need{Pods},
			Cause:  "Windows ended the program, or did not start it",
			Remedies: []string{
				"`kubectl logs POD --previous` has what the program last said",
			},
			look: statuses,
		},
	}
}

// status is a status code that says what a program lacked.
type status struct {
	name, cause, remedy string
}

// statusCodes are of
// https://learn.microsoft.com/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55.
func statusCodes() map[uint32]status {
	return map[uint32]status{
		0xC0000005: {"STATUS_ACCESS_VIOLATION", "the program read or wrote memory that is not its own", ""},
		0xC0000017: {
			"STATUS_NO_MEMORY", "the container's memory limit, or the node's commit limit, is used up",
			"raise resources.limits.memory, or place fewer pods on the node: Windows does not overcommit memory",
		},
		0xC000007B: {
			"STATUS_INVALID_IMAGE_FORMAT", "the program, or a DLL of it, is for another processor: 32-bit, or ARM",
			"build it for amd64; nanoserver images run no 32-bit programs",
		},
		0xC0000135: {
			"STATUS_DLL_NOT_FOUND", "the program needs a DLL that its image does not have",
			"`mullion check programs IMAGE` names it; use a base image that has it (servercore instead of nanoserver), or add it",
		},
		0xC0000139: {
			"STATUS_ENTRYPOINT_NOT_FOUND", "the program needs a function that a DLL of this Windows does not have",
			"use a base image of the Windows version that the program is built for",
		},
		0xC0000142: {"STATUS_DLL_INIT_FAILED", "a DLL of the program could not start", ""},
		0xC0000409: {"STATUS_STACK_BUFFER_OVERRUN", "the program ended itself: an assertion or a failed check", ""},
		0xC000012D: {
			"STATUS_COMMITMENT_LIMIT", "the node's commit limit is used up",
			"give the node a bigger page file or memory, or place fewer pods on it",
		},
	}
}

func statuses(v *view) []Finding {
	var h hits
	cause := map[string]status{}
	codes := statusCodes()
	for _, p := range v.pods {
		if ready(p) {
			continue
		}

		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			last := s.LastTerminationState.Terminated
			for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, last} {
				if t == nil {
					continue
				}
				if code, ok := codes[uint32(t.ExitCode)]; ok {
					h.add(podowner.Of(p), fmt.Sprintf("pod %s/%s, container %s ended with 0x%X %s, %d restarts", p.Namespace, p.Name,
						s.Name, uint32(t.ExitCode), code.name, s.RestartCount))
					cause[podowner.Of(p)] = code
					break
				}
			}
		}
	}

	out := h.findings()
	for i := range out {
		code := cause[out[i].Object]
		out[i].Cause = code.cause
		if code.remedy != "" {
			out[i].Remedies = []string{code.remedy}
		}
	}

	return out
}
