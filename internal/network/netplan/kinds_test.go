package netplan

import (
	"reflect"
	"slices"
	"testing"
)

// filled returns a plan with an object of each kind, whose ID is of a number.
func filled(n string) Plan {
	return Plan{
		Bridges:       []Bridge{{ID: "b" + n}},
		Peers:         []Peer{{ID: "p" + n, Bridge: "b" + n}},
		Namespaces:    []string{"n" + n},
		Ports:         []Port{{ID: "e" + n, Bridge: "b" + n}},
		LoadBalancers: []LoadBalancer{{ID: "l" + n, Bridge: "b" + n}},
	}
}

// TestEveryKindHasARow holds that no list of Plan and Removed was forgotten, also by filled.
func TestEveryKindHasARow(t *testing.T) {
	plan, removed := reflect.TypeFor[Plan](), reflect.TypeFor[Removed]()
	if plan.NumField() != len(kinds()) || removed.NumField() != len(kinds()) {
		t.Fatalf("Plan has %d lists, Removed %d, and there are %d kinds", plan.NumField(), removed.NumField(), len(kinds()))
	}

	for i := range plan.NumField() {
		if plan.Field(i).Name != removed.Field(i).Name {
			t.Errorf("Plan has %s where Removed has %s", plan.Field(i).Name, removed.Field(i).Name)
		}
		if reflect.ValueOf(filled("1")).Field(i).Len() != 1 {
			t.Errorf("the plan of the tests has no %s", plan.Field(i).Name)
		}
	}

	whole := Change{Set: filled("1")}
	for i, k := range kinds() {
		if n := k.count(&whole); n != 1 {
			t.Errorf("row %d counts %d objects", i, n)
		}
	}
}

func TestBetween(t *testing.T) {
	one, two := filled("1"), filled("2")
	both := Join(slices.Values([]Plan{two, one}))
	changed := Join(slices.Values([]Plan{two, one}))
	changed.Ports[0].Name = "eth1"
	for name, tt := range map[string]struct{ from, to Plan }{
		"made":      {Plan{}, both},
		"removed":   {both, Plan{}},
		"replaced":  {one, two},
		"changed":   {both, changed},
		"unchanged": {both, both},
	} {
		c := Between(tt.from, tt.to)
		if got := tt.from.With(c); !reflect.DeepEqual(got, tt.to) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.to)
		}
		if c.Empty() != (name == "unchanged") {
			t.Errorf("%s: %+v", name, c)
		}
	}

	if c := Between(both, changed); len(c.Set.Ports) != 1 || len(c.Set.Bridges)+len(c.Removed.Ports) > 0 {
		t.Errorf("one port has changed: %+v", c)
	}
}

func TestWithout(t *testing.T) {
	c := Between(filled("1"), filled("2"))
	urgent, rest := c.Without(Peers, LoadBalancers), c.Without(Bridges, Namespaces, Ports)
	if len(urgent.Set.Peers)+len(urgent.Removed.LoadBalancers)+len(rest.Set.Ports)+len(rest.Removed.Bridges) > 0 {
		t.Errorf("%+v and %+v", urgent, rest)
	}
	urgent.Join(rest)
	if !reflect.DeepEqual(urgent, c) {
		t.Errorf("joined: %+v, want %+v", urgent, c)
	}
	if none := c.Without(Bridges, Peers, Namespaces, Ports, LoadBalancers); !none.Empty() {
		t.Errorf("without all: %+v", none)
	}
}

// TestDivide gives what is of bridge b2 to one part and the rest to another, from which the load balancer moves.
func TestDivide(t *testing.T) {
	var own, other Change
	c := Change{
		Set:     Join(slices.Values([]Plan{filled("1"), filled("2")})),
		Removed: Removed{Ports: []string{"e3", "e4"}},
	}

	c.Divide(Parts{
		Removed: func(kind Kind, id string) *Change {
			if kind != Ports || id == "e4" {
				return nil
			}
			return &own
		},
		Set: func(kind Kind, _, bridge string) (now, before *Change) {
			switch {
			case bridge != "b2":
				return &own, nil
			case kind == LoadBalancers:
				return &other, &own
			}
			return &other, nil
		},
	})

	two := filled("2")
	two.Namespaces = nil // they have no bridge
	want := filled("1")
	want.Namespaces = []string{"n1", "n2"}
	if !reflect.DeepEqual(own.Set, want) || !reflect.DeepEqual(other, Change{Set: two}) {
		t.Errorf("%+v and %+v", own, other)
	}

	if !reflect.DeepEqual(own.Removed, Removed{Ports: []string{"e3"}, LoadBalancers: []string{"l2"}}) {
		t.Errorf("%+v is removed", own.Removed)
	}
}
