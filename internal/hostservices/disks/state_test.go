package disks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStateOfAnOlderNode reads a file as it has always been, and writes it so.
func TestStateOfAnOlderNode(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "disks.json")
	const text = `{
  "version": 1,
  "disks": [
    {
      "number": 1,
      "serial": "0123456789ABCDEF",
      "name": "Mullion Virtual Disk",
      "offline": true
    },
    {
      "number": 3,
      "remote": "iscsi iqn.2026-11.dev.mullion:a 10.0.0.1:3260 1",
      "serial": "",
      "name": "",
      "readOnly": true
    }
  ],
  "paths": {
    "00000000-0000-0000-0000-000000000022": [
      "E:"
    ]
  }
}
`

	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	s, err := stateFile(dir).Load(state{Version: stateVersion})
	want := state{
		Version: 1,
		Disks: []record{
			{Number: 1, Serial: "0123456789ABCDEF", Name: "Mullion Virtual Disk", Offline: true},
			{Number: 3, Remote: "iscsi iqn.2026-11.dev.mullion:a 10.0.0.1:3260 1", ReadOnly: true},
		},
		Paths: map[string][]string{"00000000-0000-0000-0000-000000000022": {"E:"}},
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
