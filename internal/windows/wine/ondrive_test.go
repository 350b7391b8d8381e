package wine

import "testing"

// A path by the name of C:'s volume is one of C:; others stay as they are.
func TestOnDrive(t *testing.T) {
	const volume = `\\?\Volume{00000000-0000-0000-0000-000000000043}`
	for path, want := range map[string]string{
		volume + `\var\lib`: `C:\var\lib`, `\\?\VOLUME{00000000-0000-0000-0000-000000000043}\x`: `C:\x`,
		volume: volume, volume + `x\y`: volume + `x\y`, `C:\x`: `C:\x`, ``: ``,
		`\\?\Volume{00000000-0000-0000-0000-000000000044}\x`: `\\?\Volume{00000000-0000-0000-0000-000000000044}\x`,
	} {
		if got := OnDrive(path); got != want {
			t.Errorf("OnDrive(%q) = %q, want %q", path, got, want)
		}
	}
}
