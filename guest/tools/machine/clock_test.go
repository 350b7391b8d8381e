package machine

import (
	"errors"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/tools/program/programtest"
)

func TestGoldens(t *testing.T) {
	programtest.Goldens(t, *update, func(t *testing.T, input string, args ...string) result {
		t.Helper()
		return run(t, &fake{}, input, args...)
	}, "clock.txtar")
}

// TestSetZone sets the zone by its name, of several words, and without daylight time.
func TestSetZone(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"/s", "Tokyo Standard Time"}, "Tokyo Standard Time false", 0},
		{[]string{"-S", "Pacific Standard Time_dstoff"}, "Pacific Standard Time true", 0},
		{[]string{"/s"}, "", 1},
		{[]string{"/s", "Tokyo", "Standard", "Time"}, "", 1},
	} {
		w := &fake{}
		if got := run(t, w, "", append([]string{"tzutil"}, tt.args...)...); got.Code != tt.code || w.zone != tt.want {
			t.Errorf("tzutil %q: set %q, exit code %d, want %q, %d", tt.args, w.zone, got.Code, tt.want, tt.code)
		}
	}
}

// TestSystemFails checks what the programs do when Windows does not answer.
func TestSystemFails(t *testing.T) {
	for _, line := range []string{"tzutil /g", "tzutil /l", "tzutil /s UTC", "w32tm /tz"} {
		if got := run(t, &fake{err: errors.New("no answer")}, "", strings.Fields(line)...); got.Code == 0 || got.Err == "" {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestIsUTC(t *testing.T) {
	for _, tc := range []struct {
		tz, file string
		want     bool
	}{
		{"", "", true},
		{"", "TZif2...\nUTC0\n", true},
		{"", "TZif2...\nGMT0\n", false},
		{"", "nonsense", false},
		{"UTC", "TZif2...\nGMT0\n", true},
		{":Etc/UTC", "", true},
		{"Africa/Abidjan", "TZif2...\nUTC0\n", false},
	} {
		if got := isUTC(tc.tz, []byte(tc.file)); got != tc.want {
			t.Errorf("TZ %q, %q: %v, want %v", tc.tz, tc.file, got, tc.want)
		}
	}
}
