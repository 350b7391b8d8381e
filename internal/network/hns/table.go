package hns

import (
	"slices"
	"strings"
)

// kind is a kind of object, as it stands in the functions' names.
type kind string

const (
	networks      kind = "Network"
	endpoints     kind = "Endpoint"
	namespaces    kind = "Namespace"
	loadBalancers kind = "LoadBalancer"
	sdnRoutes     kind = "SdnRoute"
	guestServices kind = "GuestNetworkService"
)

func kinds() []kind {
	return []kind{networks, endpoints, namespaces, loadBalancers, sdnRoutes, guestServices}
}

// ref names one object.
type ref struct {
	kind kind
	id   string
}

func compareRefs(a, b ref) int {
	if c := strings.Compare(string(a.kind), string(b.kind)); c != 0 {
		return c
	}
	return strings.Compare(a.id, b.id)
}

// table holds the objects of one kind by their IDs. Objects are never changed in place: a change sets a new one.
type table[T any] struct {
	kind    kind
	objects map[string]*T
	ids     []string // sorted
	list    string   // ids as JSON; empty: to be made
	// changed keeps in step what depends on the objects. It runs after the object is set; old or now may be nil.
	changed func(id string, old, now *T)
}

func newTable[T any](k kind, changed func(id string, old, now *T)) *table[T] {
	return &table[T]{kind: k, objects: map[string]*T{}, changed: changed}
}

// set stores v under id, or removes what is there when v is nil.
func (t *table[T]) set(id string, v *T) {
	old := t.objects[id]
	i, found := slices.BinarySearch(t.ids, id)
	switch v {
	case nil:
		delete(t.objects, id)
		if found {
			t.ids, t.list = slices.Delete(t.ids, i, i+1), ""
		}
	default:
		t.objects[id] = v
		if !found {
			t.ids, t.list = slices.Insert(t.ids, i, id), ""
		}
	}
	t.changed(id, old, v)
}

// put sets an object and remembers how to take that back.
func put[T any](m *Model, t *table[T], id string, v *T) {
	old := t.objects[id]
	t.set(id, v)
	m.undo = append(m.undo, func() { t.set(id, old) })
	r := ref{t.kind, id}
	if _, again := m.touched[r]; again {
		return
	}
	m.touched[r] = nil
	if old != nil {
		m.touched[r] = old
	}
}

// index finds objects' IDs by something that they have in common.
type index[K comparable] map[K]map[string]bool

func (x index[K]) add(key K, id string) {
	if x[key] == nil {
		x[key] = map[string]bool{}
	}
	x[key][id] = true
}

func (x index[K]) remove(key K, id string) {
	delete(x[key], id)
	if len(x[key]) == 0 {
		delete(x, key)
	}
}

// of are the IDs in order.
func (x index[K]) of(key K) []string {
	ids := make([]string, 0, len(x[key]))
	for id := range x[key] {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
