package rules

import (
	"mullion.dev/mullion/internal/check"
)

const podSpecCategory = "pod-spec"

func podSpec() []check.Rule {
	users := ignored("host-users", podSpecCategory, check.OnPod, present("spec.hostUsers"),
		"user namespaces are part of Linux")
	users.Since, users.Refused = 25, 25
	return []check.Rule{
		ignored("host-pid", podSpecCategory, check.OnPod, isTrue("spec.hostPID"),
			"containers cannot share the host's process list"),
		ignored("host-ipc", podSpecCategory, check.OnPod, isTrue("spec.hostIPC"),
			"containers cannot share the host's objects of inter-process communication"),
		users,
		ignored("share-process-namespace", podSpecCategory, check.OnPod, present("spec.shareProcessNamespace"),
			"containers of a pod cannot share a process list"),
		{
			ID:       "host-network",
			Severity: check.Error,
			Category: podSpecCategory,
			Target:   check.OnPod,
			Source:   compat("compatibility-v1-pod-spec-containers-hostnetwork"),
			Title:    "only HostProcess containers have the host's network on Windows",
			Why:      "other Windows containers have a network endpoint of their own; the kubelet's gate WindowsHostNetwork never left alpha and is deprecated",
			Remedy:   "remove hostNetwork and use ports, or make it a HostProcess pod",
			Fields:   []string{"spec.hostNetwork", "spec." + hostProcess},
			Func: func(p *check.Pod) []check.Hit {
				if len(hostProcessAt(p)) > 0 {
					return nil
				}
				var out []check.Hit
				for _, v := range p.Values("spec.hostNetwork") {
					if v.Node.True() {
						out = append(out, v.At)
					}
				}

				return out
			},
		},
		{
			ID:       "pod-resources",
			Severity: check.Error,
			Category: podSpecCategory,
			Target:   check.OnPod,
			Refused:  32,
			Since:    32,
			Title:    "resources of the whole pod do not work on Windows",
			Why:      "Windows limits each container with a job object of its own, and has no job object for a whole pod",
			Remedy:   "set the resources of each container",
			Source: check.Source{
				Title: "Assign Pod-level CPU and memory resources",
				URL:   "https://kubernetes.io/docs/tasks/configure-pod-container/assign-pod-level-resources/",
			},
			Match: []check.Match{present("spec.resources")},
		},
		{
			ID:       "resource-claims",
			Severity: check.Warning,
			Category: podSpecCategory,
			Target:   check.OnPod,
			Since:    26,
			Title:    "resource claims give a Windows pod no device",
			Why:      "only the kubelet for Linux has dynamic resource allocation: on Windows the container starts without the device that it claims",
			Remedy:   "use a device plugin, which the kubelet has on Windows too",
			Source: check.Source{
				Title: "kubernetes: the kubelet's container manager for Windows",
				URL:   "https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/container_manager_windows.go",
			},
			Match: []check.Match{{Path: "spec.resourceClaims", Op: check.NonEmpty}},
		},
		{
			ID:       "termination-grace-period",
			Severity: check.Info,
			Category: podSpecCategory,
			Target:   check.OnPod,
			Until:    dockerGone,
			Source:   compat("compatibility-v1-pod"),
			Title:    "terminationGracePeriodSeconds needs containerd",
			Why:      "with Docker, Windows ends all processes 5 seconds after it asked them to stop",
			Remedy:   "run the node with containerd, or set WaitToKillServiceTimeout in the image",
			Match: []check.Match{{
				Path:   "spec.terminationGracePeriodSeconds",
				Op:     check.NotIn,
				Values: []string{"0", "1", "2", "3", "4", "5", "30"},
			}},
		},
		{
			ID:       "dns-cluster-first-with-host-net",
			Severity: check.Warning,
			Category: podSpecCategory,
			Target:   check.OnPod,
			Source:   dnsSource(),
			Title:    "dnsPolicy ClusterFirstWithHostNet does not work on Windows",
			Why:      "Windows treats every name with a dot as fully qualified and does not support this policy",
			Remedy:   "use ClusterFirst, or Default with dnsConfig",
			Match: []check.Match{{
				Path:   "spec.dnsPolicy",
				Op:     check.In,
				Values: []string{"ClusterFirstWithHostNet"},
			}},
			Fix: func(p *check.Pod, _ check.Hit) []check.Edit {
				return []check.Edit{{Op: check.SetValue, Pos: p.Spec().Get("dnsPolicy").Pos, Value: "ClusterFirst"}}
			},
		},
		{
			ID:       "dns-config",
			Severity: check.Warning,
			Category: podSpecCategory,
			Target:   check.OnPod,
			Source:   dnsSource(),
			Title:    "search domains and resolver options do nothing on Windows",
			Why:      "a Windows pod has one DNS suffix, that of its namespace, and no ndots",
			Remedy:   "write full names: service.namespace.svc.cluster.local",
			Match: []check.Match{
				{Path: "spec.dnsConfig.searches", Op: check.NonEmpty},
				{Path: "spec.dnsConfig.options", Op: check.NonEmpty},
			},
		},
	}
}

func dnsSource() check.Source {
	return check.Source{
		Title: "DNS for Services and Pods: DNS resolution on Windows nodes",
		URL:   "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows",
	}
}

const containerCategory = "container"

// containers returns the rules about fields of a container other than its security.
func containers() []check.Rule {
	return []check.Rule{
		{
			ID:       "volume-devices",
			Severity: check.Error,
			Category: containerCategory,
			Target:   check.OnContainer,
			Source:   compat("compatibility-v1-pod"),
			Title:    "Windows cannot attach raw block devices to pods",
			Why:      "volumeDevices is not implemented on Windows",
			Remedy:   "mount the volume with a file system",
			Match:    []check.Match{{Path: "volumeDevices", Op: check.NonEmpty}},
		},
		{
			ID:       "mount-propagation",
			Severity: check.Warning,
			Category: containerCategory,
			Target:   check.OnContainer,
			Source:   compat("compatibility-v1-pod"),
			Fix:      check.Remove,
			Title:    "mountPropagation does nothing on Windows",
			Why:      "the kubelet for Windows always uses None",
			Remedy:   "remove the field; mounts made in one container are not seen in another",
			Match: []check.Match{{
				Path:   "volumeMounts[*].mountPropagation",
				Op:     check.NotIn,
				Values: []string{"None"},
			}},
		},
		{
			ID:       "recursive-read-only",
			Severity: check.Error,
			Category: containerCategory,
			Target:   check.OnContainer,
			Since:    30,
			Title:    "recursive read-only mounts are part of Linux",
			Why:      "no runtime handler on Windows supports them, and with Enabled the kubelet refuses the container",
			Remedy:   "use readOnly: true alone",
			Source: check.Source{
				Title: "Volumes: read-only mounts",
				URL:   "https://kubernetes.io/docs/concepts/storage/volumes/#recursive-read-only-mounts",
			},
			Fix: check.Remove,
			Match: []check.Match{{
				Path:   "volumeMounts[*].recursiveReadOnly",
				Op:     check.In,
				Values: []string{"Enabled"},
			}},
		},
		{
			ID:       "bind-mount-options",
			Severity: check.Warning,
			Category: containerCategory,
			Target:   check.OnContainer,
			Since:    37,
			Fix:      check.Remove,
			Title:    "options of bind mounts are part of Linux",
			Why:      "noexec, nodev and nosuid have no effect on Windows nodes",
			Remedy:   "remove the field; who may run a file is for its access list to say",
			Source: check.Source{
				Title: "kubernetes: the field in the API",
				URL:   "https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/api/core/v1/types.go",
			},
			Match: []check.Match{{Path: "volumeMounts[*].bindMountOptions", Op: check.NonEmpty}},
		},
		{
			ID:       "resize-policy",
			Severity: check.Warning,
			Category: containerCategory,
			Target:   check.OnContainer,
			Since:    27,
			Fix:      check.Remove,
			Title:    "Windows containers are not resized in place",
			Why:      "the kubelet answers \"In-place pod resize is not supported on Windows\"",
			Remedy:   "let the workload replace its pods instead",
			Source: check.Source{
				Title: "Resize CPU and Memory Resources assigned to Containers: limitations",
				URL:   "https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#limitations",
			},
			Match: []check.Match{{Path: "resizePolicy", Op: check.NonEmpty}},
		},
		{
			ID:       "termination-message-path",
			Severity: check.Warning,
			Category: containerCategory,
			Target:   check.OnContainer,
			Until:    dockerGone,
			Source:   compat("compatibility-v1-pod-spec-containers"),
			Title:    "terminationMessagePath works only with its default, or with containerd",
			Why:      "with Docker, Windows cannot map single files",
			Remedy:   "leave the field out, or run the node with containerd",
			Match: []check.Match{{
				Path:   "terminationMessagePath",
				Op:     check.NotIn,
				Values: []string{"/dev/termination-log"},
			}},
		},
		{
			ID:       "stop-signal",
			Severity: check.Error,
			Category: containerCategory,
			Target:   check.OnContainer,
			Since:    33,
			Title:    "Windows knows the stop signals SIGTERM and SIGKILL only",
			Why:      "Windows has no signals; in a pod whose os.name is windows, the API server refuses every other signal",
			Remedy:   "leave stopSignal out, and end the program in a preStop hook",
			Source: check.Source{
				Title: "Container Lifecycle Hooks: stop signals",
				URL:   "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination-stop-signals",
			},
			Fix: check.Remove,
			Match: []check.Match{{
				Path:   "lifecycle.stopSignal",
				Op:     check.NotIn,
				Values: []string{"SIGTERM", "SIGKILL"},
			}},
		},
	}
}
