package diagnose

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/podowner"
)

func securityProbes() []Probe {
	return []Probe{
		{
			ID:     "run-as-user-name",
			Title:  "a container's user is not in its image",
			Source: Source{"Configure RunAsUserName for Windows pods and containers", "https://kubernetes.io/docs/tasks/configure-pod-container/configure-runasusername/"},
			Looks:  "events of pods on Windows nodes",
			Needs:  []Need{Pods, Events},
			Cause: "runAsUserName, or the image's USER, names a user that the container does not have, or a number: Windows knows " +
				"no user ids",
			Remedies: []string{
				"use ContainerUser or ContainerAdministrator, or make the user in the image: `RUN net user NAME /add`",
				"take runAsUser out of the securityContext of pods for Windows",
			},
			look: said(`(?i)user name or password is incorrect|0x52e|no mapping between account names|0x534\b`,
				`(?i)host has no account|failed to logon`),
		},
		{
			ID:     "host-process-user",
			Title:  "a HostProcess container's account is not on the node",
			Source: Source{"Choosing a user account", "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/#choosing-a-user-account"},
			Looks:  "events of HostProcess pods",
			Needs:  []Need{Pods, Events},
			Cause: `a HostProcess container runs as NT AUTHORITY\SYSTEM, Local service or NetworkService, or as a new member of a ` +
				"local group of the node; other names cannot log on",
			Remedies: []string{`set windowsOptions.runAsUserName to "NT AUTHORITY\\SYSTEM" or a local group of the node`},
			look:     said(`(?i)host has no account|failed to logon user`, ""),
		},
		{
			ID:     "run-as-non-root",
			Title:  "runAsNonRoot keeps a container from starting",
			Source: Source{"Security context: runAsNonRoot on Windows", "https://kubernetes.io/docs/concepts/windows/intro/#compatibility-v1-pod-spec-containers-securitycontext"},
			Looks:  "states and events of pods on Windows nodes",
			Needs:  []Need{Pods},
			Cause:  "runAsNonRoot is true, and the container would run as ContainerAdministrator, by its image or by runAsUserName",
			Remedies: []string{
				"set windowsOptions.runAsUserName to ContainerUser, or `USER ContainerUser` in the image",
			},
			look: said(`(?i)regarded as root identity|break non-root policy|runAsNonRoot`, ""),
		},
		{
			ID:     "host-process",
			Title:  "a HostProcess pod does not start",
			Source: Source{"Create a Windows HostProcess pod", "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/"},
			Looks:  "states and events of HostProcess pods",
			Needs:  []Need{Pods, Events},
			Cause: "HostProcess containers need hostNetwork: true, only HostProcess containers in the pod, process isolation and " +
				"containerd 1.6 or later",
			Remedies: []string{
				"set hostNetwork: true, and hostProcess: true at the pod; take a RuntimeClass for Hyper-V isolation out",
			},
			look: said(`(?i)host ?process (container|pod)s?.*(not supported|must|cannot|require|feature|disabled)`, ""),
		},
		{
			ID:     "gmsa-spec-missing",
			Title:  "a pod's group managed service account is not set up",
			Source: Source{"Configure GMSA for Windows pods and containers", "https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/#troubleshooting"},
			Looks:  "pods for Windows with gmsaCredentialSpecName, GMSACredentialSpecs",
			Needs:  []Need{Pods, GMSASpecs},
			Cause: "the credential spec of that name is not there, or the webhook that puts its content into pods is not " +
				"installed",
			Remedies: []string{
				"`kubectl get gmsacredentialspecs` lists what is there; `kubectl get mutatingwebhookconfigurations` should name GMSA's",
				"a cluster of Mullion's has both, unless addons.gmsa is false, and asks about no namespace with the label gmsa-webhook=disabled",
				"elsewhere install them: https://github.com/kubernetes-sigs/windows-gmsa",
			},
			look: gmsa,
		},
	}
}

// gmsa looks for pods with the name of a credential spec and without its content, which the webhook fills in.
func gmsa(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		var options []*corev1.WindowsSecurityContextOptions
		if c := p.Spec.SecurityContext; c != nil {
			options = append(options, c.WindowsOptions)
		}
		for _, c := range containers(p) {
			if c.SecurityContext != nil {
				options = append(options, c.SecurityContext.WindowsOptions)
			}
		}

		for _, o := range options {
			if o == nil || o.GMSACredentialSpecName == nil || *o.GMSACredentialSpecName == "" {
				continue
			}

			name := *o.GMSACredentialSpecName
			what := fmt.Sprintf("pod %s/%s names the credential spec %q", p.Namespace, p.Name, name)
			switch {
			case v.NoGMSA:
				h.add(podowner.Of(p), what+", and the cluster has no GMSACredentialSpecs")
			case v.has(GMSASpecs) && !slices.Contains(v.GMSASpecs, name):
				h.add(podowner.Of(p), what+", which is not there")
			case o.GMSACredentialSpec == nil || *o.GMSACredentialSpec == "":
				h.add(podowner.Of(p), what+", and has not got its content: the webhook did not see it")
			}
		}
	}

	return h.findings()
}
