package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/podowner"
)

// osLabel is the label of nodes with their operating system.
const osLabel = corev1.LabelOSStable

// view is a picture with what several probes ask of it.
type view struct {
	*Picture
	// windows are the chosen Windows nodes, in the API's order.
	windows []*corev1.Node
	// pods are those on these nodes that have not ended, and those for Windows that have no node yet.
	pods []*corev1.Pod
	// about are the events of each object: "Pod/namespace/name", with the object's UID.
	about map[string][]*corev1.Event
}

func newView(p *Picture) *view {
	v := &view{Picture: p, about: map[string][]*corev1.Event{}}
	on := map[string]bool{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if p.Looked(n.Name) {
			v.windows = append(v.windows, n)
			on[n.Name] = true
		}
	}

	for i := range p.Pods {
		pod := &p.Pods[i]
		waits := pod.Spec.NodeName == "" && forWindows(pod) && pod.DeletionTimestamp == nil && len(p.Chosen) == 0
		if pod.Status.Phase != corev1.PodSucceeded && (on[pod.Spec.NodeName] || waits) {
			v.pods = append(v.pods, pod)
		}
	}

	for i := range p.Events {
		e := &p.Events[i]
		key := objectKey(e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name)
		v.about[key] = append(v.about[key], e)
	}

	return v
}

func objectKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// IsWindows reports whether a node is a Windows node.
func IsWindows(n *corev1.Node) bool {
	return cmp.Or(n.Status.NodeInfo.OperatingSystem, n.Labels[osLabel]) == string(corev1.Windows)
}

// forWindows reports whether a pod says that it is for Windows.
func forWindows(p *corev1.Pod) bool {
	return (p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows) ||
		p.Spec.NodeSelector[osLabel] == string(corev1.Windows)
}

// node returns the node of that name, nil if there is none.
func (p *Picture) node(name string) *corev1.Node {
	for i := range p.Nodes {
		if p.Nodes[i].Name == name {
			return &p.Nodes[i]
		}
	}
	return nil
}

// readiness returns a node's condition Ready, nil if it has none.
func readiness(n *corev1.Node) *corev1.NodeCondition {
	ofReady := func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }
	i := slices.IndexFunc(n.Status.Conditions, ofReady)
	if i < 0 {
		return nil
	}
	return &n.Status.Conditions[i]
}

// ready reports whether a pod is Ready.
func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// containers returns a pod's containers, those that prepare it first.
func containers(p *corev1.Pod) []corev1.Container {
	return slices.Concat(p.Spec.InitContainers, p.Spec.Containers)
}

// saying is something that was said of a pod: by an event, or in its status.
type saying struct{ by, text string }

// line returns the saying as evidence.
func (s saying) line(p *corev1.Pod) string {
	where := ""
	if p.Spec.NodeName != "" {
		where = " on " + p.Spec.NodeName
	}
	return fmt.Sprintf("pod %s/%s%s: %s: %s", p.Namespace, p.Name, where, s.by, shorten(s.text))
}

// sayings returns what the pod's status and its events say.
func (v *view) sayings(p *corev1.Pod) []saying {
	var out []saying
	if p.Status.Message != "" {
		out = append(out, saying{cmp.Or(p.Status.Reason, "status"), p.Status.Message})
	}
	for _, c := range p.Status.Conditions {
		if c.Status != corev1.ConditionTrue && c.Type == corev1.PodScheduled {
			out = append(out, saying{c.Reason, c.Message})
		}
	}

	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil && w.Message != "" {
			out = append(out, saying{fmt.Sprintf("container %s, %s", s.Name, w.Reason), w.Message})
		}
		for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
			if t != nil && t.Message != "" {
				out = append(out, saying{fmt.Sprintf("container %s, %s", s.Name, t.Reason), t.Message})
			}
		}
	}

	for _, e := range v.about[objectKey("Pod", p.Namespace, p.Name)] {
		if e.InvolvedObject.UID == "" || p.UID == "" || e.InvolvedObject.UID == p.UID {
			out = append(out, saying{"event " + e.Reason + times(e), e.Message})
		}
	}

	return out
}

// times says how often an event was, if more than once.
func times(e *corev1.Event) string {
	n := e.Count
	if e.Series != nil {
		n = e.Series.Count
	}
	if n > 1 {
		return fmt.Sprintf(" (%d times)", n)
	}
	return ""
}

// hits gathers evidence by the object that has the trouble.
type hits struct {
	lines map[string][]string
	order []string
}

// most is how many lines of evidence a finding has.
const most = 3

func (h *hits) add(object, line string) {
	if h.lines == nil {
		h.lines = map[string][]string{}
	}
	if _, known := h.lines[object]; !known {
		h.order = append(h.order, object)
	}
	if !slices.Contains(h.lines[object], line) {
		h.lines[object] = append(h.lines[object], line)
	}
}

// findings returns the hits, one for each object.
func (h *hits) findings() []Finding {
	var out []Finding
	for _, object := range h.order {
		lines := h.lines[object]
		if more := len(lines) - most; more > 0 {
			lines = append(lines[:most:most], fmt.Sprintf("and %d more like it", more))
		}
		out = append(out, Finding{Object: object, Evidence: lines})
	}
	return out
}

// pattern is an expression of package regexp or lazyregexp.
type pattern interface{ MatchString(text string) bool }

// said finds pods that are not Ready and of which something is said that the text matches, and unless does not.
func said(text, unless string) func(*view) []Finding {
	is := regexp.MustCompile(text)
	var isNot pattern
	if unless != "" {
		isNot = regexp.MustCompile(unless)
	}

	return func(v *view) []Finding {
		var h hits
		for _, p := range v.pods {
			if s, ok := v.saysOf(p, is, isNot); ok {
				h.add(podowner.Of(p), s.line(p))
			}
		}
		return h.findings()
	}
}

// saysOf returns the first saying of a pod that is not Ready that matches is, and not isNot if there is one.
func (v *view) saysOf(p *corev1.Pod, is, isNot pattern) (saying, bool) {
	if ready(p) {
		return saying{}, false
	}
	for _, s := range v.sayings(p) {
		if is.MatchString(s.text) && (isNot == nil || !isNot.MatchString(s.text)) {
			return s, true
		}
	}
	return saying{}, false
}

// logged finds the last line of each network pod's log that says matches.
func logged(v *view, says pattern) []Finding {
	var h hits
	for _, l := range v.Logs {
		lines := slices.Collect(strings.Lines(l.Text))
		for _, line := range slices.Backward(lines) {
			if says.MatchString(line) {
				h.add("node "+l.Node, fmt.Sprintf("log of pod %s, container %s: %s", l.Pod, l.Container,
					shorten(strings.TrimSpace(line))))
				break
			}
		}
	}
	return h.findings()
}

// longest is how much of a message is shown, in bytes.
const longest = 300

// shorten keeps the begin and the end of a message that is long: its cause is often at its end.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest/2], "") + " … " + strings.ToValidUTF8(s[len(s)-longest/2:], "")
}

// ago says how long ago a time was.
func (v *view) ago(t metav1.Time) string {
	if t.IsZero() {
		return "never"
	}
	return v.At.Sub(t.Time).Round(time.Second).String() + " ago"
}

// keys returns a map's keys in order.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Looked reports whether a node of that name is a Windows node that is looked at.
func (p *Picture) Looked(name string) bool {
	n := p.node(name)
	return n != nil && IsWindows(n) && (len(p.Chosen) == 0 || slices.Contains(p.Chosen, name))
}
