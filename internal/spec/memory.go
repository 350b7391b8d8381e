package spec

import (
	"fmt"
	"math/big"
	"strings"
)

const (
	// leastMemory is the least that a Windows node can have, in bytes. Its own programs use some 300 MiB, and its
	// kubelet evicts pods when 500 MiB are left.
	leastMemory = 1 << 30
	// mostMemory keeps amounts within what programs of Windows are told in a number of pages.
	mostMemory = 1 << 43
	// pageSize is the unit in which the kernel counts memory.
	pageSize = 4096
)

// Memory is a quantity of Kubernetes, for example 4Gi: what a Windows node has of the machine's memory. All programs of
// the node together, those of its host and its pods, cannot hold more, and see it as the memory of the machine that
// they are on. Left out, a node shows the machine's memory.
type Memory string

// Bytes returns the amount, in whole pages; 0: the machine's, also of what is no quantity, which no description has.
func (m Memory) Bytes() int64 {
	n, ok := m.parse()
	if !ok || !n.IsInt64() {
		return 0
	}
	return n.Int64() &^ (pageSize - 1)
}

// parse returns how many bytes a quantity is, rounded down.
func (m Memory) parse() (*big.Int, bool) {
	if !quantityForm.MatchString(string(m)) || strings.HasSuffix(string(m), "m") {
		return nil, false
	}
	digits := strings.TrimRight(string(m), "kKMGTi")
	n, ok := new(big.Rat).SetString(digits)
	if !ok {
		return nil, false
	}

	unit, binary := strings.CutSuffix(string(m)[len(digits):], "i")
	step := int64(1000)
	if binary {
		step = 1024
	}
	power := 0 // of the step: the unit's place among those that there are
	if unit != "" {
		power = 1 + strings.Index("KMGT", strings.ToUpper(unit))
	}

	for range power {
		n.Mul(n, big.NewRat(step, 1))
	}

	return new(big.Int).Quo(n.Num(), n.Denom()), true
}

// valid names the fault of the quantity, "" without one. The memory of the machine is not known here.
func (m Memory) valid() string {
	if m == "" {
		return ""
	}

	n, ok := m.parse()
	switch {
	case !ok:
		return fmt.Sprintf("%q is not a quantity of memory such as 4Gi", string(m))
	case n.Cmp(big.NewInt(leastMemory)) < 0:
		return fmt.Sprintf("%s is less than a Windows node can do with, which is 1Gi", m)
	case n.Cmp(big.NewInt(mostMemory)) > 0:
		return fmt.Sprintf("%s is more than any machine has", m)
	}

	return ""
}
