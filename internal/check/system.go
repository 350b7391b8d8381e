package check

import (
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/check/manifest"
)

// By is a kind of evidence for the system that a pod is for.
type By string

// The evidence, in the order in which it counts. The first four decide where the pod may be placed. The last three only
// show what the pod is meant for, so they can decide for Windows only: a pod that looks like one for Linux may still
// land on a Windows node, and is judged as undecided.
const (
	ByOSName       By = "spec.os.name"
	ByNodeSelector By = "spec.nodeSelector"
	ByNodeAffinity By = "node affinity"
	ByRuntimeClass By = "RuntimeClass"
	ByHostProcess  By = "windowsOptions.hostProcess"
	ByToleration   By = "toleration"
	ByImage        By = "image"
)

// Places reports whether the evidence keeps the pod off nodes of the other system. (spec.os.name does not by itself,
// but the kubelet of the other system refuses the pod.)
func (b By) Places() bool {
	return b == ByOSName || b == ByNodeSelector || b == ByNodeAffinity || b == ByRuntimeClass
}

// Evidence is one thing that says the system.
type Evidence struct {
	OS OS
	By By
	At Hit
}

// decide returns the decision by the first evidence that counts.
// https://kubernetes.io/docs/concepts/windows/user-guide/
func decide(es []Evidence) (OS, By) {
	for _, e := range es {
		if e.By.Places() || e.OS == Windows {
			return e.OS, e.By
		}
	}
	return Either, ""
}

// OSLabels returns the node labels for the operating system; the second is deprecated, but nodes still have it.
func OSLabels() []string { return []string{"kubernetes.io/os", "beta.kubernetes.io/os"} }

// system reads a value that names a system.
func system(n *manifest.Node) (OS, bool) {
	v := OS(n.Text())
	return v, v == Windows || v == Linux
}

// evidence lists what a pod says about its system. The RuntimeClass is another object; Checker adds its evidence.
func evidence(p *Pod) []Evidence {
	var es []Evidence
	for _, v := range p.Values("spec.os.name") {
		if s, ok := system(v.Node); ok {
			es = append(es, Evidence{s, ByOSName, v.At})
		}
	}

	for _, v := range p.Values("spec.nodeSelector") {
		if s, at, ok := selected(v); ok {
			es = append(es, Evidence{s, ByNodeSelector, at})
		}
	}

	if s, at, ok := affinity(p); ok {
		es = append(es, Evidence{s, ByNodeAffinity, at})
	}
	for _, v := range hostProcess(p) {
		es = append(es, Evidence{Windows, ByHostProcess, v.At})
	}

	for _, v := range p.Values("spec.tolerations[*]") {
		if s, ok := tolerated(v.Node); ok {
			es = append(es, Evidence{s, ByToleration, v.At})
		}
	}

	for _, c := range p.Containers() {
		for _, v := range c.Values("image") {
			if s := p.Image(v.Node.Text()).OS; s == Windows || s == Linux {
				es = append(es, Evidence{s, ByImage, v.At})
			}
		}
	}

	return es
}

// hostProcess returns the fields that make a pod or a container of it a HostProcess one, which Linux does not have.
func hostProcess(p *Pod) []Value {
	const field = "securityContext.windowsOptions.hostProcess"
	all := p.Values("spec." + field)
	for _, c := range p.Containers() {
		all = append(all, c.Values(field)...)
	}
	return slices.DeleteFunc(all, func(v Value) bool { return v.Node.Text() != "true" })
}

// selected returns the system that a node selector asks for.
func selected(v Value) (OS, Hit, bool) {
	for _, label := range OSLabels() {
		if f := v.Node.Field(label); f != nil {
			if s, ok := system(f.Value); ok {
				return s, Hit{Pos: f.Pos, Path: v.At.Path + "[" + label + "]"}, true
			}
		}
	}
	return "", Hit{}, false
}

// affinity returns the system that required node affinity asks for. Only one of its terms has to hold, so all of them
// must name the same system.
func affinity(p *Pod) (system OS, at Hit, ok bool) {
	const terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	for i, term := range p.Values(terms + "[*]") {
		got := termOS(term.Node)
		if i == 0 {
			at = term.At
		} else if got != system {
			return "", Hit{}, false
		}
		system = got
	}
	return system, at, system == Windows || system == Linux
}

// termOS returns the system that a node selector term asks for.
func termOS(term *manifest.Node) OS {
	for _, e := range term.Get("matchExpressions").Elements() {
		key := e.Get("key").Text()
		op := e.Get("operator").Text()
		values := e.Get("values").Elements()
		if (key != OSLabels()[0] && key != OSLabels()[1]) || len(values) != 1 {
			continue
		}

		v, ok := system(values[0])
		switch {
		case ok && op == "In":
			return v
		case op == "NotIn" && v == Windows:
			return Linux
		case op == "NotIn" && v == Linux:
			return Windows
		}
	}

	return Either
}

// osTaints returns the keys of the taints by which clusters keep pods off their Windows nodes: the first is that of
// Kubernetes' guide, the second that of Google's and Microsoft's services.
func osTaints() []string {
	return []string{"os", "node.kubernetes.io/os", "kubernetes.io/os", "beta.kubernetes.io/os"}
}

// WindowsTaints returns the keys of taints that Windows nodes have in practice: that of Kubernetes' guide, and that of
// Google's services. https://kubernetes.io/docs/concepts/windows/user-guide/#taints-and-tolerations
func WindowsTaints() []string { return osTaints()[:2] }

// tolerated returns the system whose taint a toleration names.
func tolerated(t *manifest.Node) (OS, bool) {
	for _, key := range osTaints() {
		if t.Get("key").Text() == key && t.Get("operator").Text() != "Exists" {
			v := OS(strings.ToLower(t.Get("value").Text()))
			return v, v == Windows || v == Linux
		}
	}
	return "", false
}

// Build returns the Windows build number that a pod's node selector asks for, 0 if none: "10.0.20348" gives 20348.
func (p *Pod) Build() uint32 {
	v := p.Spec().Get("nodeSelector", WindowsBuildLabel).Text()
	n, err := strconv.ParseUint(strings.TrimPrefix(v, "10.0."), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// WindowsBuildLabel is the node label with the Windows version: 10.0.20348.
// https://kubernetes.io/docs/reference/labels-annotations-taints/#nodekubernetesiowindows-build
const WindowsBuildLabel = "node.kubernetes.io/windows-build"
