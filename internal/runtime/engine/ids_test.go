package engine

import (
	"fmt"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/runtime/userns"
)

// TestPodRange: the ranges of pods lie between those of virtual machines and what systemd reserves, none within
// another, and hardly two pods have one.
func TestPodRange(t *testing.T) {
	e := &Engine{opts: Options{IDs: DefaultIDs()}}
	seen := map[IDRange]bool{}
	const many = 1000
	for i := range many {
		pod := fmt.Sprintf("%064x", i)
		r := podRange(pod)
		machine := e.machineUser(pod).ID
		if machine < userns.Machines().Base || machine+1 >= userns.Machines().End() || machine&UserMask%2 == 0 {
			t.Fatalf("virtual machine %s has user %#x", pod, machine)
		}
		if r.Base < podIDsBase || (r.Base-podIDsBase)%r.Size != 0 || r.Base+r.Size > userns.PodsEnd ||
			(r.Base+1000)&UserMask != 1000 {
			t.Fatalf("pod %s has %+v", pod, r)
		}

		seen[r] = true
	}

	if len(seen) < many-20 { // four or five are to be expected
		t.Errorf("%d pods have %d ranges", many, len(seen))
	}
}

// TestRunIDs: the containers of a pod have one range, and one of no pod has its own.
func TestRunIDs(t *testing.T) {
	e := &Engine{opts: Options{IDs: DefaultIDs()}}
	first, second := e.runIDs(Container{ID: "a", Pod: "p"}), e.runIDs(Container{ID: "b", Pod: "p"})
	alone, isolated := e.runIDs(Container{ID: "a"}), e.runIDs(Container{
		ID:   "a",
		Pod:  "p",
		Kind: InMachine{"p"},
	})
	if first != second || first == alone || isolated != DefaultIDs() {
		t.Errorf("%+v and %+v in a pod, %+v alone, %+v in a virtual machine", first, second, alone, isolated)
	}

	c := Container{
		ID:  "a",
		Pod: "p",
		UID: 1000,
	}
	if got := e.owner(c); got != first.Base+1000 {
		t.Errorf("its user is %d", got)
	}

	m := e.spec(c, nil, nil).Linux.UIDMappings
	if len(m) != 1 || m[0].HostID != first.Base || m[0].Size != first.Size {
		t.Errorf("mappings %+v", m)
	}

	const want = "0:0:1879048192,1879048192:%d:2048,1879050240:1879050240:33683456"
	if got := e.diskMapping(first); string(got) != fmt.Sprintf(want, first.Base) {
		t.Errorf("mapping %q", got)
	}
	if got := e.diskMapping(isolated); got != "" {
		t.Errorf("mapping of a virtual machine's: %q", got)
	}

	if got := layerMapping(first); !strings.HasPrefix(string(got), "0:") {
		t.Errorf("mapping of layers: %q", got)
	}
}
