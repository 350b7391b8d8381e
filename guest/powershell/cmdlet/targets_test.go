package cmdlet

import "testing"

// TestParametersForTheRegistry checks that a parameter which a cmdlet carries out for files only is refused for keys.
func TestParametersForTheRegistry(t *testing.T) {
	c := Cmdlet{Name: "Test-Path", Keys: []string{}}
	if err := c.RefusesKey(`HKLM:\SOFTWARE`, true, []string{PathName, ErrorAction, "pathtype"}); err == nil {
		t.Error("-PathType of Test-Path is taken for a key")
	}
	for _, path := range []string{`HKLM:\SOFTWARE`, `C:\Windows`} {
		if err := c.RefusesKey(path, true, []string{PathName, ErrorAction}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
