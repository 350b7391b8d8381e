package hcs

import (
	"path/filepath"
	"testing"
)

// TestMountsOther tells a disk's volume from a scratch's, and from a folder.
func TestMountsOther(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]bool{"/proc": true, dir: false} {
		if other, err := mountsOther(name); other != want || err != nil {
			t.Errorf("%s: %v, %v", name, other, err)
		}
	}
	if other, err := mountsOther(filepath.Join(dir, "none")); other || err == nil {
		t.Errorf("a folder that is not there: %v, %v", other, err)
	}
}
