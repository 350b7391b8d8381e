package initiator

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/hostservices/iscsi"
)

// TestStateOfAnOlderNode reads a file as it has always been, and writes it so.
func TestStateOfAnOlderNode(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "iscsi.json")
	text := fmt.Sprintf(`{
  "version": 1,
  "portals": [
    {
      "address": "10.0.0.1",
      "port": 3260,
      "chap": {
        "user": "me",
        "secret": "hush-of-the-test"
      },
      "targets": [
        {
          "name": "iqn.2026-11.dev.mullion:a",
          "portals": [
            "10.0.0.1:3260,1"
          ]
        }
      ]
    }
  ],
  "sessions": [
    {
      "id": "0123456789abcdef",
      "target": "iqn.2026-11.dev.mullion:a",
      "address": "10.0.0.1",
      "port": 3260,
      "authentication": "NONE",
      "isid": [
        128,
        1,
        2,
        3,
        4,
        5
      ],
      "persistent": true,
      "boot": %q
    }
  ],
  "secret": "hush-of-the-host"
}
`, boot())

	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	s, err := load(dir)
	want := state{
		Version: 1,
		Portals: []portal{{
			Address: "10.0.0.1",
			Port:    3260,
			CHAP:    &iscsi.CHAP{User: "me", Secret: "hush-of-the-test"},
			Targets: []iscsi.Target{{Name: "iqn.2026-11.dev.mullion:a", Portals: []string{"10.0.0.1:3260,1"}}},
		}},
		Sessions: []session{{
			ID:             "0123456789abcdef",
			Target:         "iqn.2026-11.dev.mullion:a",
			Address:        "10.0.0.1",
			Port:           3260,
			Authentication: "NONE",
			ISID:           [6]byte{128, 1, 2, 3, 4, 5},
			Persistent:     true,
			Boot:           boot(),
		}},
		Secret: "hush-of-the-host",
	}

	if diff := cmp.Diff(want, s); diff != "" || err != nil {
		t.Fatalf("%v, -want +got:\n%s", err, diff)
	}

	if err := stateFile(dir).Save(s); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("%v, -want +got:\n%s", err, cmp.Diff(text, string(got)))
	}
}

// TestLoad begins with an attempt to log in that was cut short, beside the session whose place it would have taken: in
// the same boot the attempt goes on, in the next the session is made again.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for from, want := range map[string]string{boot(): "old new ", "another boot": "old "} {
		err := stateFile(dir).Save(state{Version: stateVersion, Sessions: []session{
			{ID: "old", Target: "iqn.2026-11.dev.mullion:a", Persistent: true, Boot: from, Ended: from},
			{ID: "new", Target: "iqn.2026-11.dev.mullion:a", Persistent: true, Boot: from},
		}})
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
