package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// columns returns the parts of a node, with the units that stand for each: the first of them that the node has counts.
// In units joined by "+", each has to work.
func columns() []struct {
	name  string
	units []string
} {
	return []struct {
		name  string
		units []string
	}{
		{"network", []string{"network"}},
		{"host", []string{"prefix+host", "host+services", "host"}},
		{"runtime", []string{"containerd+agent+pipes", "agent+pipes", "agent", "containerd"}},
		{"hns", nil}, // is asked by itself
		{"kubelet", []string{"kubelet"}},
		{"kube-proxy", []string{"kube-proxy"}},
	}
}

// nodes draws the nodes of the specification, then the further ones that the API knows, and finds what is wrong with
// them.
func (j *judge) nodes() {
	known := map[string]*corev1.Node{}
	for i := range j.Nodes {
		known[j.Nodes[i].Name] = &j.Nodes[i]
	}

	for _, n := range j.Spec.Nodes {
		j.node(Node{
			Name:    n.Name,
			OS:      n.OS,
			Version: version(n),
			Bare:    n.Bare,
		}, known[n.Name])
		delete(known, n.Name)
	}

	for _, n := range j.Nodes { // in the API's order
		if known[n.Name] != nil {
			j.node(Node{Name: n.Name}, known[n.Name])
		}
	}
}

func version(n spec.Node) string {
	if build, err := n.Build(); err == nil && !n.Linux() {
		return build.ProductName + " " + build.Version.String()
	}
	return ""
}

func (j *judge) node(n Node, known *corev1.Node) {
	ours := n.OS != ""
	n.Parts = map[string]Part{}
	for _, c := range columns() {
		if p, ok := j.column(n.Name, c.name, c.units); ok {
			p.Own = slices.Contains(j.Own[n.Name], c.name)
			n.Parts[c.name] = p
		}
	}

	if known != nil {
		info := known.Status.NodeInfo
		n.OS, n.Kubelet = info.OperatingSystem, info.KubeletVersion
		n.Version = strings.TrimSpace(info.OSImage + " " + info.KernelVersion)
		n.Address = internalAddress(known)
		n.Ready, n.Why = "Unknown", "it has no Ready condition yet"
		if c := condition(known, corev1.NodeReady); c != nil {
			n.Ready, n.Why = string(c.Status), ""
			if c.Status != corev1.ConditionTrue {
				n.Why = firstLine(c.Message)
			}
		}
	}

	for i := range j.Pods {
		if p := &j.Pods[i]; p.Spec.NodeName == n.Name && !done(p) {
			n.PodsAll++
			if ready(p) {
				n.PodsReady++
			}
		}
	}

	j.picture.Nodes = append(j.picture.Nodes, n)
	if j.APIError == "" && j.Supervisor != nil && j.Supervisor.Phase == supervisor.PhaseReady {
		j.findNode(n, known, ours)
	}
}

// column returns the part of a node that a column of the picture stands for.
func (j *judge) column(node, name string, units []string) (Part, bool) {
	if name == "hns" {
		h, ok := j.HNS[node]
		p := Part{
			ID:       hns(node),
			State:    component.Ready,
			OK:       h.Error == "",
			Why:      firstLine(h.Error),
			Restarts: h.Repairs,
		}

		if h.Repairs > 0 {
			p.Note = fmt.Sprintf("put right %d time(s), the last: %s", h.Repairs, strings.Join(h.Repaired, "; "))
		}

		switch {
		case j.off(node):
			p.State, p.OK = component.Stopped, false
		case h.Error != "":
			p.State = NotAnswering
		case len(h.Differences) > 0:
			p.State = Differs
		}

		return p, ok
	}

	for _, all := range units {
		var found *Part
		for unit := range strings.SplitSeq(all, "+") {
			p, ok := j.parts[component.OfNode(unit, node)]
			if !ok {
				found = nil
				break
			}
			if found == nil || found.OK {
				found = &p
			}
		}
		if found != nil {
			return *found, true
		}
	}

	return Part{}, false
}

func condition(n *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == kind {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

// findNode finds what the API says is wrong with a node. What follows from a part that does not work is a finding of
// that part.
func (j *judge) findNode(n Node, known *corev1.Node, ours bool) {
	object := "node " + n.Name
	j.findReadiness(object, n, known, ours)
	if known == nil {
		return
	}
	j.findConditions(object, known)
	j.findWaits(object, n.Name)
	if known.Spec.Unschedulable {
		j.find(Warning, object, "it takes no new pods: it is cordoned",
			fmt.Sprintf("run `mullion kubectl uncordon %s` if that is not intended", n.Name))
	}
}

// findWaits finds that a node cannot start programs as fast as it is to.
func (j *judge) findWaits(object, node string) {
	load := j.Load[node]
	if len(load.Pods) == 0 {
		return
	}

	starts, programs := 0, 0
	for _, p := range load.Pods {
		if p.StartWaits > 0 {
			starts++
		}
		programs += p.NotStarted
	}

	j.find(Warning, object, fmt.Sprintf("its processors do not carry what it is to start: the starts of %d pods wait, and "+
		"%d programs of probes and hooks were not started in their time (%d at a time, %s each)", starts, programs, load.Places,
		load.Typical.Round(time.Millisecond)),
		"run fewer pods, or probe them more seldom: their events WaitsForProcessor have the figures")
}

// findReadiness finds why a node whose parts work is not Ready.
func (j *judge) findReadiness(object string, n Node, known *corev1.Node, ours bool) {
	broken := slices.ContainsFunc(columns(), func(c struct {
		name  string
		units []string
	},
	) bool {
		p, ok := n.Parts[c.name]
		return ok && !p.OK
	})
	switch {
	case known == nil && n.Bare: // nobody has joined it yet
	case known == nil && !broken:
		j.find(Problem, object, "its parts work, but the API server has no such node",
			fmt.Sprintf("see `mullion logs kubelet/%s --tail 50`: the kubelet registers the node", n.Name))
	case known == nil || (broken && n.Ready != string(corev1.ConditionTrue)):
	case n.Ready == string(corev1.ConditionUnknown) && n.Bare:
		j.find(Problem, object, "it is a bare host whose parts work, but the API server has not heard from its kubelet for a while: "+n.Why,
			fmt.Sprintf("see whether the kubelet runs that you started there: `mullion node shell %s`", n.Name))

	case n.Ready == string(corev1.ConditionUnknown) && ours:
		j.find(Problem, object, "its parts work, but the API server has not heard from its kubelet for a while: "+n.Why,
			fmt.Sprintf(
				"either the node was cut off and is coming back, or its kubelet hangs: wait a minute, then see `mullion logs kubelet/%s --tail 50`", n.Name))
	case n.Ready == string(corev1.ConditionUnknown):
		j.find(Problem, object, "the API server has not heard from its kubelet for a while: "+n.Why,
			"check that its machine is up and reaches this one")

	case n.Ready == string(corev1.ConditionFalse):
		j.find(Problem, object, "it is not Ready: "+n.Why,
			fmt.Sprintf("see `mullion kubectl describe node %s`", n.Name))
	}
}

// findConditions finds the kinds of pressure that a node's kubelet reports.
func (j *judge) findConditions(object string, known *corev1.Node) {
	for _, c := range known.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}

		switch c.Type {
		case corev1.NodeDiskPressure:
			j.find(
				Problem, object, "its disk is nearly full (DiskPressure): the node takes no new pods, removes images that can be pulled again, and will soon evict pods: "+firstLine(c.Message),
				fmt.Sprintf(
					"free space on the machine's disk that holds %s; the kubelet takes the condition back a minute later", j.Data))
		case corev1.NodeMemoryPressure:
			j.find(Problem, object, "it is short of memory (MemoryPressure) and evicts pods: "+firstLine(c.Message),
				"delete pods that use much memory, or give them limits")

		case corev1.NodePIDPressure:
			j.find(Problem, object, "it has too many processes (PIDPressure): "+firstLine(c.Message),
				"delete pods that start many processes")
		case corev1.NodeNetworkUnavailable:
			j.find(Problem, object, "its network is not set up: "+firstLine(c.Message),
				fmt.Sprintf("see `mullion kubectl describe node %s`", known.Name))
		}
	}
}

// internalAddress returns the node's first internal address, as kubectl shows it, "" if it has none.
func internalAddress(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
