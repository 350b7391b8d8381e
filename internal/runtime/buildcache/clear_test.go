package buildcache_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/buildcache"
)

// Two steps have made the same layer, and another step something else: the layer stays, and counts, for as long as one
// of them is kept.
func TestSharedLayer(t *testing.T) {
	for name, order := range map[string][]string{
		"forgotten first": {"same 1", "other", "same 2"},
		"used last":       {"other", "same 1", "same 2"},
		"used first":      {"same 2", "same 1", "other"},
	} {
		dir := t.TempDir()
		c := open(t, buildcache.Options{Dir: dir})
		size := int64(0)
		for i, key := range order {
			what, _, _ := strings.Cut(key, " ")
			made, err := c.Make(t.Context(), keyOf(key), text(what+strings.Repeat("x", 1000)))
			if err != nil {
				t.Fatal(err)
			}
			layer, err := made.Size()
			if err != nil {
				t.Fatal(err)
			}

			size = max(size, layer)
			at := time.Now().Add(time.Duration(i-10) * time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "layers", keyOf(key).String()), at, at); err != nil {
				t.Fatal(err)
			}
		}

		if err := c.Close(); err != nil {
			t.Fatal(err)
		}

		c = open(t, buildcache.Options{Dir: dir, Most: size})
		var left []string
		for _, key := range order {
			if _, ok := c.Find(keyOf(key)); ok {
				left = append(left, key)
			}
		}

		blobs, err := os.ReadDir(filepath.Join(dir, "blobs"))
		if err != nil || len(blobs) != 1 {
			t.Errorf("%s: %d layers are left, %v", name, len(blobs), err)
		}

		want := map[string][]string{
			"forgotten first": {"same 2"},
			"used last":       {"same 1", "same 2"},
			"used first":      {"other"},
		}[name]
		if !slices.Equal(left, want) {
			t.Errorf("%s: %s are left, want %s", name, fmt.Sprint(left), fmt.Sprint(want))
		}
	}
}
