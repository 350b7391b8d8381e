package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/base/podowner"
)

// Texts of a container or an image that does not fit the node: of HCS (HCS_E_IMAGE_MISMATCH, as hcsshim words it) and
// of containerd (https://github.com/containerd/containerd/blob/v2.1.0/core/images/image.go, "no match for platform").
const mismatch = `(?i)operating system does not match|operating system of the container does not match|0xc0370101|` +
	`no match(ing manifest)? for |cannot be used on this platform|` +
	`image operating system "\w+" cannot be used|no image .*for (windows|linux)`

// Texts of a sandbox, by the kubelet's event and by containerd.
const sandbox = `(?i)sandbox`

func imageProbes() []Probe {
	return []Probe{
		{
			ID:    "pause-image",
			Title: "the pause image does not fit the node's Windows",
			Items: []int{12, 16},
			Source: Source{
				`My Pods are stuck at "Container Creating" or restarting over and over`, tips + "#troubleshooting-node",
			},
			Looks: "events FailedCreatePodSandBox of pods on Windows nodes",
			Needs: []Need{Pods, Events},
			Cause: "each pod begins with a container of the pause image, which has to fit the node's Windows version and " +
				"be there: without it no pod of the node starts",
			Remedies: []string{
				"set containerd's pause image (`sandbox_image`, in containerd 2 `pinned_images.sandbox`) to " +
					"registry.k8s.io/pause:3.10 or later, which is of every supported Windows version, and restart containerd",
				"on the node: `crictl pull registry.k8s.io/pause:3.10` shows whether it can be had",
			},
			look: pauseImage,
		},
		{
			ID:     "pause-image-old",
			Title:  "port-forward needs a newer pause image",
			Items:  []int{14},
			Source: Source{`kubectl port-forward fails with "unable to do port forwarding: wincat not found"`, tips + "#troubleshooting-network"},
			Looks:  "container runtimes and images of Windows nodes",
			Cause: "with Docker as the runtime, port-forward runs wincat.exe in the pause container; pause images before " +
				"mcr.microsoft.com/oss/kubernetes/pause:1.4.1 lack it",
			Remedies: []string{
				"move the node to containerd, which forwards ports itself",
				"or give the kubelet `--pod-infra-container-image=mcr.microsoft.com/oss/kubernetes/pause:3.6`",
			},
			look: oldPause,
		},
		{
			ID:     "image-platform",
			Title:  "an image does not fit the node",
			Source: Source{"My pods show status as ErrImgPull or ImagePullBackOff", tips + "#troubleshooting-node"},
			Looks:  "states and events of pods on Windows nodes",
			Needs:  []Need{Pods, Events},
			Cause: "the image is for another operating system or another version of Windows than the node's: with process " +
				"isolation the builds have to go together",
			Remedies: []string{
				"place the pod on nodes that fit: nodeSelector `kubernetes.io/os` and `node.kubernetes.io/windows-build`, " +
					"or a RuntimeClass with both",
				"or push an image for each Windows version under one name (`docker manifest create`)",
			},
			look: imagePlatform,
		},
		{
			ID:     "node-behind-proxy",
			Title:  "a node does not reach the registry",
			Items:  []int{15},
			Source: Source{"My Kubernetes installation is failing because my Windows Server node is behind a proxy", tips + "#troubleshooting-network"},
			Looks:  "errors of pulled images of pods on Windows nodes, variables of the node",
			Needs:  []Need{Pods, Events},
			Cause: "the node's requests to the registry get no answer: usual for a machine behind an HTTP proxy whose " +
				"container runtime does not know of the proxy",
			Remedies: []string{
				`on the node: ` + "`[Environment]::SetEnvironmentVariable(\"HTTP_PROXY\", \"http://proxy.example.com:80/\", " +
					"[EnvironmentVariableTarget]::Machine)`, the same for HTTPS_PROXY and NO_PROXY, then restart containerd",
				"without a proxy: see whether the node resolves the registry's name and reaches its port 443",
			},
			look: behindProxy,
		},
	}
}

var (
	mismatches = lazyregexp.New(mismatch)
	sandboxes  = lazyregexp.New(sandbox)
	// pauseUnavailable is said by containerd when the pause image cannot be pulled.
	pauseUnavailable = lazyregexp.New(`(?i)failed to (get|pull) sandbox image|failed to (get|pull) image .*\bpause\b`)
)

func pauseImage(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		for _, s := range v.sayings(p) {
			fits := sandboxes.MatchString(s.by+s.text) && mismatches.MatchString(s.text)
			if !ready(p) && (fits || pauseUnavailable.MatchString(s.text)) {
				h.add("node "+p.Spec.NodeName, s.line(p))
				break
			}
		}
	}
	return h.findings()
}

func imagePlatform(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		for _, s := range v.sayings(p) {
			if !ready(p) && !sandboxes.MatchString(s.by+s.text) && mismatches.MatchString(s.text) {
				line := s.line(p)
				if n := v.node(p.Spec.NodeName); n != nil && n.Status.NodeInfo.KernelVersion != "" {
					line += fmt.Sprintf(" (the node is %s, %s)", n.Status.NodeInfo.OSImage, n.Status.NodeInfo.KernelVersion)
				}
				h.add(podowner.Of(p), line)
				break
			}
		}
	}

	return h.findings()
}

// oldPauses are the pause images without wincat.exe.
var oldPauses = lazyregexp.New(`mcr\.microsoft\.com/k8s/core/pause:1\.[01]\.0|kubeletwin/pause`)

func oldPause(v *view) []Finding {
	var h hits
	for _, n := range v.windows {
		if !strings.HasPrefix(n.Status.NodeInfo.ContainerRuntimeVersion, "docker://") {
			continue
		}

		for _, i := range n.Status.Images {
			for _, name := range i.Names {
				if oldPauses.MatchString(name) {
					h.add("node "+n.Name, fmt.Sprintf("its runtime is %s, and it has the image %s",
						n.Status.NodeInfo.ContainerRuntimeVersion, name))
				}
			}
		}
	}

	return h.findings()
}

// unreachable is what Go's resolver and dialer say, on Windows too, when nobody answers.
var (
	pulling     = lazyregexp.New(`(?i)\bpull|manifests/|failed to resolve reference|/v2/`)
	unreachable = lazyregexp.New(`(?i)i/o timeout|context deadline exceeded|connectex: |no such host|` +
		`TLS handshake timeout|Client\.Timeout exceeded|connection refused|network is unreachable`)
	unknownName = lazyregexp.New(`(?i)no such host|and \d+ more like it`)
)

func behindProxy(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		for _, s := range v.sayings(p) {
			if !ready(p) && pulling.MatchString(s.text) && unreachable.MatchString(s.text) {
				h.add("node "+p.Spec.NodeName, s.line(p))
				break
			}
		}
	}

	out := h.findings()
	for i := range out {
		if !slices.ContainsFunc(out[i].Evidence, func(line string) bool { return !unknownName.MatchString(line) }) {
			out[i].Cause = "the node does not find the registry's name: the image's name is wrong, or the node's name server knows " +
				"nothing outside, as behind an HTTP proxy, which finds the names itself"
		}
		f, asked := v.Facts[strings.TrimPrefix(out[i].Object, "node ")]
		if asked && f.Variables["HTTPS_PROXY"] == "" {
			out[i].Evidence = append(out[i].Evidence, "the machine's variable HTTPS_PROXY is not set")
		}
	}

	return out
}
