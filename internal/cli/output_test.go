package cli

import (
	"path/filepath"
	"testing"
)

// TestCommandAsItIsTyped prints what a shell understands, from where the person is.
func TestCommandAsItIsTyped(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	m := &machine{t: t}
	m.write(filepath.Join(bin, "mullion"), "")
	m.write(filepath.Join(dir, "other", "mullion"), "")

	for _, tt := range []struct {
		name, typed, path, data string
		want, root              string
	}{
		{"on-the-path", "mullion", "/nowhere:" + bin, defaultDataDir, "mullion", "sudo mullion"},
		{"a-path", "bin/mullion", "/nowhere", defaultDataDir, "bin/mullion", "sudo bin/mullion"},
		{"another-is-on-the-path", "./mullion", filepath.Join(dir, "other") + ":" + bin, defaultDataDir, "./mullion", "sudo ./mullion"},
		{"not-to-be-found", "mullion", "/nowhere", defaultDataDir, filepath.Join(bin, "mullion"), "sudo " + filepath.Join(bin, "mullion")},
		{"other-folder", "mullion", bin, "/my clusters", "mullion --data-dir '/my clusters'", "sudo mullion --data-dir '/my clusters'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &app{dataDir: tt.data, env: Env{
				Program: tt.typed, Executable: filepath.Join(bin, "mullion"), Environ: []string{"PATH=" + tt.path, "SUDO_UID=1000"},
			}}
			if got := a.command(); got != tt.want {
				t.Errorf("command is %q, want %q", got, tt.want)
			}
			if got := a.rootCommand(); got != tt.root {
				t.Errorf("with root it is %q, want %q", got, tt.root)
			}

			a.env.Environ = a.env.Environ[:1]
			if got := a.rootCommand(); got != tt.want {
				t.Errorf("for root itself it is %q, want %q", got, tt.want)
			}
		})
	}
}
