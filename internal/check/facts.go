package check

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/check/manifest"
)

// Bounds of what is kept until the end of the input.
const (
	maxFact  = 64 << 10 // bytes of text of one object
	maxFacts = 64 << 20 // of all
)

// Fact is what is kept of an object until the end of the input, when objects that belong together are judged.
type Fact struct {
	Object Object
	File   string
	// Spec has the fields of kept, and no other; nil if the object was too large to keep.
	Spec *manifest.Node
	// At is the place and path of Spec.
	At Hit
	// Labels are those of the pod, or of its template. OS, By and Replicas are of pods too.
	Labels   map[string]string
	OS       OS
	By       By
	Evidence []Evidence
	Replicas int64

	lines map[int]string
}

// Values gives every value that is there at a path that begins at the object's spec.
func (f *Fact) Values(path string) []Value { return values(f.Spec, f.At, path) }

// Input is what is known of all objects at the end.
type Input struct {
	// Pods are all pods and templates, also those for Linux; Objects are the others, by kind.
	Pods    []*Fact
	Objects map[string][]*Fact
	Options Options

	named   map[Object]*Fact      // the first of each name; Ignored is nil
	labeled map[[3]string][]*Fact // pods by namespace, label and value
}

// CrossHit is a place in an object.
type CrossHit struct {
	Fact *Fact
	Hit
}

// Selected lists the pods that a Service selects, in the order of the input.
func (in *Input) Selected(service *Fact) []*Fact {
	want := service.Spec.Get("selector")
	if want == nil || len(want.Fields) == 0 {
		return nil
	}
	var fewest []*Fact // those with one of the labels, the rarest
	for i, f := range want.Fields {
		with := in.labeled[[3]string{service.Object.Namespace, f.Key, f.Value.Text()}]
		if i == 0 || len(with) < len(fewest) {
			fewest = with
		}
	}
	var out []*Fact
	for _, p := range fewest {
		if !slices.ContainsFunc(want.Fields, func(f manifest.Field) bool {
			v, ok := p.Labels[f.Key]
			return !ok || v != f.Value.Text()
		}) {
			out = append(out, p)
		}
	}
	return out
}

// Named finds an object by kind and name, of the namespace if it has one.
func (in *Input) Named(kind, namespace, name string) *Fact {
	return in.named[Object{Kind: kind, Namespace: namespace, Name: name}]
}

// add puts a fact where it is found again.
func (in *Input) add(f *Fact) {
	if in.named == nil {
		in.Objects, in.named, in.labeled = map[string][]*Fact{}, map[Object]*Fact{}, map[[3]string][]*Fact{}
	}
	if f.Labels != nil {
		in.Pods = append(in.Pods, f)
		for k, v := range f.Labels {
			at := [3]string{f.Object.Namespace, k, v}
			in.labeled[at] = append(in.labeled[at], f)
		}
		return
	}
	in.Objects[f.Object.Kind] = append(in.Objects[f.Object.Kind], f)
	name := Object{Kind: f.Object.Kind, Namespace: f.Object.Namespace, Name: f.Object.Name}
	if in.named[name] == nil {
		in.named[name] = f
	}
}

// kept are the fields of an object's spec that rules across objects ask for. RuntimeClass and StorageClass have no spec:
// theirs are of the object itself.
func kept(group, kind string) (fields []string, ok bool) {
	switch group + "/" + kind {
	case "/Service":
		return []string{
			"selector", "type", "clusterIP", "sessionAffinity", "sessionAffinityConfig", "externalTrafficPolicy", "internalTrafficPolicy",
			"ipFamilies", "ipFamilyPolicy",
		}, true
	case "node.k8s.io/RuntimeClass":
		return []string{"scheduling", "handler"}, true
	case "/PersistentVolumeClaim":
		return []string{"storageClassName", "volumeMode", "accessModes"}, true
	case "storage.k8s.io/StorageClass":
		return []string{"provisioner", "parameters", "mountOptions"}, true
	}
	return nil, false
}

// podKept are those of a pod's spec.
func podKept() []string { return []string{"runtimeClassName", "nodeSelector", "volumes"} }

// factOf keeps what rules may ask of an object; nil if they ask nothing.
func factOf(n *manifest.Node, obj Object, p *Pod) *Fact {
	f := &Fact{Object: obj}
	if p != nil {
		f.OS, f.By, f.Evidence, f.Replicas = p.OS, p.By, p.Evidence, 1
		if r, ok := p.Owner.Get("spec", "replicas").Int(); ok && p.Owner != p.Node {
			f.Replicas = r
		}
		labels := p.Node.Get("metadata", "labels")
		f.Labels = make(map[string]string, 4)
		if labels != nil {
			for _, l := range labels.Fields {
				f.Labels[l.Key] = l.Value.Text()
			}
		}
		f.keep(p.Node.Field("spec"), join(p.At.Path, "spec"), podKept())
		return f
	}
	fields, ok := kept(group(n.Get("apiVersion").Text()), obj.Kind)
	if !ok {
		return nil
	}
	if spec := n.Field("spec"); spec != nil {
		f.keep(spec, "spec", fields)
	} else {
		f.keep(&manifest.Field{Pos: n.Pos, Value: n}, "", fields)
	}
	return f
}

func (f *Fact) keep(from *manifest.Field, path string, fields []string) {
	f.Spec = &manifest.Node{Kind: manifest.Map}
	if from == nil {
		return
	}
	f.At, f.Spec.Pos = Hit{Pos: from.Pos, Path: path}, from.Value.Pos
	for _, key := range fields {
		if field := from.Value.Field(key); field != nil {
			f.Spec.Fields = append(f.Spec.Fields, *field)
		}
	}
}

// size estimates the bytes that a fact keeps.
func (f *Fact) size() int {
	n := 400 + sizeOf(f.Spec)
	for k, v := range f.Labels {
		n += len(k) + len(v) + 150 // with its place in the index
	}
	for _, l := range f.lines {
		n += len(l) + 40
	}
	return n
}

func sizeOf(n *manifest.Node) int {
	if n == nil {
		return 0
	}
	size := 120 + len(n.Value)
	for _, f := range n.Fields {
		size += 40 + len(f.Key) + sizeOf(f.Value)
	}
	for _, i := range n.Items {
		size += sizeOf(i)
	}
	return size
}

// remember keeps the lines of the fields, which findings will show.
func (f *Fact) remember(line func(int) string) {
	f.lines = map[int]string{}
	add := func(n int) {
		if text := line(n); text != "" {
			f.lines[n] = text
		}
	}
	add(f.At.Line)
	for _, field := range f.Spec.Fields {
		add(field.Line)
		for _, inner := range field.Value.Elements() {
			add(inner.Line)
		}
		if field.Value != nil {
			for _, inner := range field.Value.Fields {
				add(inner.Line)
			}
		}
	}
}

// held is a pod whose system its RuntimeClass says, which has not been read yet.
type held struct {
	fact     *Fact
	findings []Finding
}

// memory is what Checker keeps between documents. Only the goroutine that emits touches it.
type memory struct {
	input Input
	held  []held
	size  int
	full  bool
}

// add keeps a fact if there is room.
func (m *memory) add(f *Fact) bool {
	size := f.size()
	if size > maxFact || m.size+size > maxFacts {
		m.full = true
		return false
	}
	m.size += size
	m.input.add(f)
	return true
}

// hold keeps a pod that waits, if there is room.
func (m *memory) hold(h held) bool {
	size := 1500 * len(h.findings)
	if m.size+size > maxFacts {
		m.full = true
		return false
	}
	m.size += size
	m.held = append(m.held, h)
	return true
}

// className is the RuntimeClass that a pod names.
func (f *Fact) className() string { return f.Spec.Get("runtimeClassName").Text() }

// needsClass tells whether the RuntimeClass decides on the system: nothing that counts more does.
func (f *Fact) needsClass() bool { return !f.By.Places() && f.className() != "" }

// ClassOS is the system that a RuntimeClass asks for, "" if it says nothing.
func (in *Input) ClassOS(class *Fact) OS {
	if class == nil {
		return ""
	}
	for _, v := range class.Values("scheduling.nodeSelector") {
		if s, _, ok := selected(v); ok {
			return s
		}
	}
	return ""
}

// settle decides on a pod by its RuntimeClass, and gives the findings that stand. last: nothing more will be read.
func (m *memory) settle(h held, last bool) (findings []Finding, done bool) {
	class := m.input.Named("RuntimeClass", "", h.fact.className())
	if class == nil && !last {
		return nil, false
	}
	if system := m.input.ClassOS(class); system != "" {
		h.fact.OS, h.fact.By = system, ByRuntimeClass
	}
	for _, f := range h.findings {
		if !f.Rule.concerns(h.fact.OS, h.fact.By) {
			continue
		}
		if h.fact.OS != Windows {
			f.Edits = nil
		}
		findings = append(findings, f)
	}
	return findings, true
}

// tooMuch says that rules across objects did not see everything.
func tooMuch() manifest.Fault {
	return manifest.Fault{
		Pos:     manifest.Pos{Line: 1, Column: 1},
		Message: fmt.Sprintf("the input has more objects than fit in %d MiB, so the rules about objects that belong together did not see all of them", maxFacts>>20),
		Remedy:  strings.TrimSpace("check it in parts"),
	}
}
