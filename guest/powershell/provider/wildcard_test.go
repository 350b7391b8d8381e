package provider

import "testing"

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
		"~":              true,
		"~/x":            true,
		`~\x`:            true,
		"~x":             false,
		`Microsoft.PowerShell.Core\FileSystem::C:\x`: true,
		"Registry::HKLM": true,
		"a~":             false,
	} {
		if err := BadPath(path); (err != nil) != bad {
			t.Errorf("%q: %v, want it refused: %v", path, err, bad)
		}
	}
}
