package machine

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
				if got.Code != tc.code || w.ended != tc.ended || time.Since(begin) != tc.after ||
					!strings.Contains(got.Err, tc.says) {
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
		if got.Code != tc.code || w.power != tc.asked || !strings.Contains(got.Err, tc.says) || w.ended {
			t.Errorf("%s: %+v, asked for %q", tc.line, got, w.power)
		}
	}
}
