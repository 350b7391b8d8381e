package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/single"
)

// TestBuildClient: a build for a cluster whose folder is given runs its commands in the engine's own folder. A folder
// that is no cluster's is the engine's.
func TestBuildClient(t *testing.T) {
	cluster, own := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(cluster, "version"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ name, given, want string }{
		{"none", "", single.DefaultData},
		{"a cluster's", cluster, single.DefaultData},
		{"its own", own, own},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := &invoke.Call{DataDir: tt.given}
			cmd := &cobra.Command{}
			cmd.Flags().StringVar(&call.DataDir, "data-dir", "/somewhere", "")
			if tt.given != "" {
				if err := cmd.Flags().Set("data-dir", tt.given); err != nil {
					t.Fatal(err)
				}
			}

			got, err := BuildClient(call, cmd)
			if err != nil || got.Paths.Data != tt.want {
				t.Errorf("the engine's folder is %v, %v, want %q", got.Paths.Data, err, tt.want)
			}
		})
	}
}
