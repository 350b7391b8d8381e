package sides_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/windows/winapi"
	"mullion.dev/mullion/internal/windows/wire/ourprograms"
)

func TestSupportRows(t *testing.T) {
	if err := support.Check(winapi.SupportRows()); err != nil {
		t.Error(err)
	}
}

// TestRowsNameTheLibraries checks that every library and program of guest/c has a row.
func TestRowsNameTheLibraries(t *testing.T) {
	speaksOf := map[string]string{ // folder -> word of a row
		"bcryptprimitives": "bcryptprimitives.dll", "mi": "mi.dll", "pdh": "pdh.dll", "vmcompute": "vmcompute.dll",
		"hooks": "CreateSymbolicLinkW", "run": "commit limit", "refuse": "dism", "ping": "ping",
		"computenetwork": "HcnCreateNetwork", "ncrypt": "ncrypt.dll", "wevtapi": "wevtapi.dll", "tdh": "tdh.dll",
		"http": "http.sys", "httpapi": "httpapi.dll", "computecore": "computecore.dll", "bindfltapi": "bindfltapi.dll",
		"virtdisk": "virtdisk.dll", "offreg": "offreg.dll",
	}

	folders, err := filepath.Glob(filepath.Join(libraries, "*/flags.mk"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("find the shims: %v, %v", folders, err)
	}
	var names strings.Builder
	for _, r := range append(winapi.SupportRows(), hns.SupportRows()...) {
		names.WriteString(r.Name + "\n")
	}

	for _, f := range folders {
		name := filepath.Base(filepath.Dir(f))
		word, known := speaksOf[name]
		if !known || !strings.Contains(names.String(), word) {
			t.Errorf("guest/c/%s: no support row speaks of it", name)
		}
	}

	for _, name := range ourprograms.Names() {
		if !strings.Contains(names.String(), name) {
			t.Errorf("no support row speaks of %s", name)
		}
	}

	if _, err := os.Stat(filepath.Join(libraries, "hooks/README.md")); err != nil {
		t.Error(err)
	}
}
