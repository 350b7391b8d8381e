//go:build wine

package winrun

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// testBackup: on a host BackupRead gives a file's data as one stream, also in pieces that are smaller than its header,
// and nothing of a folder. In a container it is refused, as by Wine.
func testBackup(t *testing.T, p prefix) {
	t.Helper()
	const text = "what is in the file"
	p.Write(t, "backed.txt", text)
	if got := p.line(t, `prog backup C:\backed.txt`); got.code == 0 {
		t.Errorf("in a container: %+v", got)
	}

	const token = "ProgramData/Mullion/hns.token"
	p.Write(t, token, "secret")
	t.Cleanup(func() {
		if err := os.Remove(p.Path(token)); err != nil {
			t.Error(err)
		}
	})

	if err := os.MkdirAll(filepath.Join(p.Path("backed.dir"), "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Write(t, "backed.empty", "")
	header := func(size byte) string {
		return "01000000" + "00000000" + hex.EncodeToString([]byte{size}) + "00000000000000" + "00000000"
	}

	for name, want := range map[string]string{
		"backed.txt":   header(byte(len(text))) + hex.EncodeToString([]byte(text)),
		"backed.empty": header(0),
		"backed.dir":   "",
	} {
		if got := p.line(t, `prog backup C:\`+name); got.code != 0 || got.out != want+"\n" {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
}
