package check

import (
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/check/manifest"
)

// OS is what the manifest says about the nodes that a pod may run on.
type OS string

// The answers.
const (
	Windows OS = "windows"
	Linux   OS = "linux"
	Either  OS = "either" // nothing keeps it off the one or the other
)

// Object names an object of the input.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Pod is a pod, or the template of one inside a workload.
type Pod struct {
	Object Object
	// Node has metadata and spec; At is its place and its path in the object.
	Node *manifest.Node
	At   Hit
	// OS is the decision, By the field that made it.
	OS OS
	By string
}

// Spec is the pod's specification.
func (p *Pod) Spec() *manifest.Node { return p.Node.Get("spec") }

// Container is one of a pod's containers, of whatever list.
type Container struct {
	Node *manifest.Node
	At   Hit
}

func containerLists() []string {
	return []string{"initContainers", "containers", "ephemeralContainers"}
}

// Containers lists init, plain and ephemeral containers.
func (p *Pod) Containers() []Container {
	var out []Container
	for _, list := range containerLists() {
		for i, n := range p.Spec().Get(list).Elements() {
			out = append(out, Container{Node: n, At: Hit{Pos: n.Pos, Path: join(p.At.Path, "spec."+list+"["+strconv.Itoa(i)+"]")}})
		}
	}
	return out
}

// templates says where the pod is in each workload kind of Kubernetes' own API groups.
var templates = map[string][]string{ //nolint:gochecknoglobals // never changes
	"/Pod": {}, "/PodTemplate": {"template"}, "/ReplicationController": {"spec", "template"},
	"apps/Deployment": {"spec", "template"}, "apps/StatefulSet": {"spec", "template"}, "apps/DaemonSet": {"spec", "template"},
	"apps/ReplicaSet": {"spec", "template"}, "extensions/Deployment": {"spec", "template"}, "extensions/DaemonSet": {"spec", "template"},
	"extensions/ReplicaSet": {"spec", "template"}, "batch/Job": {"spec", "template"}, "batch/CronJob": {"spec", "jobTemplate", "spec", "template"},
}

// podOf finds the pod in an object; nil if its kind has none.
func podOf(n *manifest.Node, obj Object) *Pod {
	path, ok := templates[group(n.Get("apiVersion").Text())+"/"+obj.Kind]
	if !ok {
		return nil
	}
	p := &Pod{Object: obj, Node: n, At: Hit{Pos: n.Pos, Path: strings.Join(path, ".")}}
	for _, key := range path {
		f := p.Node.Field(key)
		if f == nil {
			return nil
		}
		p.Node, p.At.Pos = f.Value, f.Pos
	}
	p.OS, p.By = decide(p.Spec())
	return p
}

// group is the API group of an apiVersion, "" for the core group.
func group(apiVersion string) string {
	g, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return g
}

// osLabels are the node labels that say the operating system; the second is deprecated, and nodes still have it.
func osLabels() []string { return []string{"kubernetes.io/os", "beta.kubernetes.io/os"} }

// decide says what nodes a pod may run on: spec.os.name, then the node selector, then required node affinity. The
// first that says it wins. https://kubernetes.io/docs/concepts/windows/user-guide/
func decide(spec *manifest.Node) (system OS, by string) {
	if name := OS(spec.Get("os", "name").Text()); name == Windows || name == Linux {
		return name, "spec.os.name"
	}
	for _, label := range osLabels() {
		if v := OS(spec.Get("nodeSelector", label).Text()); v == Windows || v == Linux {
			return v, "spec.nodeSelector"
		}
	}
	terms := spec.Get("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Elements()
	for i, term := range terms { // one of the terms has to hold, so all have to agree
		got := termOS(term)
		if i > 0 && got != system || got == Either {
			return Either, ""
		}
		system = got
	}
	if system == "" {
		return Either, ""
	}
	return system, "node affinity"
}

// termOS is the system that a node selector term asks for.
func termOS(term *manifest.Node) OS {
	for _, e := range term.Get("matchExpressions").Elements() {
		key, op, values := e.Get("key").Text(), e.Get("operator").Text(), e.Get("values").Elements()
		if (key != osLabels()[0] && key != osLabels()[1]) || len(values) != 1 {
			continue
		}
		v := OS(values[0].Text())
		switch {
		case op == "In" && (v == Windows || v == Linux):
			return v
		case op == "NotIn" && v == Windows:
			return Linux
		case op == "NotIn" && v == Linux:
			return Windows
		}
	}
	return Either
}
