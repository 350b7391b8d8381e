package check

import (
	"cmp"
	"hash/maphash"
	"slices"

	"mullion.dev/mullion/internal/check/manifest"
)

// Selected is a pod that a Service selects, or the template of Replicas pods.
type Selected struct {
	OS       OS
	Replicas int64
}

// podIndex finds pods by their labels. It keeps some tens of bytes for each pod, not the labels, so that the memory
// hardly grows with the input.
type podIndex struct {
	seed   maphash.Seed
	pods   []indexed
	labels []posting
	sorted bool
}

type indexed struct {
	replicas int64
	fact     *Fact // set while the pod's system may still change; nil: the system is os
	os       OS
}

// posting says that a pod has a label, whose namespace, key and value are hashed.
type posting struct {
	label uint64
	pod   uint32
}

func byLabel(a, b posting) int {
	return cmp.Or(cmp.Compare(a.label, b.label), cmp.Compare(a.pod, b.pod))
}

// indexSize estimates the bytes of memory that the index needs for a pod.
func (f *Fact) indexSize() int {
	if !f.pod() {
		return 0
	}
	return 64 + 32*len(f.labels.Fields)
}

// hash returns the hash of a label. The seed differs in each run, so that nobody can construct two labels with the same
// hash.
func (x *podIndex) hash(namespace string, l manifest.Field) uint64 {
	return maphash.Comparable(x.seed, [3]string{namespace, l.Key, l.Value.Text()})
}

func (x *podIndex) add(f *Fact) {
	if len(x.pods) == 0 {
		x.seed = maphash.MakeSeed()
	}
	one := indexed{replicas: f.replicas, os: f.OS}
	if f.needsClass() {
		one.fact = f
	}
	for _, l := range f.labels.Fields {
		x.labels = append(x.labels, posting{x.hash(f.Object.Namespace, l), uint32(len(x.pods))})
	}
	x.pods, x.sorted = append(x.pods, one), false
}

// selected lists the pods that have all the labels in want.
func (x *podIndex) selected(namespace string, want []manifest.Field) []Selected {
	if len(x.pods) == 0 {
		return nil
	}
	if !x.sorted {
		slices.SortFunc(x.labels, byLabel)
		x.sorted = true
	}

	var fewest []posting // the pods with the rarest of the labels
	for i, l := range want {
		h := x.hash(namespace, l)
		from, _ := slices.BinarySearchFunc(x.labels, posting{label: h}, byLabel)
		to, _ := slices.BinarySearchFunc(x.labels, posting{h, ^uint32(0)}, byLabel)
		if i == 0 || to-from < len(fewest) {
			fewest = x.labels[from:to]
		}
	}

	var out []Selected
	for _, p := range fewest {
		if slices.ContainsFunc(want, func(l manifest.Field) bool {
			_, has := slices.BinarySearchFunc(x.labels, posting{x.hash(namespace, l), p.pod}, byLabel)
			return !has
		}) {
			continue
		}

		one := x.pods[p.pod]
		if one.fact != nil {
			one.os = one.fact.OS
		}
		out = append(out, Selected{one.os, one.replicas})
	}

	return out
}
