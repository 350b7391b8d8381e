//go:build kernel

package nat_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
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

// BenchmarkTCP measures how much a container sends to a server beyond the machine, 32 MiB at a time.
func BenchmarkTCP(b *testing.B) {
	bed := newBed(b)
	m, err := bed.net.Join(nat.Container{ID: "one"})
	if err != nil {
		b.Fatal(err)
	}

	defer func() {
		if err := m.Leave(); err != nil {
			b.Error(err)
		}
	}()

	var l net.Listener
	var c net.Conn
	err = netns.Do(bed.outside, func() (err error) {
		l, err = net.Listen("tcp", outside+":8000")
		return err
	})
	if err == nil {
		defer l.Close()
		err = netns.Do(m.Netns, func() (err error) {
			c, err = net.Dial("tcp", outside+":8000")
			return err
		})
	}
	if err != nil {
		b.Fatal(err)
	}

	defer c.Close()
	far, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer far.Close()

	const size = 32 << 20
	b.SetBytes(size)
	buffer := make([]byte, 1<<20)
	for b.Loop() {
		go func() {
			for range size / len(buffer) {
				_, _ = c.Write(buffer) // the other side notices
			}
		}()
		if _, err := io.CopyN(io.Discard, far, size); err != nil {
			b.Fatal(err)
		}
	}
}
