package invoke

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCommandAsItIsTyped prints what a shell understands, from where the person is.
func TestCommandAsItIsTyped(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	for _, folder := range []string{bin, filepath.Join(dir, "other")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "mullion"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		name, typed, path, data string
		want, root              string
	}{
		{"on-the-path", "mullion", "/nowhere:" + bin, DefaultDataDir, "mullion", "sudo mullion"},
		{"a-path", "bin/mullion", "/nowhere", DefaultDataDir, "bin/mullion", "sudo bin/mullion"},
		{"another-is-on-the-path", "./mullion", filepath.Join(dir, "other") + ":" + bin, DefaultDataDir, "./mullion", "sudo ./mullion"},
		{"not-to-be-found", "mullion", "/nowhere", DefaultDataDir, filepath.Join(bin, "mullion"), "sudo " + filepath.Join(bin, "mullion")},
		{"other-folder", "mullion", bin, "/my clusters", "mullion --data-dir '/my clusters'", "sudo mullion --data-dir '/my clusters'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &Call{DataDir: tt.data, Env: Env{
				Program: tt.typed, Executable: filepath.Join(bin, "mullion"), Environ: []string{"PATH=" + tt.path, "SUDO_UID=1000"},
			}}
			if got := a.Command(); got != tt.want {
				t.Errorf("command is %q, want %q", got, tt.want)
			}
			if got := a.RootCommand(); got != tt.root {
				t.Errorf("with root it is %q, want %q", got, tt.root)
			}

			a.Env.Environ = a.Env.Environ[:1]
			if got := a.RootCommand(); got != tt.want {
				t.Errorf("for root itself it is %q, want %q", got, tt.want)
			}
		})
	}
}
