package tools

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/windows/wire/hostpower"
)

// Zone and Zones make a fake a Clock.
func (w *fake) Zone(string) (Zone, error) {
	return Zone{
		ID: "W. Europe Standard Time", Standard: "W. Europe Standard Time", Daylight: "W. Europe Daylight Time", Bias: -60,
		DaylightBias: -60, HasDaylight: true, StandardBegins: "(M:10 D:5 DoW:0)", DaylightBegins: "(M:3 D:5 DoW:0)",
	}, w.err
}

func (w *fake) SetZone(id string, winter bool) error {
	if w.err == nil {
		w.zone = fmt.Sprint(id, " ", winter)
	}
	return w.err
}

func (w *fake) Zones() ([]Zone, error) {
	return []Zone{
		{ID: "UTC", Display: "(UTC) Coordinated Universal Time"}, {ID: "Tokyo Standard Time", Display: "(UTC+09:00) Osaka, Sapporo, Tokyo"},
	}, w.err
}

// MayEnd and End make a fake a Power.
func (w *fake) MayEnd() error { return w.err }

func (w *fake) End() error {
	w.ended = true
	return w.err
}

func (w *fake) EndHost(restart bool, after time.Duration) error {
	if w.power != "" {
		return hostpower.ErrPending
	}
	w.power = fmt.Sprintf("restart %v after %s", restart, after)
	return nil
}

func (w *fake) KeepHost() (bool, error) {
	there := w.power != ""
	w.power = ""
	return there, nil
}

// Reservations and Reserve make a fake a URLs.
func (w *fake) Reservations() (map[string]string, error) { return w.urls, w.err }

func (w *fake) Reserve(url, user string) error {
	if w.urls == nil {
		w.urls = map[string]string{}
	}
	w.urls[url] = user
	if user == "" {
		delete(w.urls, url)
	}
	return w.err
}

func TestShutdown(t *testing.T) {
	for _, tc := range []struct {
		line  string
		err   error
		code  int
		after time.Duration
		ended bool
		says  string
	}{
		{"shutdown /s /t 0", nil, 0, 0, true, ""},
		{"shutdown -r -f -t 5 -c bye", nil, 0, 5 * time.Second, true, ""},
		{"shutdown /p", nil, 0, 0, true, ""},
		{"shutdown /s", nil, 0, 30 * time.Second, true, ""},
		{"shutdown /s /t 0", errors.New("no"), 5, 0, false, "Access is denied.(5)"},
		{"shutdown /a", nil, 1116, 0, false, "no shutdown was in progress.(1116)"},
		{"shutdown /l", nil, 50, 0, false, "not supported"},
		{"shutdown /s /t x", nil, 1, 0, false, ""},
		{"shutdown /s /r", nil, 1, 0, false, ""},
		{"shutdown now", nil, 1, 0, false, ""},
		{"shutdown", nil, 0, 0, false, ""},
		{"shutdown /?", nil, 0, 0, false, ""},
	} {
		t.Run(tc.line, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &fake{err: tc.err}
				begin := time.Now()
				got := run(t, w, "", strings.Fields(tc.line)...)
				if got.code != tc.code || w.ended != tc.ended || time.Since(begin) != tc.after ||
					!strings.Contains(got.err, tc.says) {
					t.Errorf("%+v, ended %v after %s", got, w.ended, time.Since(begin))
				}
			})
		})
	}
}

// TestShutdownOfHost asks for the end of a host, one command after the other.
func TestShutdownOfHost(t *testing.T) {
	w := &fake{err: ErrHost}
	for _, tc := range []struct {
		line  string
		code  int
		asked string
		says  string
	}{
		{"shutdown /a", 1116, "", "no shutdown was in progress.(1116)"},
		{"shutdown -r -t 30", 0, "restart true after 30s", ""},
		{"shutdown /s", 1190, "restart true after 30s", "already been scheduled.(1190)"},
		{"shutdown /a", 0, "", ""},
		{"shutdown /p", 0, "restart false after 0s", ""},
		{"shutdown /a", 0, "", ""},
		{"shutdown /h", 50, "", "not supported"},
	} {
		got := run(t, w, "", strings.Fields(tc.line)...)
		if got.code != tc.code || w.power != tc.asked || !strings.Contains(got.err, tc.says) || w.ended {
			t.Errorf("%s: %+v, asked for %q", tc.line, got, w.power)
		}
	}
}

func TestMore(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("list", []byte("a\tb\n\n\n\n123456789\tc\r\nend"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		line, input string
		want        result
	}{
		{"more", "one\r\ntwo", result{0, "one\ntwo\n", ""}},
		{"more list", "", result{0, "a       b\n\n\n\n123456789       c\nend\n", ""}},
		{"more /e /s /t4 +1 list", "", result{0, "\n123456789   c\nend\n", ""}},
		{"more none list", "", result{1, "a       b\n\n\n\n123456789       c\nend\n", "Cannot access file none\n"}},
		{"more /x", "", result{1, "", "Unrecognized switch - '/x'\n"}},
	} {
		if got := run(t, &fake{}, tc.input, strings.Fields(tc.line)...); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.line, got, tc.want)
		}
	}
}

func TestURLs(t *testing.T) {
	w := &fake{}
	for _, tc := range []struct {
		line string
		want result
	}{
		{"netsh http add urlacl url=http://+:80/ user=Everyone", result{0, "\nURL reservation successfully added\n\n", ""}},
		{
			"netsh http add urlacl http://+:80/ Users",
			result{1, "", "Url reservation add failed, Error: 183\nCannot create a file when that file already exists.\n"},
		},
		{"netsh HTTP add urlacl url=http://+:80 user=Everyone", result{1, "", "The parameter is incorrect.\n"}},
		{
			"netsh http show urlacl", result{0, "\nURL Reservations:\n-----------------\n\n    Reserved URL            : http://+:80/\n" +
				"        User: Everyone\n            Listen: Yes\n            Delegate: No\n\n", ""},
		},
		{"netsh http show urlacl url=http://+:81/", result{0, "\nURL Reservations:\n-----------------\n\n", ""}},
		{"netsh http delete urlacl url=http://+:80/", result{0, "\nURL reservation successfully deleted\n\n", ""}},
		{
			"netsh http delete urlacl url=http://+:80/",
			result{1, "", "Url reservation delete failed, Error: 2\nThe system cannot find the file specified.\n"},
		},
		{"netsh http flush urlacl url=http://+:80/", result{1, "", "The following command was not found: http flush urlacl.\n"}},
	} {
		if got := run(t, w, "", strings.Fields(tc.line)...); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.line, got, tc.want)
		}
	}
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
		if got := run(t, w, "", append([]string{"tzutil"}, tt.args...)...); got.code != tt.code || w.zone != tt.want {
			t.Errorf("tzutil %q: set %q, exit code %d, want %q, %d", tt.args, w.zone, got.code, tt.want, tt.code)
		}
	}
}

// TestSystemFails checks what the programs do when Windows does not answer.
func TestSystemFails(t *testing.T) {
	for _, line := range []string{
		"tzutil /g", "tzutil /l", "tzutil /s UTC", "w32tm /tz", "netsh interface ip show config", "netsh http show urlacl",
		"netsh http add urlacl url=http://+:80/ user=x",
	} {
		if got := run(t, &fake{err: errNoReply}, "", strings.Fields(line)...); got.code == 0 || got.err == "" {
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
