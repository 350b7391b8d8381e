package check

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/check/manifest"
)

// Bounds of the facts that are kept until the end of the input.
const (
	maxFact  = 64 << 10 // bytes of text of one object
	maxFacts = 64 << 20 // of all
)

// Fact holds the parts of an object that are kept until the end of the input, when objects that belong together are
// judged.
type Fact struct {
	Object Object
	File   string
	// Spec has only the fields that kept returns; nil if the object was too large to keep.
	Spec *manifest.Node
	// At is the place and path of Spec.
	At Hit
	// OS, By and Evidence are set for pods only.
	OS       OS
	By       By
	Evidence []Evidence

	labels   *manifest.Node // of a pod, until it is indexed
	replicas int64
	lines    []numbered
}

// numbered is a line of the file.
type numbered struct {
	line int
	text string
}

// line returns the text of a line that was kept, "" for another.
func (f *Fact) line(n int) string {
	for _, l := range f.lines {
		if l.line == n {
			return l.text
		}
	}
	return ""
}

// Values returns every value at a path that begins at the object's spec.
func (f *Fact) Values(path string) []Value { return values(f.Spec, f.At, path) }

// Input holds the facts of all objects at the end of the input.
type Input struct {
	// Pods are the pods and templates that name other objects (a RuntimeClass, claims), also those for Linux; Objects
	// are the other objects by kind.
	Pods    []*Fact
	Objects map[string][]*Fact
	Options Options

	named map[Object]*Fact // the first of each name; Ignored is nil
	index podIndex
}

// CrossHit is a place in an object.
type CrossHit struct {
	Fact *Fact
	Hit
}

// Selected lists the pods that a Service selects, in the order of the input.
func (in *Input) Selected(service *Fact) []Selected {
	want := service.Spec.Get("selector")
	if want == nil || len(want.Fields) == 0 {
		return nil
	}
	return in.index.selected(service.Object.Namespace, want.Fields)
}

// Named finds an object by kind, namespace ("" for a kind without) and name.
func (in *Input) Named(kind, namespace, name string) *Fact {
	return in.named[Object{
		Kind:      kind,
		Namespace: namespace,
		Name:      name,
	}]
}

// add puts a fact into the lists and indexes.
func (in *Input) add(f *Fact) {
	if in.named == nil {
		in.Objects, in.named = map[string][]*Fact{}, map[Object]*Fact{}
	}

	if f.pod() {
		in.index.add(f)
		if f.lasting() {
			in.Pods = append(in.Pods, f)
		}
		f.labels = nil
		return
	}

	in.Objects[f.Object.Kind] = append(in.Objects[f.Object.Kind], f)
	name := Object{
		Kind:      f.Object.Kind,
		Namespace: f.Object.Namespace,
		Name:      f.Object.Name,
	}
	if in.named[name] == nil {
		in.named[name] = f
	}
}

// kept returns the fields of an object's spec that rules across objects need. RuntimeClass, StorageClass and
// KubeletConfiguration have no spec: their fields are those of the object itself.
func kept(group, kind string) (fields []string, ok bool) {
	switch group + "/" + kind {
	case "/Service":
		return []string{
			"selector", "clusterIP", "sessionAffinity", "sessionAffinityConfig", "externalTrafficPolicy",
			"internalTrafficPolicy",
			"ipFamilies", "ipFamilyPolicy",
		}, true

	case "node.k8s.io/RuntimeClass":
		return []string{"scheduling", "handler"}, true
	case "/PersistentVolumeClaim":
		return []string{"storageClassName", "volumeMode", "accessModes"}, true
	case "kubelet.config.k8s.io/KubeletConfiguration":
		return []string{"containerRuntimeEndpoint", "kubeReserved", "systemReserved", "staticPodPath"}, true
	case "storage.k8s.io/StorageClass":
		return []string{"provisioner", "parameters", "mountOptions"}, true
	}

	return nil, false
}

// podKept returns the fields of a pod's spec that are kept.
func podKept() []string { return []string{"runtimeClassName", "nodeSelector", "volumes"} }

// pod reports whether the fact is about a pod.
func (f *Fact) pod() bool { return f.labels != nil }

// lasting reports whether rules need more of a pod than its labels, its system and its number of replicas.
func (f *Fact) lasting() bool {
	return f.className() != "" || len(f.Values("volumes[*].persistentVolumeClaim")) > 0
}

// factOf returns the fact of an object; nil if no rule needs one.
func factOf(n *manifest.Node, obj Object, p *Pod) *Fact {
	f := &Fact{Object: obj}
	if p != nil {
		f.OS = p.OS
		f.By = p.By
		f.Evidence = p.Evidence
		f.replicas = 1
		if r, ok := p.Owner.Get("spec", "replicas").Int(); ok && p.Owner != p.Node {
			f.replicas = r
		}
		if f.labels = p.Node.Get("metadata", "labels"); f.labels == nil {
			f.labels = &manifest.Node{Kind: manifest.Map}
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

// size estimates the bytes of memory that a fact takes.
func (f *Fact) size() int {
	if f.pod() && !f.lasting() {
		return f.indexSize()
	}
	n := 400 + sizeOf(f.Spec) + f.indexSize()
	for _, l := range f.lines {
		n += len(l.text) + 40
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

// remember stores the lines of the fields for the findings.
func (f *Fact) remember(line func(int) string) {
	if f.pod() && !f.lasting() {
		return
	}

	add := func(n int) {
		if text := line(n); text != "" && f.line(n) == "" {
			f.lines = append(f.lines, numbered{n, text})
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

// held is a pod whose system depends on a RuntimeClass that has not been read yet.
type held struct {
	fact     *Fact
	findings []Finding
}

// memory is what Checker keeps between documents. Only the goroutine that emits uses it.
type memory struct {
	input Input
	held  []held
	size  int
	full  bool
	file  string          // the file in which it became full
	told  map[string]bool // the subjects of image lookups whose fault was reported
}

// tell records that the fault about a subject was reported.
func (m *memory) tell(about string) {
	if m.told == nil {
		m.told = map[string]bool{}
	}
	m.told[about] = true
}

// add keeps a fact if there is room.
func (m *memory) add(f *Fact) bool {
	size := f.size()
	if size > maxFact || m.size+size > maxFacts {
		m.full, m.file = true, f.File
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
		m.full, m.file = true, h.fact.File
		return false
	}
	m.size += size
	m.held = append(m.held, h)
	return true
}

// className returns the RuntimeClass that a pod names.
func (f *Fact) className() string { return f.Spec.Get("runtimeClassName").Text() }

// needsClass reports whether the RuntimeClass decides on the system, because no stronger evidence does.
func (f *Fact) needsClass() bool { return !f.By.Places() && f.className() != "" }

// ClassOS returns the system that a RuntimeClass asks for, "" if it says nothing.
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

// settle decides on a pod by its RuntimeClass, and returns the findings that remain. done is false if the RuntimeClass
// may still come; last says that nothing more will be read.
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

// tooMuch returns the fault that rules across objects did not see everything.
func tooMuch() manifest.Fault {
	return manifest.Fault{
		Pos: manifest.Pos{Line: 1, Column: 1},
		Message: fmt.Sprintf(
			"the input has more objects than fit in %d MiB, so the rules about objects that belong together did not see all of them", maxFacts>>20),
		Remedy: strings.TrimSpace("check it in parts"),
	}
}
