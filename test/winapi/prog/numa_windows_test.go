package prog

import (
	"errors"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// groupAffinity is winnt.h's GROUP_AFFINITY.
type groupAffinity struct {
	mask     uint64
	group    uint16
	reserved [3]uint16
}

// TestNumaAvailableMemory asks as a kubelet from v1.37 on does (k8s.io/kubernetes v1.37.1
// pkg/kubelet/winstats/cpu_topology.go): every node down to 0 has memory, and no more of it than the machine has.
func TestNumaAvailableMemory(t *testing.T) {
	kernel32 := windows.NewLazySystemDLL("kernel32.dll")
	available := kernel32.NewProc("GetNumaAvailableMemoryNodeEx")
	status := struct {
		length, load   uint32
		total, free    uint64
		pages          [4]uint64
		extendedMemory uint64
	}{length: 64}

	if ok, _, err := kernel32.NewProc("GlobalMemoryStatusEx").Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		t.Fatal(err)
	}
	var highest uint32
	if ok, _, err := kernel32.NewProc("GetNumaHighestNodeNumber").Call(uintptr(unsafe.Pointer(&highest))); ok == 0 {
		t.Fatal(err)
	}

	var sum uint64
	for node := range highest + 1 {
		var bytes uint64
		if ok, _, err := available.Call(uintptr(node), uintptr(unsafe.Pointer(&bytes))); ok == 0 {
			t.Errorf("node %d: %v", node, err)
		}
		sum += bytes
	}

	if sum < 1<<20 || sum > status.total {
		t.Errorf("the nodes have %d bytes free, the machine has %d", sum, status.total)
	}
	bytes := uint64(7)
	ok, _, err := available.Call(uintptr(highest+1000), uintptr(unsafe.Pointer(&bytes)))
	if ok != 0 || !errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		t.Errorf("a node that is not there: %d, %v, %d bytes", ok, err, bytes)
	}
}

// TestNumaNodeProcessorMask2 compares the masks of all nodes with the processors that the machine has.
func TestNumaNodeProcessorMask2(t *testing.T) {
	kernel32 := windows.NewLazySystemDLL("kernel32.dll")
	mask2 := kernel32.NewProc("GetNumaNodeProcessorMask2")
	if err := mask2.Find(); err != nil {
		t.Fatal(err)
	}
	var highest uint32
	if ok, _, err := kernel32.NewProc("GetNumaHighestNodeNumber").Call(uintptr(unsafe.Pointer(&highest))); ok == 0 {
		t.Fatal(err)
	}

	ask := func(node uint32, masks []groupAffinity) (uint16, error) {
		required := uint16(99)
		ok, _, err := mask2.Call(uintptr(node), uintptr(unsafe.Pointer(unsafe.SliceData(masks))), uintptr(len(masks)),
			uintptr(unsafe.Pointer(&required)))
		if ok != 0 {
			err = nil
		}
		return required, err
	}

	var all uint64
	for node := range highest + 1 {
		if n, err := ask(node, nil); n != 1 || !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) {
			t.Errorf("node %d without room: %d, %v", node, n, err)
		}
		masks := make([]groupAffinity, 2)
		if n, err := ask(node, masks); n != 1 || err != nil {
			t.Errorf("node %d: %d, %v", node, n, err)
		}

		if all&masks[0].mask != 0 || masks[0].group != 0 {
			t.Errorf("node %d has %+v, others %b", node, masks[0], all)
		}
		all |= masks[0].mask
	}

	var process, system uintptr
	if ok, _, err := kernel32.NewProc("GetProcessAffinityMask").Call(uintptr(windows.CurrentProcess()),
		uintptr(unsafe.Pointer(&process)), uintptr(unsafe.Pointer(&system))); ok == 0 {
		t.Fatal(err)
	}
	if all != uint64(system) {
		t.Errorf("the nodes have the processors %b, the machine has %b", all, system)
	}

	n, err := ask(highest+1000, make([]groupAffinity, 1))
	if n != 0 || !errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		t.Errorf("a node that is not there: %d, %v", n, err)
	}
}
