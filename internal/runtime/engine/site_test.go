package engine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHasIIS(t *testing.T) {
	make := func(t *testing.T, names ...string) string {
		t.Helper()
		layer := t.TempDir()
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(layer, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return layer
	}

	linked := make(t, drive)
	if err := os.Symlink(make(t, "system32/inetsrv"), filepath.Join(linked, drive, "Windows")); err != nil {
		t.Fatal(err)
	}

	for name, tt := range map[string]struct {
		layers []string
		want   bool
	}{
		"none":           {nil, false},
		"without":        {[]string{make(t, drive+"/inetpub/wwwroot", drive+"/Windows/System32")}, false},
		"with":           {[]string{make(t, drive), make(t, drive+"/Windows/System32/inetsrv")}, true},
		"other letters":  {[]string{make(t, drive+"/WINDOWS/system32/InetSrv")}, true},
		"a link outside": {[]string{linked}, false},
		"no layer":       {[]string{"/does/not/exist"}, false},
	} {
		if got := hasIIS(tt.layers); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
