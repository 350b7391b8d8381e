package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/base/podowner"
)

func placementProbes() []Probe {
	return []Probe{
		{
			ID:     "pod-not-placed",
			Title:  "a pod for Windows finds no node",
			Source: Source{"Ensuring OS-specific workloads land on the appropriate container host", guide + "#ensuring-os-specific-workloads-land-on-the-appropriate-container-host"},
			Looks:  "pods for Windows that the scheduler could not place",
			Needs:  []Need{Pods},
			Cause:  "no Windows node fits: its labels, its taints or its room",
			Remedies: []string{
				"`kubectl get nodes -L kubernetes.io/os,node.kubernetes.io/windows-build` and `kubectl describe node NODE` have " +
					"labels, taints and room",
			},
			look: notPlaced,
		},
		{
			ID:     "pod-wrong-system",
			Title:  "a pod was placed on a node of the other system",
			Source: Source{"Ensuring OS-specific workloads land on the appropriate container host", guide + "#ensuring-os-specific-workloads-land-on-the-appropriate-container-host"},
			Looks:  "pods that a kubelet refused, and pods without a system that do not start on Windows nodes",
			Needs:  []Need{Pods},
			Cause: "the scheduler does not look at spec.os: only nodeSelector, affinity and taints keep a pod off nodes of the " +
				"other system",
			Remedies: []string{
				"give the pod nodeSelector `kubernetes.io/os: windows` (or linux), beside spec.os.name",
				"keep pods that say nothing off Windows nodes: `kubectl taint node NODE os=windows:NoSchedule`",
			},
			look: wrongSystem,
		},
		{
			ID:     "daemonset-not-for-windows",
			Title:  "a DaemonSet for Linux has pods on Windows nodes",
			Source: Source{"Handling OS differences with taints and node selectors", guide + "#ensuring-os-specific-workloads-land-on-the-appropriate-container-host"},
			Looks:  "DaemonSets' pods on Windows nodes",
			Needs:  []Need{Pods},
			Cause: "a DaemonSet without nodeSelector `kubernetes.io/os` has a pod on every node, and one that tolerates all taints " +
				"also on Windows nodes with the taint os=windows",
			Remedies: []string{
				"`kubectl patch daemonset NAME -n NAMESPACE --type merge -p " +
					`'{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}'` + "`",
			},
			look: linuxDaemonSets,
		},
		{
			ID:     "runtime-class",
			Title:  "a node does not have the runtime of a RuntimeClass",
			Source: Source{"RuntimeClass", "https://kubernetes.io/docs/concepts/containers/runtime-class/"},
			Looks:  "events of pods on Windows nodes",
			Needs:  []Need{Pods, Events},
			Cause: "the RuntimeClass's handler is not in the configuration of the node's container runtime " +
				"(for Hyper-V isolation: runhcs-wcow-hypervisor)",
			Remedies: []string{
				"`kubectl get runtimeclass` has the handlers; the usual one of Windows nodes is runhcs-wcow-process",
				"add the handler to containerd's config.toml on the node and restart containerd",
			},
			look: said(`(?i)no runtime for |RuntimeHandler .* not supported|runtime handler .*not (found|configured)`, ""),
		},
	}
}

// windowsBuild is the label with a node's build of Windows.
const windowsBuild = corev1.LabelWindowsBuild

func notPlaced(v *view) []Finding {
	var out []Finding
	var h hits
	cause := map[string][2]string{}
	for _, p := range v.pods {
		i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
		})
		if i < 0 || p.Spec.NodeName != "" {
			continue
		}
		h.add(podowner.Of(p), saying{p.Status.Conditions[i].Reason, p.Status.Conditions[i].Message}.line(p))
		cause[podowner.Of(p)] = v.whyNotPlaced(p)
	}

	for _, f := range h.findings() {
		if why := cause[f.Object]; why[0] != "" {
			f.Cause, f.Remedies = why[0], []string{why[1]}
		}
		out = append(out, f)
	}

	return out
}

// whyNotPlaced returns the cause and the remedy for a pod for which no Windows node fits, empty if it is none of these.
func (v *view) whyNotPlaced(p *corev1.Pod) [2]string {
	if len(v.windows) == 0 {
		return [2]string{"the cluster has no Windows node", "add one"}
	}

	fits := func(is func(*corev1.Node) bool) bool { return slices.ContainsFunc(v.windows, is) }
	if want := p.Spec.NodeSelector[windowsBuild]; want != "" &&
		!fits(func(n *corev1.Node) bool { return n.Labels[windowsBuild] == want }) {
		var have []string
		for _, n := range v.windows {
			have = append(have, n.Name+" "+cmp.Or(n.Labels[windowsBuild], "(no label)"))
		}
		return [2]string{
			fmt.Sprintf("it wants Windows build %s, and no node has it: %s", want, strings.Join(have, ", ")),
			"build the image for a build that is there and name that, or add a node of build " + want,
		}
	}

	for _, key := range keys(p.Spec.NodeSelector) {
		want := p.Spec.NodeSelector[key]
		if !fits(func(n *corev1.Node) bool { return n.Labels[key] == want }) {
			return [2]string{
				fmt.Sprintf("it wants the label %s=%s, which no Windows node has", key, want),
				fmt.Sprintf("take the label out of the pod's nodeSelector, or `kubectl label node NODE %s=%s`", key, want),
			}
		}
	}

	if t := untolerated(p, v.windows); t != nil {
		return [2]string{
			fmt.Sprintf("every Windows node has a taint that it does not tolerate, such as %s", t.ToString()),
			fmt.Sprintf("give the pod the toleration {key: %q, value: %q, effect: %q}", t.Key, t.Value, t.Effect),
		}
	}
	if !fits(func(n *corev1.Node) bool { return !n.Spec.Unschedulable }) {
		return [2]string{"every Windows node is cordoned", "`kubectl uncordon NODE`"}
	}

	return [2]string{}
}

// untolerated returns a taint of the nodes that keeps a pod off all of them, nil if a node has none that does.
func untolerated(p *corev1.Pod, nodes []*corev1.Node) *corev1.Taint {
	var first *corev1.Taint
	for _, n := range nodes {
		found := false
		for i := range n.Spec.Taints {
			t := &n.Spec.Taints[i]
			if t.Key == corev1.TaintNodeUnschedulable || t.Effect == corev1.TaintEffectPreferNoSchedule ||
				tolerates(p, t) {
				continue
			}
			found = true
			if first == nil {
				first = t
			}

			break
		}
		if !found {
			return nil
		}
	}

	return first
}

// tolerates reports whether a pod tolerates a taint. Comparing by order (Gt, Lt) counts as tolerating.
func tolerates(p *corev1.Pod, t *corev1.Taint) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(o corev1.Toleration) bool {
		switch {
		case o.Effect != "" && o.Effect != t.Effect, o.Key != "" && o.Key != t.Key:
			return false
		case o.Operator == "" || o.Operator == corev1.TolerationOpEqual:
			return o.Key == t.Key && o.Value == t.Value
		}
		return true
	})
}

// refusal is the reason of a kubelet of the other system.
const refusal = "PodOSNotSupported"

// otherSystem is what is said on a Windows node of a pod that is for Linux.
var otherSystem = lazyregexp.New(`(?i)` + mismatch + `|cannot find the (file|path) specified|exec format|` +
	`not a valid Win32 application|not supported (on|by) windows|is not supported on Windows`)

func wrongSystem(v *view) []Finding {
	var h hits
	for i := range v.Pods {
		p := &v.Pods[i]
		n := v.node(p.Spec.NodeName)
		if n == nil || p.Status.Phase == corev1.PodSucceeded || ofDaemonSet(p) {
			continue
		}

		chosen := slices.Contains(v.windows, n)
		switch {
		case p.Status.Reason == refusal && (chosen || len(v.Chosen) == 0):
			h.add(podowner.Of(p), saying{p.Status.Reason, p.Status.Message}.line(p))
		case chosen && !placed(&p.Spec):
			if s, ok := v.saysOf(p, otherSystem, nil); ok {
				h.add(podowner.Of(p), "it says nothing of its system; "+s.line(p))
			}
		}
	}

	return h.findings()
}

// placed reports whether a pod's specification says which system it is for.
func placed(s *corev1.PodSpec) bool { return s.OS != nil || selects(s) }

// selects reports whether a pod's specification selects nodes by their system.
func selects(s *corev1.PodSpec) bool {
	if s.NodeSelector[osLabel] != "" {
		return true
	}
	a := s.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}

	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if slices.ContainsFunc(term.MatchExpressions,
			func(r corev1.NodeSelectorRequirement) bool { return r.Key == osLabel }) {
			return true
		}
	}

	return false
}

func ofDaemonSet(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == "DaemonSet" })
}

func linuxDaemonSets(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		if !ofDaemonSet(p) || ready(p) || p.Spec.NodeName == "" || forWindows(p) || selects(&p.Spec) {
			continue
		}
		state := "it is not Ready"
		if said := v.sayings(p); len(said) > 0 {
			state = fmt.Sprintf("%s: %s", said[0].by, shorten(said[0].text))
		}
		h.add(podowner.Of(p), fmt.Sprintf("pod %s/%s on %s: %s", p.Namespace, p.Name, p.Spec.NodeName, state))
	}
	return h.findings()
}
