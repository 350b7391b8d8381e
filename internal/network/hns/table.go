package hns

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// ref names one object.
type ref struct {
	kind Kind
	id   string
}

func compareRefs(a, b ref) int {
	if c := strings.Compare(string(a.kind), string(b.kind)); c != 0 {
		return c
	}
	return strings.Compare(a.id, b.id)
}

// collection is the objects of one kind, for code that works with every kind. Each kind has a table[T].
type collection interface {
	contents
	operations
	effects
}

// contents are the objects that exist.
type contents interface {
	has(id string) bool
	// all returns the IDs in order; list returns them as JSON.
	all() []string
	list() string
	// matching returns the IDs of the objects that the filter lets through.
	matching(f filter) []string
	// shown returns the object as it goes over the wire. It must be there.
	shown(id string) any
}

// operations are what the functions of HNS do with objects. Modify and remove need an existing one.
type operations interface {
	// newID returns the GUID for an object to make: the wanted one if it is free.
	newID(want string) (string, error)
	create(id string, r Request) (string, error)
	modify(id, settings string) error
	remove(id string) error
}

// effects are what an object, existing or not, means outside the model.
type effects interface {
	// record returns the object as it is stored on disk; load reads it back.
	record(id string) (Record, error)
	load(rec Record) error
	// part returns the object's part of the plan.
	part(id string) netplan.Plan
	// events returns what watchers are told before and after a change of the object; had is what it was, or nil.
	events(id string, had any) (before, after []Event)
}

// rules are what differs between the kinds of objects.
type rules[T any] struct {
	// id returns the object's own field.
	id func(*T) string
	// taken is the error if an object with the wanted ID exists already; 0: EAlreadyExists.
	taken wire.HRESULT
	// create makes an object with the ID, or with the one that its settings name, and returns which.
	create func(id string, r Request) (string, error)
	modify func(id, settings string) error
	// remove removes the object and what depends on it; nil: nothing depends on it.
	remove func(id string) error
	// shown returns the object as it goes over the wire; nil: as it is kept.
	shown func(*T) any
	// property returns a property that programs filter by, of a name in lower case.
	property func(v *T, name string) value
	// candidates returns the objects among which the filter's are, if there is a lookup for it. nil: there is no
	// lookup.
	candidates func(f filter) (ids []string, ok bool)
	// changed updates the lookups, and marks what else depends on the object. It runs after the object is set; old or
	// now may be nil. nil: nothing to do.
	changed func(id string, old, now *T)
	// plan adds the object's part of the plan; nil: it has none.
	plan func(v *T, p *netplan.Plan)
	// events returns what watchers are told before and after a change; old or now may be nil. nil: nothing.
	events func(id string, old, now *T) (before, after []Event)
}

// table holds the objects of one kind by their IDs. Objects are never changed in place: a change puts a new one.
type table[T any] struct {
	model   *Model
	kind    Kind
	rules   rules[T]
	objects map[string]*T
	ids     []string // sorted
	listed  string   // ids as JSON; empty: to be made
}

// newTable makes the table of a kind and adds it to the model's.
func newTable[T any](m *Model, k Kind, r rules[T]) *table[T] {
	t := &table[T]{
		model:   m,
		kind:    k,
		rules:   r,
		objects: map[string]*T{},
	}
	m.kinds = append(m.kinds, k)
	m.tables[k] = t
	return t
}

// set stores v under id, or removes the object if v is nil.
func (t *table[T]) set(id string, v *T) {
	old := t.objects[id]
	i, found := slices.BinarySearch(t.ids, id)
	switch v {
	case nil:
		delete(t.objects, id)
		if found {
			t.ids, t.listed = slices.Delete(t.ids, i, i+1), ""
		}

	default:
		t.objects[id] = v
		if !found {
			t.ids, t.listed = slices.Insert(t.ids, i, id), ""
		}
	}

	if t.rules.changed != nil {
		t.rules.changed(id, old, v)
	}
	r := ref{t.kind, id}
	delete(t.model.answers, r)
	t.model.dirty[r] = true
}

// put stores v under id, or removes the object if v is nil, and records how to undo that.
func (t *table[T]) put(id string, v *T) {
	m, old := t.model, t.objects[id]
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

func (t *table[T]) has(id string) bool { return t.objects[id] != nil }

func (t *table[T]) all() []string { return t.ids }

func (t *table[T]) list() string {
	if t.listed == "" {
		t.listed = encode(append([]string{}, t.ids...))
	}
	return t.listed
}

func (t *table[T]) matching(f filter) []string {
	ids := []string{}
	for _, id := range t.candidates(f) {
		v := t.objects[id]
		if v != nil && f.match(func(name string) value { return t.rules.property(v, name) }) {
			ids = append(ids, id)
		}
	}
	return ids
}

// candidates returns the objects among which those that the filter lets through are.
func (t *table[T]) candidates(f filter) []string {
	if id, err := canonical(f["id"]); err == nil {
		return []string{id}
	}
	if t.rules.candidates != nil {
		if ids, ok := t.rules.candidates(f); ok {
			return ids
		}
	}
	return t.ids
}

func (t *table[T]) shown(id string) any {
	if t.rules.shown == nil {
		return t.objects[id]
	}
	return t.rules.shown(t.objects[id])
}

func (t *table[T]) newID(want string) (string, error) {
	if want == "" || want == zeroID {
		return canonical(t.model.cfg.NewID())
	}

	id, err := canonical(want)
	if err != nil {
		return "", err
	}

	if t.has(id) {
		code := wire.EAlreadyExists
		if t.rules.taken != 0 {
			code = t.rules.taken
		}
		return "", wire.Errorf(code, "%s %s already exists", t.kind, id)
	}

	return id, nil
}

// pick returns the ID in the settings if there is one, else id.
func (t *table[T]) pick(id, inSettings string) (string, error) {
	if inSettings == "" || strings.Trim(inSettings, "{}") == zeroID {
		return id, nil
	}
	return t.newID(inSettings)
}

func (t *table[T]) create(id string, r Request) (string, error) { return t.rules.create(id, r) }

func (t *table[T]) modify(id, settings string) error { return t.rules.modify(id, settings) }

func (t *table[T]) remove(id string) error {
	if t.rules.remove != nil {
		return t.rules.remove(id)
	}
	t.put(id, nil)
	return nil
}

func (t *table[T]) record(id string) (Record, error) {
	rec := Record{Kind: string(t.kind), ID: id}
	v := t.objects[id]
	if v == nil {
		return rec, nil
	}
	var err error
	rec.Object, err = json.Marshal(v)
	return rec, err
}

func (t *table[T]) load(rec Record) error {
	if rec.Object == nil {
		t.set(rec.ID, nil)
		return nil
	}

	v := new(T)
	if err := json.Unmarshal(rec.Object, v); err != nil {
		return fmt.Errorf("%s %.64q: %w", rec.Kind, rec.ID, err)
	}
	if t.rules.id(v) != rec.ID {
		return fmt.Errorf("%s %.64q has the ID %.64q", rec.Kind, rec.ID, t.rules.id(v))
	}
	t.set(rec.ID, v)
	return nil
}

func (t *table[T]) part(id string) netplan.Plan {
	var p netplan.Plan
	if v := t.objects[id]; v != nil && t.rules.plan != nil {
		t.rules.plan(v, &p)
	}
	return p
}

func (t *table[T]) events(id string, had any) (before, after []Event) {
	if t.rules.events == nil {
		return nil, nil
	}
	old, _ := had.(*T)
	return t.rules.events(id, old, t.objects[id])
}

// index finds the IDs of objects by a property that they share.
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

// sorted returns the IDs in order.
func (x index[K]) sorted(key K) []string {
	ids := make([]string, 0, len(x[key]))
	for id := range x[key] {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
