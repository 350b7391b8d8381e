package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// The pages that the probes are taken from.
const (
	tips     = "https://kubernetes.io/docs/tasks/debug/debug-cluster/windows/"
	intro    = "https://kubernetes.io/docs/concepts/windows/intro/"
	guide    = "https://kubernetes.io/docs/concepts/windows/user-guide/"
	archived = "https://v1-20.docs.kubernetes.io/docs/setup/production-environment/windows/intro-windows-in-kubernetes/"
	skew     = "https://kubernetes.io/releases/version-skew-policy/"
)

const archivedTips = archived + "#troubleshooting"

func nodeProbes() []Probe {
	return []Probe{
		{
			ID:     "node-cni-missing",
			Title:  "a node has no network plugin",
			Items:  []int{1},
			Source: Source{"How do I know start.ps1 completed successfully?", archivedTips},
			Looks:  "condition Ready of Windows nodes",
			Cause: "the node's container runtime finds no CNI configuration, so the kubelet keeps the node NotReady " +
				"(with containerd: C:\\Program Files\\containerd\\cni\\conf is empty)",
			Remedies: []string{
				"deploy a network plugin that has a part for Windows, for example flannel's or Calico's DaemonSet for Windows nodes",
				"if it is deployed, see its pod on the node: `kubectl get pods -A -o wide --field-selector spec.nodeName=NODE`",
			},
			look: cniMissing,
		},
		{
			ID:     "node-not-ready",
			Title:  "a node is not Ready",
			Items:  []int{1},
			Source: Source{"How do I know start.ps1 completed successfully?", archivedTips},
			Looks:  "conditions of Windows nodes",
			Cause:  "the node's kubelet says that it cannot run pods",
			Remedies: []string{
				"`kubectl describe node NODE` has its conditions and events",
				"on the node: `Get-Service kubelet, containerd`, and the kubelet's log",
			},
			look: notReady,
		},
		{
			ID:     "node-service-stopped",
			Title:  "kubelet or kube-proxy does not run on a node",
			Items:  []int{1, 2},
			Source: Source{"Can I configure the Kubernetes node processes to run in the background as services?", archivedTips},
			Looks:  "the node's Windows services and processes",
			Needs:  []Need{Facts},
			Cause: "the program was started by hand or ended, and no service starts it again: " +
				"after the machine's next start it is not there",
			Remedies: []string{
				"on the node: `Start-Service kubelet`, `Start-Service kube-proxy`",
				"if there is no such service: `sc.exe create kubelet binPath= \"C:\\k\\kubelet.exe --windows-service …\"`",
			},
			look: stopped,
		},
		{
			ID:     "node-version-skew",
			Title:  "a kubelet's version does not go with the API server's",
			Source: Source{"Version skew policy: kubelet", skew},
			Looks:  "versions of the API server and of kubelets on Windows nodes",
			Cause:  "a kubelet may be up to three minor versions older than the API server, and never newer",
			Remedies: []string{
				"bring the older of the two to the version of the other: the control plane first, then the nodes",
			},
			look: versionSkew,
		},
		{
			ID:     "node-runtime-old",
			Title:  "a node's container runtime is too old",
			Source: Source{"Container runtimes on Windows nodes", intro + "#container-runtime"},
			Looks:  "container runtimes of Windows nodes, HostProcess pods on them",
			Cause: "Kubernetes has used Docker only by cri-dockerd since 1.24, and HostProcess containers need containerd 1.6 " +
				"or later",
			Remedies: []string{"install containerd 1.7 or later on the node and give the kubelet its endpoint"},
			look:     oldRuntime,
		},
		{
			ID:     "node-windows-old",
			Title:  "a node's Windows is older than Kubernetes supports",
			Source: Source{"Windows OS version compatibility", intro + "#windows-os-version-support"},
			Looks:  "kernel versions of Windows nodes",
			Cause:  "Kubernetes supports Windows Server 2019 (build 17763) and later as nodes; 2016, 1709 and 1803 are not",
			Remedies: []string{
				"move the node to Windows Server 2022 or later, and its pods to images of that version",
			},
			look: oldWindows,
		},
	}
}

// noCNI is what containerd (https://github.com/containerd/go-cni/blob/v1.1.13/errors.go) and the kubelet say of a node
// without a network plugin.
var noCNI = lazyregexp.New(
	`(?i)cni (plugin|config)[^.;]* (not initialized|uninitialized)|no networks found in|NetworkPluginNotReady`)

func cniMissing(v *view) []Finding {
	var h hits
	for _, n := range v.windows {
		c := readiness(n)
		if c != nil && c.Status == corev1.ConditionFalse && noCNI.MatchString(c.Message) {
			h.add("node "+n.Name, fmt.Sprintf("condition Ready is False since %s: %s", v.ago(c.LastTransitionTime),
				shorten(c.Message)))
		}
	}
	return h.findings()
}

func notReady(v *view) []Finding {
	var out []Finding
	for _, n := range v.windows {
		c := readiness(n)
		switch {
		case c == nil:
			out = append(out, Finding{
				Object:   "node " + n.Name,
				Evidence: []string{"it has no condition Ready"},
				Cause:    "its kubelet registered it and has not reported since",
			})

		case c.Status == corev1.ConditionUnknown:
			out = append(out, Finding{
				Object: "node " + n.Name,
				Evidence: []string{fmt.Sprintf("condition Ready is Unknown; last report %s: %s",
					v.ago(c.LastHeartbeatTime), shorten(c.Message))},
				Cause: "the kubelet does not run, or does not reach the API server",
			})

		case c.Status == corev1.ConditionFalse && !noCNI.MatchString(c.Message):
			out = append(out, Finding{
				Object:   "node " + n.Name,
				Evidence: []string{fmt.Sprintf("condition Ready is False, %s: %s", c.Reason, shorten(c.Message))},
			})
		}
	}

	return out
}

// stopped finds nodes whose kubelet or kube-proxy is a service that does not run, or no service at all.
func stopped(v *view) []Finding {
	var h hits
	for _, node := range keys(v.Facts) {
		f := v.Facts[node]
		for _, name := range keys(f.Services) {
			if state := f.Services[name]; !strings.EqualFold(state, "Running") {
				h.add("node "+node, fmt.Sprintf("service %s is %s", name, state))
			}
		}

		runs := slices.ContainsFunc(f.Processes, func(line string) bool { return program(line) == "kubelet" })
		if _, service := f.Services["kubelet"]; runs && !service {
			h.add("node "+node, "kubelet.exe runs, but there is no service of that name")
		}
	}

	return h.findings()
}

// program returns the name of the program that a command line begins with, without its folder and extension.
func program(line string) string {
	line = strings.TrimSpace(line)
	name := line
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		name, _, _ = strings.Cut(quoted, `"`)
	} else {
		name, _, _ = strings.Cut(line, " ")
	}
	name = strings.ToLower(name[strings.LastIndexAny(name, `\/`)+1:])
	return strings.TrimSuffix(name, ".exe")
}

var minorVersion = lazyregexp.New(`^v?1\.(\d+)`)

// minor returns the minor version in "v1.37.1", 0 if there is none.
func minor(version string) int {
	m := minorVersion.FindStringSubmatch(version)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits, or too many of them for a version
	return n
}

// oldest is how many minor versions a kubelet may be behind (https://kubernetes.io/releases/version-skew-policy/).
const oldest = 3

func versionSkew(v *view) []Finding {
	var h hits
	server := minor(v.Version)
	for _, n := range v.windows {
		kubelet := minor(n.Status.NodeInfo.KubeletVersion)
		if server != 0 && kubelet != 0 && (kubelet > server || kubelet < server-oldest) {
			h.add("node "+n.Name, fmt.Sprintf("the kubelet is %s, the API server %s", n.Status.NodeInfo.KubeletVersion,
				v.Version))
		}
	}
	return h.findings()
}

var containerd = lazyregexp.New(`^containerd://v?(\d+)\.(\d+)`)

func oldRuntime(v *view) []Finding {
	var h hits
	for _, n := range v.windows {
		runtime := n.Status.NodeInfo.ContainerRuntimeVersion
		if strings.HasPrefix(runtime, "docker://") && minor(n.Status.NodeInfo.KubeletVersion) < dockerless {
			h.add("node "+n.Name, "its container runtime is "+runtime+", by the kubelet's own dockershim")
		}
		m := containerd.FindStringSubmatch(runtime)
		if m == nil || m[1] != "1" || len(m[2]) > 1 || m[2] >= "6" {
			continue
		}

		for _, p := range v.pods {
			if p.Spec.NodeName == n.Name && hostProcess(p) {
				h.add("node "+n.Name, fmt.Sprintf("its container runtime is %s, and pod %s/%s is a HostProcess pod", runtime,
					p.Namespace, p.Name))
			}
		}
	}

	return h.findings()
}

// dockerless is the first minor version of Kubernetes without dockershim.
const dockerless = 24

// hostProcess reports whether a pod has HostProcess containers.
func hostProcess(p *corev1.Pod) bool {
	is := func(w *corev1.WindowsSecurityContextOptions) bool {
		return w != nil && w.HostProcess != nil && *w.HostProcess
	}
	if c := p.Spec.SecurityContext; c != nil && is(c.WindowsOptions) {
		return true
	}
	return slices.ContainsFunc(containers(p), func(c corev1.Container) bool {
		return c.SecurityContext != nil && is(c.SecurityContext.WindowsOptions)
	})
}

// firstBuild is that of Windows Server 2019.
const firstBuild = 17763

// build returns the build number in "10.0.20348.2762", 0 if there is none.
func build(n *corev1.Node) int {
	parts := strings.Split(n.Status.NodeInfo.KernelVersion, ".")
	const at = 2
	if len(parts) <= at {
		return 0
	}
	number, err := strconv.Atoi(parts[at])
	if err != nil {
		return 0
	}
	return number
}

func oldWindows(v *view) []Finding {
	var h hits
	for _, n := range v.windows {
		if b := build(n); b != 0 && b < firstBuild {
			h.add("node "+n.Name, fmt.Sprintf("%s, kernel %s", n.Status.NodeInfo.OSImage, n.Status.NodeInfo.KernelVersion))
		}
	}
	return h.findings()
}
