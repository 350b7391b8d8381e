package gotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPathsOnWindows(t *testing.T) {
	for path, want := range map[string]string{
		"/home/me/mod":         `C:\home\me\mod`,
		"/home/me/../you/a b/": `C:\home\you\a b`,
		"/Users/me/mod":        `C:\linux\Users\me\mod`,
		"/windows":             `C:\linux\windows`,
		"/x/github.com/!m@v1":  `C:\x\github.com\!m@v1`,
	} {
		if got, err := onWindows(path); err != nil || got != want {
			t.Errorf("%s is at %s (%v), want %s", path, got, err, want)
		}
	}

	for path, why := range map[string]string{
		"mod":          "not absolute",
		"/a:b/mod":     `':'`,
		"/a/b?":        `'?'`,
		`/a\b`:         `'\\'`,
		"/a./b":        "ends with a dot",
		"/a /b":        "ends with a dot or a space",
		"/a\x01b/c":    "control characters",
		"/a/mod\nname": "control characters",
	} {
		if got, err := onWindows(path); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q is at %q, and the error %v, want one with %q", path, got, err, why)
		}
	}
}

// TestModuleOfAFolder finds what a package's tests may read.
func TestModuleOfAFolder(t *testing.T) {
	top := t.TempDir()
	for _, file := range []string{
		"plain/mod/go.mod", "plain/mod/in/sub/x.go", "work/go.work", "work/one/go.mod", "work/one/pkg/x.go",
		"rust/Cargo.lock", "rust/crate/Cargo.toml", "rust/crate/src/x.rs", "none/x",
	} {
		file = filepath.Join(top, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct{ dir, work, want string }{
		{"plain/mod/in/sub", "", "plain/mod"},
		{"plain/mod", "", "plain/mod"},
		{"work/one/pkg", "", "work"},
		{"work/one/pkg", "off", "work/one"},
		{"work/one/pkg", filepath.Join(top, "none/go.work"), "work/one"},
		{"work/one/pkg", filepath.Join(top, "go.work"), "."},
		{"work/one/pkg", "/go.work", "work/one"},
		{"rust/crate/src", "", "rust"},
		{"none", "", "none"},
	} {
		env := func(name string) string {
			if name == "GOWORK" {
				return tt.work
			}
			return ""
		}
		if got := moduleOf(filepath.Join(top, tt.dir), env); got != filepath.Join(top, tt.want) {
			t.Errorf("with GOWORK=%q that of %s is %s, want %s", tt.work, tt.dir, got, filepath.Join(top, tt.want))
		}
	}
}
