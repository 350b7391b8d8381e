package rules

import "mullion.dev/mullion/internal/check"

const podSpecCategory = "pod-spec"

func podSpec() []check.Rule {
	isTrue := func(path string) check.Match { return check.Match{Path: path, Op: check.In, Values: []string{"true"}} }
	hugePages := check.Rule{
		ID: "huge-pages", Severity: check.Error, Category: podSpecCategory, Target: check.OnPod, Source: compat("compatibility-v1-pod-spec-containers"),
		Title: "Windows nodes have no huge pages", Why: "no Windows node offers the volume medium HugePages, so the volume is not set up",
		Remedy: "use an emptyDir without a medium",
		Match:  []check.Match{{Path: "spec.volumes[*].emptyDir.medium", Op: check.Matches, Values: []string{"^HugePages"}}},
	}
	memory := check.Rule{
		ID: "memory-volume", Severity: check.Warning, Category: podSpecCategory, Target: check.OnPod, Source: compat("compatibility-v1-pod-spec"),
		Title: "the emptyDir is on disk, not in memory", Why: "Windows has no tmpfs, so the medium Memory means nothing",
		Remedy: "leave the medium out, and do not count on the content staying off the disk",
		Match:  []check.Match{{Path: "spec.volumes[*].emptyDir.medium", Op: check.In, Values: []string{"Memory"}}},
	}
	dns := check.Rule{
		ID: "dns-cluster-first-with-host-net", Severity: check.Warning, Category: podSpecCategory, Target: check.OnPod,
		Title: "dnsPolicy ClusterFirstWithHostNet does not work on Windows", Why: "Windows treats every name with a dot as fully qualified and does not support this policy",
		Remedy: "use ClusterFirst, or Default with dnsConfig",
		Source: check.Source{Title: "DNS for Services and Pods: DNS resolution on Windows nodes", URL: "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows"},
		Match:  []check.Match{{Path: "spec.dnsPolicy", Op: check.In, Values: []string{"ClusterFirstWithHostNet"}}},
	}
	return []check.Rule{
		ignored("host-pid", podSpecCategory, check.OnPod, isTrue("spec.hostPID"), "containers cannot share the host's process list"),
		ignored("host-ipc", podSpecCategory, check.OnPod, isTrue("spec.hostIPC"), "containers cannot share the host's objects of inter-process communication"),
		ignored("host-users", podSpecCategory, check.OnPod, check.Match{Path: "spec.hostUsers", Op: check.Present}, "user namespaces are part of Linux"),
		ignored("share-process-namespace", podSpecCategory, check.OnPod, isTrue("spec.shareProcessNamespace"), "containers of a pod cannot share a process list"),
		hugePages, memory, dns,
	}
}
