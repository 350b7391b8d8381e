package rules

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/check"
)

const (
	placementCategory = "placement"
	userGuide         = "https://kubernetes.io/docs/concepts/windows/user-guide/"
	wellKnownLabels   = "https://kubernetes.io/docs/reference/labels-annotations-taints/"
)

func guide(anchor string) check.Source {
	return check.Source{Title: "Guide for Running Windows Containers in Kubernetes", URL: userGuide + "#" + anchor}
}

func placement() []check.Rule {
	const hosts = "ensuring-os-specific-workloads-land-on-the-appropriate-container-host"
	return append(windowsBuilds(), []check.Rule{
		{
			ID:       "os-undecided",
			Severity: check.Warning,
			Category: placementCategory,
			Target:   check.OnPod,
			Source:   guide(hosts),
			Unplaced: true,
			Title:    "in a mixed cluster this pod may land on Linux or on Windows",
			Why:      "no os.name, node selector, node affinity or RuntimeClass says which nodes can run the pod, and the scheduler does not look at images",
			Remedy:   "set spec.os.name and spec.nodeSelector[kubernetes.io/os]",
			Fields: []string{
				"spec.os.name", "spec.nodeSelector", "spec.affinity.nodeAffinity", "spec.tolerations[*]",
				"spec.containers[*].image",
			},
			Func: undecided,
		},
		{
			ID:       "os-name-without-selector",
			Severity: check.Warning,
			Category: placementCategory,
			Target:   check.OnPod,
			Source:   guide("taints-and-tolerations"),
			Since:    23,
			Title:    "os.name does not place the pod",
			Why:      "the scheduler does not look at spec.os.name: without a node selector the pod can be bound to a Linux node, whose kubelet refuses it",
			Remedy:   "add spec.nodeSelector: {kubernetes.io/os: windows}",
			When: []check.Match{
				{Path: "spec.os.name", Op: check.In, Values: []string{"windows"}},
				{Path: "spec.affinity.nodeAffinity", Op: check.Absent},
				{Path: "spec.runtimeClassName", Op: check.Absent},
				{Path: "spec.nodeSelector[beta.kubernetes.io/os]", Op: check.Absent},
			},
			Match: []check.Match{{Path: "spec.nodeSelector[kubernetes.io/os]", Op: check.Absent}},
			Fix:   selectWindows,
		},
		{
			ID:       "os-disagrees",
			Severity: check.Error,
			Category: placementCategory,
			Target:   check.OnPod,
			Source:   guide(hosts),
			Systems:  []check.OS{check.Windows, check.Linux, check.Either},
			Title:    "parts of the pod name different operating systems",
			Why:      "no node can run the pod: a container runs only on its own system, and the kubelet refuses a pod whose os.name is another system",
			Remedy:   "make os.name, selectors, affinity and images agree",
			Fields: []string{
				"spec.os.name", "spec.nodeSelector", "spec.affinity.nodeAffinity",
				"spec.containers[*].image",
			},
			Func: disagreeing,
		},
		runtimeClass(), dockerHandler(),
		{
			ID:       "blanket-toleration",
			Severity: check.Warning,
			Category: placementCategory,
			Target:   check.OnPod,
			Source:   guide("taints-and-tolerations"),
			Unplaced: true,
			Title:    "this DaemonSet tolerates every taint",
			Why:      "it also tolerates the taint that keeps Linux pods off Windows nodes, so each Windows node gets a pod",
			Remedy:   "add a node selector for kubernetes.io/os",
			Fields:   []string{"spec.tolerations[*].key", "spec.tolerations[*].operator"},
			Func: func(p *check.Pod) []check.Hit {
				var out []check.Hit
				for _, t := range p.Values("spec.tolerations[*]") {
					if p.Object.Kind == "DaemonSet" && t.Node.Get("operator").Text() == "Exists" &&
						t.Node.Get("key").Text() == "" {
						out = append(out, t.At)
					}
				}
				return out
			},
		},
		betaLabel(),
		{
			ID:       "hyper-v-isolation",
			Severity: check.Error,
			Category: placementCategory,
			Target:   check.OnPod,
			Since:    21,
			Title:    "the annotation for Hyper-V isolation is gone",
			Why: "it belonged to an experiment with Docker; Kubernetes no longer runs Hyper-V isolated containers because of it " +
				"(Mullion's nodes do)",
			Remedy: "remove the annotation; containerd offers Hyper-V isolation through a RuntimeClass",
			Source: check.Source{
				Title: "Well-known labels, annotations and taints",
				URL:   wellKnownLabels + "#experimental-windows-kubernetes-io-isolation-type",
			},
			Match: []check.Match{present("metadata.annotations[experimental.windows.kubernetes.io/isolation-type]")},
			Fix:   check.Remove,
		},
	}...)
}

// undecided returns the place of the pod, with a note on what its image says.
func undecided(p *check.Pod) []check.Hit {
	at := p.At
	for _, e := range p.Evidence {
		if at.Note == "" && e.By == check.ByImage {
			at.Note = "its image is for " + string(e.OS)
		}
	}
	return []check.Hit{at}
}

// selectWindows adds the node selector.
func selectWindows(p *check.Pod, _ check.Hit) []check.Edit {
	sel := p.Spec().Get("nodeSelector")
	switch {
	case sel == nil:
		return []check.Edit{{
			Op:    check.InsertField,
			Pos:   p.Spec().Pos,
			Key:   "nodeSelector",
			Value: "{kubernetes.io/os: windows}",
		}}
	case len(sel.Fields) > 0:
		return []check.Edit{{Op: check.InsertField, Pos: sel.Pos, Key: "kubernetes.io/os", Value: "windows"}}
	}
	return nil
}

// disagreeing lists the evidence for another system than the first evidence's. A toleration only allows nodes, so it
// contradicts nothing. An image for Linux in a pod for Windows is a rule of its own.
func disagreeing(p *check.Pod) []check.Hit {
	var first check.Evidence
	var out []check.Hit
	for _, e := range p.Evidence {
		switch {
		case e.By == check.ByToleration, e.By == check.ByImage && e.OS != check.Windows:
		case first.By == "":
			first = e
		case e.OS != first.OS:
			e.At.Note = fmt.Sprintf("%s says %s, %s says %s", first.By, first.OS, e.By, e.OS)
			out = append(out, e.At)
		}
	}
	return out
}

func betaLabel() check.Rule {
	const label, terms = "beta.kubernetes.io/os",
		"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[*].matchExpressions[*].key"
	return check.Rule{
		ID:       "beta-os-label",
		Severity: check.Info,
		Category: placementCategory,
		Target:   check.OnPod,
		Systems:  []check.OS{check.Windows, check.Linux, check.Either},
		Title:    "the label beta.kubernetes.io/os is deprecated",
		Why:      "it has been deprecated since 1.14 and may go; kubernetes.io/os says the same",
		Remedy:   "select by kubernetes.io/os",
		Source: check.Source{
			Title: "Well-known labels, annotations and taints",
			URL:   wellKnownLabels + "#beta-kubernetes-io-os-deprecated",
		},
		Match: []check.Match{
			present("spec.nodeSelector[" + label + "]"),
			{Path: terms, Op: check.In, Values: []string{label}},
		},
		Fix: func(p *check.Pod, h check.Hit) []check.Edit {
			sel := p.Spec().Get("nodeSelector")
			if f := sel.Field(label); f != nil && f.Pos == h.Pos && sel.Field("kubernetes.io/os") == nil {
				return []check.Edit{{Op: check.RenameKey, Pos: h.Pos, Key: "kubernetes.io/os"}}
			}
			return nil
		},
	}
}

// runtimeClass is about a pod and the RuntimeClass that it names.
func runtimeClass() check.Rule {
	return check.Rule{
		ID:       "runtime-class-os",
		Severity: check.Error,
		Category: placementCategory,
		Target:   check.OnInput,
		Title:    "the pod and its RuntimeClass name different operating systems",
		Why:      "the API server adds the node selector of the class to the pod's, and refuses the pod if the two conflict",
		Remedy:   "name a class for the pod's system, or correct the selector",
		Source: check.Source{
			Title: "Runtime Class: scheduling",
			URL:   "https://kubernetes.io/docs/concepts/containers/runtime-class/#scheduling",
		},
		Fields: []string{"spec.runtimeClassName", "RuntimeClass:scheduling.nodeSelector"},
		Cross: func(in *check.Input) []check.CrossHit {
			var out []check.CrossHit
			for _, p := range in.Pods {
				for _, name := range p.Values("runtimeClassName") {
					class := in.Named("RuntimeClass", "", name.Node.Text())
					system := in.ClassOS(class)
					i := slices.IndexFunc(p.Evidence,
						func(e check.Evidence) bool { return e.By != check.ByToleration && e.OS != system })
					if class != nil && system != "" && i >= 0 {
						name.At.Note = fmt.Sprintf("the class %s says %s, %s says %s", class.Object.Name, system,
							p.Evidence[i].By, p.Evidence[i].OS)
						out = append(out, check.CrossHit{Fact: p, Hit: name.At})
					}
				}
			}

			return out
		},
	}
}

// dockerHandler is about the handler that the samples of the years of dockershim name.
// https://github.com/kubernetes/kubernetes/blob/v1.23.17/pkg/kubelet/dockershim/docker_sandbox.go (runtimeName)
func dockerHandler() check.Rule {
	return check.Rule{
		ID:       "runtime-class-docker",
		Severity: check.Warning,
		Category: placementCategory,
		Target:   check.OnObject,
		Since:    dockerGone,
		Title:    "containerd has no handler docker",
		Why:      "it was the name of the kubelet's built-in support for Docker; a node with containerd refuses the pods of this class unless its configuration has a handler of this name, as Mullion's nodes have",
		Remedy:   "write runhcs-wcow-process for Windows; a handler cannot be changed, so delete the class first",
		Source: check.Source{
			Title: "Runtime Class: CRI configuration",
			URL:   "https://kubernetes.io/docs/concepts/containers/runtime-class/#cri-configuration",
		},
		Fields: []string{"RuntimeClass:handler", "RuntimeClass:scheduling.nodeSelector"},
		Func: func(p *check.Pod) []check.Hit {
			if f := p.Node.Field("handler"); f != nil && p.Object.Kind == "RuntimeClass" && f.Value.Text() == "docker" {
				return []check.Hit{{Pos: f.Pos, Path: "handler"}}
			}
			return nil
		},
		Fix: func(p *check.Pod, _ check.Hit) []check.Edit {
			for _, label := range check.OSLabels() {
				if p.Node.Get("scheduling", "nodeSelector", label).Text() == string(check.Windows) {
					return []check.Edit{{
						Op:    check.SetValue,
						Pos:   p.Node.Get("handler").Pos,
						Value: "runhcs-wcow-process",
					}}
				}
			}

			return nil
		},
	}
}

// windowsBuilds returns the rules about node.kubernetes.io/windows-build.
func windowsBuilds() []check.Rule {
	const label = "spec.nodeSelector[" + check.WindowsBuildLabel + "]"
	source := guide("handling-multiple-windows-versions-in-the-same-cluster")
	return []check.Rule{
		{
			ID:       "windows-build-missing",
			Severity: check.Warning,
			Category: placementCategory,
			Target:   check.OnPod,
			Source:   source,
			Systems:  []check.OS{check.Windows},
			Title:    "the cluster has several Windows versions, and the pod selects none",
			Why:      "a process-isolated container runs only on a host whose build accepts the image's build, and the scheduler does not look at images",
			Remedy:   "add spec.nodeSelector[" + check.WindowsBuildLabel + "], for example \"10.0.20348\", or a RuntimeClass with it",
			Fields:   []string{label, "spec.runtimeClassName", "spec.affinity.nodeAffinity"},
			Func: func(p *check.Pod) []check.Hit {
				if !p.Options.Chosen || len(p.Options.Windows) < 2 ||
					len(p.Values("spec.runtimeClassName"))+len(p.Values(label)) > 0 || len(hostProcessAt(p)) > 0 {
					return nil
				}

				for _, key := range p.Values(
					"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[*].matchExpressions[*].key") {
					if key.Node.Text() == check.WindowsBuildLabel {
						return nil
					}
				}

				return []check.Hit{p.At}
			},
		},
		{
			ID:       "windows-build-unknown",
			Severity: check.Error,
			Category: placementCategory,
			Target:   check.OnPod,
			Source:   source,
			Fields:   []string{label},
			Title:    "no node has the Windows build that the pod selects",
			Why:      "the pod stays Pending",
			Remedy:   "select the build of one of the cluster's nodes: 10.0. and the build number",
			Func: func(p *check.Pod) []check.Hit {
				return hits(p.Values(label), func(v string) string {
					var builds []string
					for _, b := range p.Options.Windows {
						number := fmt.Sprintf("10.0.%d", b.Version.Build)
						if v == number {
							return ""
						}
						builds = append(builds, number)
					}

					return fmt.Sprintf("%q is none of %s", v, strings.Join(builds, ", "))
				})
			},
		},
	}
}
