package netplan

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Kind is a kind of objects. Plan and Removed have a list of each.
type Kind uint8

// The kinds of objects.
const (
	Bridges Kind = iota
	Peers
	Namespaces
	Ports
	LoadBalancers
)

// kinds has a row for each kind: what else this package does with plans and changes, it does with every row.
func kinds() []lists {
	return []lists{
		objects[Bridge]{
			kind:    Bridges,
			id:      func(x Bridge) string { return x.ID },
			bridge:  func(x Bridge) string { return x.ID },
			set:     func(p *Plan) *[]Bridge { return &p.Bridges },
			removed: func(r *Removed) *[]string { return &r.Bridges },
		},
		objects[Peer]{
			kind:    Peers,
			id:      func(x Peer) string { return x.ID },
			bridge:  func(x Peer) string { return x.Bridge },
			set:     func(p *Plan) *[]Peer { return &p.Peers },
			removed: func(r *Removed) *[]string { return &r.Peers },
		},
		objects[string]{
			kind:    Namespaces,
			id:      func(x string) string { return x },
			bridge:  func(string) string { return "" },
			set:     func(p *Plan) *[]string { return &p.Namespaces },
			removed: func(r *Removed) *[]string { return &r.Namespaces },
		},
		objects[Port]{
			kind:    Ports,
			id:      func(x Port) string { return x.ID },
			bridge:  func(x Port) string { return x.Bridge },
			set:     func(p *Plan) *[]Port { return &p.Ports },
			removed: func(r *Removed) *[]string { return &r.Ports },
		},
		objects[LoadBalancer]{
			kind:    LoadBalancers,
			id:      func(x LoadBalancer) string { return x.ID },
			bridge:  func(x LoadBalancer) string { return x.Bridge },
			set:     func(p *Plan) *[]LoadBalancer { return &p.LoadBalancers },
			removed: func(r *Removed) *[]string { return &r.LoadBalancers },
		},
	}
}

// lists are the lists of one kind, whatever its objects are.
type lists interface { //nolint:interfacebloat // a method for each thing that is done with every kind
	// count returns how many objects a change sets and removes.
	count(c *Change) int
	// join adds what another change sets and removes, unless the kind is one of those left.
	join(c, other *Change, left []Kind)
	// differ adds to a change what leads from one plan to another.
	differ(from, to *Plan, c *Change)
	divide(c *Change, by Parts)
	// change carries out a change of a plan.
	change(p *Plan, c *Change)
	sort(p *Plan)
}

// objects are the lists of the kind with objects T.
type objects[T any] struct {
	kind Kind
	id   func(T) string
	// bridge is the ID of the object's Bridge; empty: it has none.
	bridge  func(T) string
	set     func(*Plan) *[]T
	removed func(*Removed) *[]string
}

func (o objects[T]) count(c *Change) int { return len(*o.set(&c.Set)) + len(*o.removed(&c.Removed)) }

func (o objects[T]) join(c, other *Change, left []Kind) {
	if slices.Contains(left, o.kind) {
		return
	}
	set, removed := o.set(&c.Set), o.removed(&c.Removed)
	*set = append(*set, *o.set(&other.Set)...)
	*removed = append(*removed, *o.removed(&other.Removed)...)
}

func (o objects[T]) differ(from, to *Plan, c *Change) {
	before := *o.set(from)
	had := make(map[string]T, len(before))
	for _, x := range before {
		had[o.id(x)] = x
	}

	set, removed := o.set(&c.Set), o.removed(&c.Removed)
	for _, x := range *o.set(to) {
		was, ok := had[o.id(x)]
		delete(had, o.id(x))
		if !ok || !reflect.DeepEqual(was, x) {
			*set = append(*set, x)
		}
	}

	*removed = append(*removed, slices.Sorted(maps.Keys(had))...)
}

func (o objects[T]) divide(c *Change, by Parts) {
	remove := func(from *Change, id string) {
		if from != nil {
			removed := o.removed(&from.Removed)
			*removed = append(*removed, id)
		}
	}

	for _, id := range *o.removed(&c.Removed) {
		remove(by.Removed(o.kind, id), id)
	}

	for _, x := range *o.set(&c.Set) {
		now, before := by.Set(o.kind, o.id(x), o.bridge(x))
		remove(before, o.id(x))
		set := o.set(&now.Set)
		*set = append(*set, x)
	}
}

func (o objects[T]) change(p *Plan, c *Change) {
	set, removed := *o.set(&c.Set), *o.removed(&c.Removed)
	gone := make(map[string]bool, len(set)+len(removed))
	for _, x := range set {
		gone[o.id(x)] = true
	}

	for _, id := range removed {
		gone[id] = true
	}

	var out []T
	for _, x := range *o.set(p) {
		if !gone[o.id(x)] {
			out = append(out, x)
		}
	}

	*o.set(p) = append(out, set...)
}

func (o objects[T]) sort(p *Plan) {
	slices.SortFunc(*o.set(p), func(a, b T) int { return strings.Compare(o.id(a), o.id(b)) })
}

// Empty reports whether the change changes nothing.
func (c *Change) Empty() bool {
	return !slices.ContainsFunc(kinds(), func(k lists) bool { return k.count(c) > 0 })
}

// Join adds what another change sets and removes. No object may be in both.
func (c *Change) Join(other Change) {
	for _, k := range kinds() {
		k.join(c, &other, nil)
	}
}

// Without returns the part of the change that is not about objects of some kinds.
func (c *Change) Without(left ...Kind) Change {
	var part Change
	for _, k := range kinds() {
		k.join(&part, c, left)
	}
	return part
}

// Parts says into which changes a change is divided.
type Parts struct {
	// Removed returns the part from which an object is removed; nil: from none.
	Removed func(kind Kind, id string) *Change
	// Set returns the part in which an object of a bridge is now, and the one from which it is removed, as it was there
	// before; nil: from none. An object without a bridge has "".
	Set func(kind Kind, id, bridge string) (now, before *Change)
}

// Divide adds each object that the change sets or removes to its part. Of each kind the removed ones come first.
func (c *Change) Divide(by Parts) {
	for _, k := range kinds() {
		k.divide(c, by)
	}
}

// Between returns the change that leads from one plan to another.
func Between(from, to Plan) Change {
	var c Change
	for _, k := range kinds() {
		k.differ(&from, &to, &c)
	}
	return c
}

// With returns the plan after the change, normalized. Its cost grows with the size of the plan.
func (p *Plan) With(c Change) Plan {
	out := *p
	for _, k := range kinds() {
		k.change(&out, &c)
	}
	out.Normalize()
	return out
}

// Join returns the plan with the objects of all parts, normalized. No object may be in two of them.
func Join(parts iter.Seq[Plan]) Plan {
	var all Change
	every := kinds()
	for part := range parts {
		for _, k := range every {
			k.join(&all, &Change{Set: part}, nil)
		}
	}

	all.Set.Normalize()
	return all.Set
}

// Normalize sorts every list by ID, so that two plans that mean the same are equal. The order of routes, addresses and
// backends stays.
func (p *Plan) Normalize() {
	for _, k := range kinds() {
		k.sort(p)
	}
}
