package initiator

import (
	"encoding/json"
	"os"
	"testing"
)

// TestLoad begins with an attempt to log in that was cut short, beside the session whose place it would have taken: in
// the same boot the attempt goes on, in the next the session is made again.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for from, want := range map[string]string{boot(): "old new ", "another boot": "old "} {
		data, err := json.Marshal(state{Version: stateVersion, Sessions: []session{
			{ID: "old", Target: "iqn.2026-11.dev.mullion:a", Persistent: true, Boot: from, Ended: from},
			{ID: "new", Target: "iqn.2026-11.dev.mullion:a", Persistent: true, Boot: from},
		}})
		if err == nil {
			err = os.WriteFile(stateFile(dir), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}

		s, err := load(dir)
		got := ""
		for _, one := range s.Sessions {
			got += one.ID + " "
		}
		if got != want || err != nil {
			t.Errorf("of boot %q: %q, %v, want %q", from, got, err, want)
		}
	}
}
