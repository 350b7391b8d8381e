package check

import (
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/check/manifest"
)

// Bounds of the pods that are looked for in one object of a kind that is not known.
const (
	mostCustomPods  = 200
	deepestOfCustom = 50
)

// podFields returns the fields of a pod's specification that custom resources have beside or above a container.
func podFields() []string {
	return []string{
		"os", "nodeSelector", "affinity", "tolerations", "hostNetwork", "hostPID", "hostIPC", "securityContext",
		"runtimeClassName", "volumes", "dnsPolicy", "dnsConfig", "terminationGracePeriodSeconds", "serviceAccountName",
	}
}

// customPods finds what makes pods in an object of a kind that is not Kubernetes' own, by its form:
//
//   - a list of containers: GameServer, Knative's Service, KEDA's ScaledJob, Argo's Rollout, JobSet;
//   - one container, or a list of steps, below what says where its pod runs: Argo's Workflow, Tekton's TaskRun;
//   - a node selector beside what a pod or a container has: OpenTelemetryCollector.
//
// Only those count that say that they are for Windows, as nobody knows what else an object of such a form means.
func customPods(n *manifest.Node, obj Object) []*Pod {
	g := group(n.Get("apiVersion").Text())
	if !strings.Contains(g, ".") || strings.HasSuffix(g, ".k8s.io") {
		return nil // Kubernetes' own, whose pods are known
	}
	w := customWalk{
		object: obj,
		owner:  n,
		seen:   map[*manifest.Node]bool{},
	}
	w.walk(n, nil)
	return w.pods
}

// customWalk looks for pods in an object.
type customWalk struct {
	object Object
	owner  *manifest.Node
	seen   map[*manifest.Node]bool // aliases of YAML make one value many
	pods   []*Pod
}

// walk looks into a value; above are the maps that it is in, the innermost first.
func (w *customWalk) walk(n *manifest.Node, above []*manifest.Node) {
	if n == nil || n.Kind < manifest.List || w.seen[n] {
		return
	}
	if len(above) > deepestOfCustom || len(w.pods) >= mostCustomPods {
		return
	}

	w.seen[n] = true
	for _, item := range n.Items {
		w.walk(item, above)
	}

	if n.Kind != manifest.Map {
		return
	}
	if spec, whole := podIn(n, above); spec != nil {
		w.add(spec)
		if whole {
			return
		}
	}

	inner := append([]*manifest.Node{n}, above...)
	for _, f := range n.Fields {
		w.walk(f.Value, inner)
	}
}

// podIn makes the specification of a pod of a map, nil if it makes none. whole says that there is no other below it.
func podIn(n *manifest.Node, above []*manifest.Node) (spec *manifest.Node, whole bool) {
	if isContainers(n.Get("containers")) {
		return n, true
	}
	var containers []*manifest.Node
	for _, key := range []string{"container", "script"} {
		if c := n.Get(key); c.Get("image").Text() != "" {
			containers = append(containers, c)
		}
	}

	for _, key := range []string{"steps", "sidecars", "initContainers"} {
		if list := n.Get(key); isContainers(list) {
			containers = append(containers, list.Items...)
		}
	}
	if len(containers) > 0 {
		return specOf(append([]*manifest.Node{n}, above...), containers), true
	}

	if selector := n.Get("nodeSelector"); selector == nil || selector.Kind != manifest.Map {
		return nil, false
	}
	if n.Get("image").Text() != "" {
		containers = []*manifest.Node{n}
	}
	return specOf([]*manifest.Node{n}, containers), false
}

// isContainers reports whether a value is a list of containers.
func isContainers(n *manifest.Node) bool {
	for _, c := range n.Elements() {
		if c.Get("image").Text() != "" {
			return true
		}
	}
	return false
}

// specOf makes a specification of the fields that the nearest of the maps has, or its podTemplate.
func specOf(maps, containers []*manifest.Node) *manifest.Node {
	spec := &manifest.Node{Kind: manifest.Map, Pos: maps[0].Pos}
	take := func(from *manifest.Node, key, as string) {
		if f := from.Field(key); f != nil && spec.Field(as) == nil {
			spec.Fields = append(spec.Fields, manifest.Field{
				Key:   as,
				Pos:   f.Pos,
				Value: f.Value,
			})
		}
	}

	for _, m := range maps {
		for _, from := range []*manifest.Node{m, m.Get("podTemplate")} {
			take(from, "podSecurityContext", "securityContext")
			for _, key := range podFields() {
				if key != "securityContext" || from.Get("image") == nil { // else it is the container's
					take(from, key, key)
				}
			}
		}
	}

	list := &manifest.Node{
		Kind:  manifest.List,
		Pos:   spec.Pos,
		Items: containers,
	}

	spec.Fields = append(spec.Fields, manifest.Field{
		Key:   "containers",
		Pos:   spec.Pos,
		Value: list,
	})

	return spec
}

// add keeps a pod that says that it is for Windows.
func (w *customWalk) add(spec *manifest.Node) {
	p := &Pod{
		Object: w.object,
		Owner:  w.owner,
		Node: &manifest.Node{
			Kind: manifest.Map, Pos: spec.Pos, Fields: []manifest.Field{{Key: "spec", Pos: spec.Pos, Value: spec}},
		},
		At: Hit{Pos: spec.Pos},
	}
	p.Evidence = evidence(p)
	if p.OS, p.By = decide(p.Evidence); p.OS == Windows && p.By.Places() {
		w.pods = append(w.pods, p)
	}
}

// placed gives findings the paths that their places have in the object.
func placed(n *manifest.Node, findings []Finding) {
	wanted := map[manifest.Pos]string{}
	for _, f := range findings {
		wanted[f.Pos] = ""
	}

	seen := map[*manifest.Node]bool{}
	var walk func(n *manifest.Node, path string, depth int)
	note := func(at manifest.Pos, path string) {
		if have, ok := wanted[at]; ok && have == "" {
			wanted[at] = path
		}
	}

	walk = func(n *manifest.Node, path string, depth int) {
		if n == nil || n.Kind < manifest.List || seen[n] || depth > 2*deepestOfCustom {
			return
		}
		seen[n] = true
		for _, f := range n.Fields {
			at := join(path, f.Key)
			note(f.Pos, at)
			walk(f.Value, at, depth+1)
		}

		for i, item := range n.Items {
			at := path + "[" + strconv.Itoa(i) + "]"
			walk(item, at, depth+1)
			note(item.Pos, at) // after the first field of a map, which stands at the same place
		}
	}
	walk(n, "", 0)
	for i := range findings {
		if path := wanted[findings[i].Pos]; path != "" {
			findings[i].Path = path
		}
	}
}
