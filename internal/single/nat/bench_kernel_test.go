//go:build kernel

package nat_test

import (
	"fmt"
	"testing"

	"mullion.dev/mullion/internal/single/nat"
)

// BenchmarkJoin measures what a container waits for its place in the network:
//
//	go test -tags kernel -run '^$' -bench Join ./internal/single/nat
func BenchmarkJoin(b *testing.B) {
	bed := newBed(b)
	if err := bed.net.Start(); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		m, err := bed.net.Join(nat.Container{ID: fmt.Sprint(i)})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := m.Leave(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
