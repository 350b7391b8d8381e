package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	bin := t.TempDir()
	if all, err := Versions(bin); err != nil || len(all) > 0 {
		t.Errorf("of an empty folder: %v, %v", all, err)
	}
	for _, name := range []string{"v1.35.8", "v1.35.10", "v1.36.3", "v1.9.1", "making-1", "1.34.0"} {
		if err := os.MkdirAll(filepath.Join(bin, "kubernetes", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	all, err := Versions(bin)
	if got := strings.Join(all, " "); err != nil || got != "v1.9.1 v1.35.8 v1.35.10 v1.36.3" {
		t.Errorf("versions %s, %v", got, err)
	}

	for want, version := range map[string]string{
		"1.35": "v1.35.10", "v1.35": "v1.35.10", "1.35.8": "v1.35.8", "v1.36.3": "v1.36.3", "1.9": "v1.9.1",
	} {
		if got, err := Find(want, bin); err != nil || got != version {
			t.Errorf("%s: %q, %v, want %s", want, got, err, version)
		}
	}

	for _, want := range []string{"1.34", "1.35.9", "1", "", "v", "1.3", "../v1.36.3"} {
		got, err := Find(want, bin)
		if !errors.Is(err, ErrNotThere) || !strings.Contains(err.Error(), "v1.35.8, v1.35.10, v1.36.3") {
			t.Errorf("%q: %q, %v", want, got, err)
		}
	}
}

// TestFindInSeveral looks in a folder that is not there and in two that have a version in common.
func TestFindInSeveral(t *testing.T) {
	data, bin := t.TempDir(), t.TempDir()
	for _, dir := range []string{
		filepath.Join(bin, "kubernetes/v1.36.3"), filepath.Join(data, "kubernetes/v1.36.3"),
		filepath.Join(data, "kubernetes/v1.37.0-alpha.1.7+0a1b2c3d4e5f67"), filepath.Join(data, "kubernetes/.new-1"),
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	all, err := Versions(filepath.Join(bin, "none"), data, bin)
	if got := strings.Join(all, " "); err != nil || got != "v1.36.3 v1.37.0-alpha.1.7+0a1b2c3d4e5f67" {
		t.Errorf("versions %s, %v", got, err)
	}
	for _, want := range []string{"1.37", "v1.37.0-alpha.1.7+0a1b2c3d4e5f67"} {
		if got, err := Find(want, data, bin); err != nil || got != "v1.37.0-alpha.1.7+0a1b2c3d4e5f67" {
			t.Errorf("%s: %q, %v", want, got, err)
		}
	}

	if _, err := Find("1.30", data, bin); err == nil || !strings.Contains(err.Error(), `" and "`) {
		t.Errorf("a version in neither: %v", err)
	}
}

func TestSkew(t *testing.T) {
	for _, tt := range []struct{ plane, node, words string }{
		{"v1.36.3", "v1.36.0", ""},
		{"v1.36.3", "v1.36.9", ""},
		{"v1.36.3", "v1.33.1", ""},
		{"v1.36.3", "v1.32.1", "more than 3 minor versions older"},
		{"v1.36.3", "v1.37.0", "newer than the control plane"},
	} {
		err := Skew(tt.plane, tt.node)
		if (err == nil) != (tt.words == "") || (err != nil && !strings.Contains(err.Error(), tt.words)) {
			t.Errorf("%s in a cluster of %s: %v, want %q", tt.node, tt.plane, err, tt.words)
		}
	}
}
