//go:build wine

package wine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A layer of a packed prefix is the layer that wineboot makes, file by file.
func TestPackedPrefixIsWholeWine(t *testing.T) {
	install, err := Find("")
	if err != nil {
		t.Fatal(err)
	}

	o := Options{Install: install, Log: slog.New(slog.DiscardHandler)}
	dir := t.TempDir()
	prefix, packed := filepath.Join(dir, "prefix"), filepath.Join(dir, "packed")
	if err := o.wineboot(t.Context(), dir, prefix); err != nil {
		t.Fatal(err)
	}

	key, err := o.wineKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(packed, 0o755); err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(packed, packedName(key))
	if err := o.writePacked(file, prefix); err != nil {
		t.Fatal(err)
	}

	booted, unpacked := filepath.Join(dir, "booted"), filepath.Join(dir, "unpacked")
	if err := adopt(prefix, booted); err != nil {
		t.Fatal(err)
	}

	o.Packed = []string{packed}
	begin := time.Now()
	lacks, err := o.boot(t.Context(), filepath.Join(dir, "tmp"), unpacked)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(o.linkWine(unpacked, lacks), o.linkWine(booted, nil)); err != nil {
		t.Fatal(err)
	}

	took := time.Since(begin)

	if diff := cmp.Diff(contentOf(t, booted), contentOf(t, unpacked)); diff != "" {
		t.Errorf("wineboot's layer (-) and the packed one's (+):\n%s", diff)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d KiB, unpacked in %v", info.Size()>>10, took.Round(time.Millisecond))
}

// contentOf tells each folder, link and file below dir: its mode, and what is in it.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()

		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " to " + to

		case e.Type().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %d bytes %x", len(content), sha256.Sum256(content))
		}

		found[path[len(dir):]] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}
