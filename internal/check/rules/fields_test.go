package rules_test

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/rules"
)

// without returns the fields of a pod that no rule names, and why. The documents are
// https://kubernetes.io/docs/concepts/windows/intro/#api and the pages that it links; "works" says that they name no
// limit.
func without() map[string]string {
	const (
		works   = "works"
		control = "read by the control plane alone, the same for all nodes"
		inner   = "the fields inside have rules"
		gone    = "no kubelet of today has it, on any system; the API server ignores or refuses it"
	)

	return map[string]string{
		"spec.volumes": inner, "spec.initContainers": inner, "spec.containers": inner,
		"spec.ephemeralContainers": inner, "spec.securityContext": inner, "spec.os": inner,
		"spec.affinity": inner, "spec.dnsConfig": inner,
		"spec.restartPolicy": works, "spec.activeDeadlineSeconds": works, "spec.serviceAccountName": works,
		"spec.serviceAccount": works, "spec.automountServiceAccountToken": works,
		"spec.nodeName": control, "spec.imagePullSecrets": works, "spec.hostname": works, "spec.subdomain": works,
		"spec.setHostnameAsFQDN": works, "spec.hostnameOverride": works,
		"spec.schedulerName": control, "spec.priorityClassName": control, "spec.priority": control,
		"spec.preemptionPolicy": control, "spec.overhead": control,
		"spec.hostAliases":    "works: the kubelet mounts a hosts file, except into HostProcess containers",
		"spec.readinessGates": control, "spec.enableServiceLinks": works,
		"spec.topologySpreadConstraints": control, "spec.schedulingGates": control, "spec.evictionResponders": control, "spec.schedulingGroup": control,

		"spec.securityContext.windowsOptions": inner,
		"spec.securityContext.runAsNonRoot":   "works: the rule non-root-administrator looks at it through each container",
		"securityContext.windowsOptions":      inner,

		"name": works, "workingDir": works, "ports": works, "envFrom": works, "env": inner, "resources": inner,
		"restartPolicy": works, "restartPolicyRules": works, "volumeMounts": inner,
		"livenessProbe": inner, "readinessProbe": inner, "startupProbe": inner, "lifecycle": inner,
		"terminationMessagePolicy": works, "imagePullPolicy": works, "securityContext": inner,
		"stdin": works, "stdinOnce": works, "tty": works, "command": inner, "args": inner,

		"volumeMounts[*].name": works, "volumeMounts[*].readOnly": works,
		"resources.limits": inner, "resources.requests": inner,
		"resources.claims":    "goes with spec.resourceClaims, which has a rule",
		"lifecycle.postStart": inner, "lifecycle.preStop": inner,

		"spec.volumes[*].hostPath": inner, "spec.volumes[*].emptyDir": inner, "spec.volumes[*].secret": inner,
		"spec.volumes[*].configMap": inner, "spec.volumes[*].downwardAPI": inner,
		"spec.volumes[*].projected":             inner,
		"spec.volumes[*].persistentVolumeClaim": "the claim and its class have rules",
		"spec.volumes[*].ephemeral":             works,
		"spec.volumes[*].name":                  works,
		"spec.volumes[*].csi":                   "works where its driver has a node plugin for Windows",
		"spec.volumes[*].photonPersistentDisk":  gone,
	}
}

// TestEveryField holds that each field of a pod, its containers and their security contexts has a rule or a stated
// reason for none: a field that a new version of Kubernetes adds fails until somebody has looked at it.
func TestEveryField(t *testing.T) {
	named := map[string]bool{}
	for _, r := range rules.All() {
		var paths []string
		for _, m := range append(r.When, r.Match...) {
			paths = append(paths, m.Path)
		}

		for _, p := range append(paths, r.Fields...) {
			if r.Target == check.OnInput && strings.Contains(p, ":") {
				continue
			}
			for end := range p { // the path and those that lead to it are named, but only itself has the rule
				if p[end] == '[' {
					named[p[:end]] = true
				}
			}

			named[p] = true
		}
	}

	reasons := without()
	used := map[string]bool{}
	look := func(prefix string, of reflect.Type) {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" { // embedded
				continue
			}

			path := prefix + name
			switch reason := reasons[path]; {
			case reason != "":
				used[path] = true
			case !named[path]:
				t.Errorf("%s has neither a rule nor a reason for none", path)
			}
		}
	}
	look("spec.", reflect.TypeFor[corev1.PodSpec]())
	look("spec.securityContext.", reflect.TypeFor[corev1.PodSecurityContext]())
	look("spec.volumes[*].", reflect.TypeFor[corev1.VolumeSource]())
	look("", reflect.TypeFor[corev1.Container]())
	look("securityContext.", reflect.TypeFor[corev1.SecurityContext]())
	look("securityContext.windowsOptions.", reflect.TypeFor[corev1.WindowsSecurityContextOptions]())
	look("volumeMounts[*].", reflect.TypeFor[corev1.VolumeMount]())
	look("lifecycle.", reflect.TypeFor[corev1.Lifecycle]())
	look("resources.", reflect.TypeFor[corev1.ResourceRequirements]())
	used["spec.volumes[*].name"] = true // of Volume, around VolumeSource
	for path := range reasons {
		if !used[path] {
			t.Errorf("%s is no field", path)
		}
	}
}

// documented returns the fields that https://kubernetes.io/docs/concepts/windows/intro/#api names, each with its rule.
func documented() map[string]string {
	return map[string]string{
		"spec.hostPID": "host-pid", "spec.hostIPC": "host-ipc", "spec.hostNetwork": "host-network",
		"spec.shareProcessNamespace":         "share-process-namespace",
		"spec.dnsPolicy":                     "dns-cluster-first-with-host-net",
		"spec.terminationGracePeriodSeconds": "termination-grace-period", "volumeDevices": "volume-devices",
		"spec.volumes[*].emptyDir.medium": "memory-volume", "volumeMounts[*].mountPropagation": "mount-propagation",
		"spec.securityContext.seLinuxOptions": "pod-selinux", "spec.securityContext.seccompProfile": "pod-seccomp",
		"spec.securityContext.fsGroup":             "pod-fs-group",
		"spec.securityContext.fsGroupChangePolicy": "pod-fs-group-change-policy",
		"spec.securityContext.sysctls":             "pod-sysctls", "spec.securityContext.runAsUser": "pod-run-as-user",
		"spec.securityContext.runAsGroup":          "pod-run-as-group",
		"spec.securityContext.supplementalGroups":  "pod-supplemental-groups",
		"securityContext.seLinuxOptions":           "container-selinux",
		"securityContext.seccompProfile":           "container-seccomp",
		"securityContext.capabilities":             "container-capabilities",
		"securityContext.readOnlyRootFilesystem":   "container-read-only-root",
		"securityContext.privileged":               "container-privileged",
		"securityContext.allowPrivilegeEscalation": "container-privilege-escalation",
		"securityContext.procMount":                "container-proc-mount",
		"securityContext.runAsUser":                "container-run-as-user",
		"securityContext.runAsGroup":               "container-run-as-group",
		"securityContext.runAsNonRoot":             "non-root-administrator",
		"terminationMessagePath":                   "termination-message-path",
		"resources.requests[memory]":               "memory-request-without-limit",
		"resources.requests[cpu]":                  "cpu-request-without-limit",
		"resources.limits":                         "huge-pages-resource",
	}
}

func TestDocumentedFields(t *testing.T) {
	byID := map[string]check.Rule{}
	for _, r := range rules.All() {
		byID[r.ID] = r
	}

	for path, id := range documented() {
		r, found := byID[id], false
		for _, m := range r.Match {
			found = found || m.Path == path
		}

		for _, p := range r.Fields {
			found = found || p == path
		}
		if !found {
			t.Errorf("%s: the rule %q does not look at it", path, id)
		}
	}
}
