package single

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/process/systemd"
)

// Below systemd's scope an engine that clears away what an earlier one left is in the same cgroup: it may not end
// itself.
func TestBesideInner(t *testing.T) {
	scope := t.TempDir()
	for _, name := range []string{systemd.Inner, "@gateway", "container"} {
		if err := os.Mkdir(filepath.Join(scope, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(scope, "cgroup.procs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	got, err := besideInner(scope)
	if diff := cmp.Diff([]string{"@gateway", "container"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got, err := besideInner(filepath.Join(scope, "none")); err != nil || got != nil {
		t.Error(got, err)
	}
}
