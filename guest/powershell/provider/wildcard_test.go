package provider

import "testing"

// TestNoDrive checks which drives are known to be missing.
func TestNoDrive(t *testing.T) {
	for path, missing := range map[string]bool{
		`C:\x`: false, "x": false, "HKLM:": false, "cert:x": false, "Registry::x": false, "env:X": false, "data:": true, `Q1:\x`: true,
	} {
		if err := NoDrive(path); (err != nil) != missing {
			t.Errorf("%q: %v, want it missing: %v", path, err, missing)
		}
	}
}

func TestPathsOfOtherDrives(t *testing.T) {
	for path, bad := range map[string]bool{
		`C:\x`:           false,
		"c:x":            false,
		"/x":             false,
		`\\server\share`: false,
		`\\?\C:\x`:       false,
		"env:X":          false,
		"a/b:c":          false,
		"..":             false,
		"HKLM:/x":        true,
		`hkcu:\x`:        true,
		"Cert:":          true,
		"variable:x":     true,
		"Function:f":     true,
		"data:x":         false, // a script may have made it
		"~":              false,
		`~\x`:            false,
		`Microsoft.PowerShell.Core\FileSystem::C:\x`: false,
		"Registry::HKLM": true,
	} {
		if err := BadPath(path); (err != nil) != bad {
			t.Errorf("%q: %v, want it refused: %v", path, err, bad)
		}
	}
}
