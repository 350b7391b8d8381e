package check

import (
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/check/manifest"
)

// OS says on which nodes a pod may run, according to its manifest.
type OS string

// The answers.
const (
	Windows OS = "windows"
	Linux   OS = "linux"
	Either  OS = "either" // nothing keeps the pod off either system
)

// Object names an object of the input.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Ignored are the rules that the object's annotations take off it.
	Ignored *Ignored `json:"-"`
}

// Pod is a pod, or the template of one inside a workload.
type Pod struct {
	Object Object
	// Owner is the whole object: the workload, or the pod itself.
	Owner *manifest.Node
	// Node has metadata and spec; At is its place and its path in the object.
	Node *manifest.Node
	At   Hit
	// OS is the decision, By the evidence that made it.
	OS OS
	By By
	// Evidence is everything that the pod says about its system, the strongest first.
	Evidence []Evidence
	// Options are those of the run.
	Options *Options

	images map[string][]Platform // the looked-up platforms, by the text of the image field

	containers []Container // what Containers returned
	listed     bool
	more       bool // than mostContainers
}

// mostContainers is how many containers of a pod are judged. An object with more is larger than what the API server
// takes.
const mostContainers = 2000

// Spec returns the pod's specification.
func (p *Pod) Spec() *manifest.Node { return p.Node.Get("spec") }

// Values returns every value at a path that begins at the pod: spec.volumes[*].name.
func (p *Pod) Values(path string) []Value { return values(p.Node, p.At, path) }

// Container is one of a pod's containers, of whatever list.
type Container struct {
	Node *manifest.Node
	At   Hit
}

// Values returns every value at a path that begins at the container: env[*].name.
func (c Container) Values(path string) []Value { return values(c.Node, c.At, path) }

func containerLists() []string {
	return []string{"initContainers", "containers", "ephemeralContainers"}
}

// Containers lists init, plain and ephemeral containers. One that stands there several times, by aliases of YAML, is
// listed once: a few bytes make hundreds of thousands of those.
func (p *Pod) Containers() []Container {
	if p.listed {
		return p.containers
	}

	var out []Container
	seen := map[*manifest.Node]bool{}
	for _, list := range containerLists() {
		for i, n := range p.Spec().Get(list).Elements() {
			if seen[n] {
				continue
			}
			if len(out) == mostContainers {
				p.more = true
				break
			}

			seen[n] = true
			out = append(out, Container{
				Node: n,
				At:   Hit{Pos: n.Pos, Path: join(p.At.Path, "spec."+list+"["+strconv.Itoa(i)+"]")},
			})
		}
	}

	p.containers, p.listed = out, true
	return out
}

// HostProcess reports whether a container runs as a process of the host, by its own setting or the pod's.
func (p *Pod) HostProcess(c Container) bool {
	if own := c.Node.Get("securityContext", "windowsOptions", "hostProcess"); own.Set() {
		return own.True()
	}
	return p.Spec().Get("securityContext", "windowsOptions", "hostProcess").True()
}

// templates maps each workload kind of Kubernetes' own API groups to the path of its pod.
var templates = map[string][]string{ //nolint:gochecknoglobals // never changes
	"/Pod": {}, "/PodTemplate": {"template"}, "/ReplicationController": {"spec", "template"},
	"apps/Deployment": {"spec", "template"}, "apps/StatefulSet": {"spec", "template"},
	"apps/DaemonSet":  {"spec", "template"},
	"apps/ReplicaSet": {"spec", "template"}, "extensions/Deployment": {"spec", "template"},
	"extensions/DaemonSet":  {"spec", "template"},
	"extensions/ReplicaSet": {"spec", "template"}, "batch/Job": {"spec", "template"},
	"batch/CronJob": {"spec", "jobTemplate", "spec", "template"},
}

// podOf finds the pod in an object; nil if its kind has none.
func podOf(n *manifest.Node, obj Object) *Pod {
	path, ok := templates[group(n.Get("apiVersion").Text())+"/"+obj.Kind]
	if !ok {
		return nil
	}

	p := &Pod{
		Object: obj,
		Owner:  n,
		Node:   n,
		At:     Hit{Pos: n.Pos, Path: strings.Join(path, ".")},
	}

	for _, key := range path {
		f := p.Node.Field(key)
		if f == nil {
			return nil
		}
		p.Node, p.At.Pos = f.Value, f.Pos
	}

	p.Evidence = evidence(p)
	p.OS, p.By = decide(p.Evidence)
	return p
}

// group returns the API group of an apiVersion, "" for the core group.
func group(apiVersion string) string {
	g, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return g
}
