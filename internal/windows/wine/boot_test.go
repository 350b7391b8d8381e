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

// newTestWine returns a Wine whose wineboot fails as often as told. What it has started goes on, and makes what is
// needed of a prefix by the time that wineserver -w returns.
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
if [ $(wc -l <%[1]s/starts) -le %[2]d ]; then
	: >"$WINEPREFIX/goes-on"
	echo could not load kernel32.dll >&2
	exit 53
fi
[ %[2]d = 0 -o -e "$WINEPREFIX/went-on" ] || { echo it did not go on >&2; exit 1; }
mkdir -p "$WINEPREFIX/drive_c/windows/system32" "$WINEPREFIX/drive_c/users/root"
: >"$WINEPREFIX/.update-timestamp"
for hive in system user userdef; do echo "WINE REGISTRY Version 2" >"$WINEPREFIX/$hive.reg"; done
`, dir, failures)),
			Server: script("wineserver", `[ ! -e "$WINEPREFIX/goes-on" ] || mv "$WINEPREFIX/goes-on" "$WINEPREFIX/went-on"
`),
		},
		Log: slog.New(slog.NewTextHandler(&said, nil)),
	}, &said
}

// A start of wineboot that fails is tried again, once what it has started is done, and said in the log; one that fails
// always is an error with what it printed.
func TestBootIsTriedAgain(t *testing.T) {
	for failures, want := range map[int]string{0: "", 1: "", bootTries: "could not load kernel32.dll"} {
		o, said := newTestWine(t, failures)
		tmp := t.TempDir()
		base := filepath.Join(tmp, "base")
		_, err := o.boot(t.Context(), tmp, base)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
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
