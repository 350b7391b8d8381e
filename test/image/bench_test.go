//go:build kernel

package image

import (
	"fmt"
	"testing"
)

// BenchmarkGet asks for one image among thirty, as the kubelet does for every container.
func BenchmarkGet(b *testing.B) {
	c, hub := startContainerd(b, b.TempDir()), newHub(b)
	s := open(b, c, v2022)
	for i := range 30 {
		ref := hub.push(b, fmt.Sprintf("app%d:v1", i), makeImage(b, "windows", v2022, part{layer: makeLayer(b, entry{
			name: "Files/a",
			body: fmt.Sprint(i),
		})}))
		if _, err := s.Pull(b.Context(), ref, nil, ""); err != nil {
			b.Fatal(err)
		}
	}

	ref := hub.host + "/app7:v1"
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Get(b.Context(), ref); err != nil {
				b.Fatal(err)
			}
		}
	})

	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.List(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPull pulls an image with 64 MB that do not compress.
func BenchmarkPull(b *testing.B) {
	c, hub := startContainerd(b, b.TempDir()), newHub(b)
	s := open(b, c, v2022)
	const size = 64 << 20
	ref := hub.push(b, "big:v1", makeImage(b, "windows", v2022, part{layer: makeLayer(b, entry{
		name: "Files/r",
		body: noise(size),
	})}))
	b.SetBytes(size)
	for b.Loop() {
		info, err := s.Pull(b.Context(), ref, nil, "")
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Remove(b.Context(), info.ID); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
