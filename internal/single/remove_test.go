package single

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemoveForeign removes folders that single containers do not have: they stay as they are.
func TestRemoveForeign(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files []string
		err   string
	}{
		{"none", nil, ""},
		{"a cluster's", []string{"version"}, "did not make it"},
		{"a person's", []string{"thesis.txt"}, "did not make it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("1\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			c := &Client{Paths: At(dir, "/nowhere")}
			got, err := c.Remove(t.Context(), true)
			if found := got.Found; found || (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("found %v, error %v", got, err)
			}

			for _, name := range tc.files {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Errorf("it was removed: %v", err)
				}
			}
		})
	}
}
