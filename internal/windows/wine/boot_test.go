package wine

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newTestWine is a Wine whose wineboot fails as often as told, and then makes what is needed of a prefix.
func newTestWine(t *testing.T, failures int) (Options, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var said bytes.Buffer
	return Options{
		Install: Install{
			Loader: script("wine", fmt.Sprintf(`
echo start >>%[1]s/starts
if [ $(wc -l <%[1]s/starts) -le %[2]d ]; then echo could not load kernel32.dll >&2; exit 53; fi
[ -z "$(ls -A "$WINEPREFIX")" ] || { echo the prefix is not new >&2; exit 1; }
mkdir -p "$WINEPREFIX/drive_c/windows/system32" "$WINEPREFIX/drive_c/users/root"
: >"$WINEPREFIX/.update-timestamp"
for hive in system user userdef; do echo "WINE REGISTRY Version 2" >"$WINEPREFIX/$hive.reg"; done
`, dir, failures)),
			Server: script("wineserver", "exit 0\n"),
		},
		Log: slog.New(slog.NewTextHandler(&said, nil)),
	}, &said
}

// A start of wineboot that fails once is tried again in a new prefix and said in the log; one that fails always is an
// error with what it printed.
func TestBootIsTriedAgain(t *testing.T) {
	for failures, want := range map[int]string{0: "", 1: "", bootTries: "could not load kernel32.dll"} {
		o, said := newTestWine(t, failures)
		tmp := t.TempDir()
		base := filepath.Join(tmp, "base")
		err := o.boot(t.Context(), tmp, base)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("after %d failures: %v", failures, err)
			continue
		}
		if warned := strings.Contains(said.String(), "try again"); warned != (failures > 0) {
			t.Errorf("after %d failures the log says %q", failures, said)
		}
		if _, err := os.Stat(filepath.Join(base, "Files", "windows")); (err == nil) != (want == "") {
			t.Errorf("after %d failures: %v", failures, err)
		}
	}
}
