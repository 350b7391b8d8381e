package console

import (
	"strings"
	"testing"
)

func TestTimeout(t *testing.T) {
	for _, tc := range []struct {
		name string
		keys []rune
		args []string
		code int
		text string
	}{
		{
			"no_console", nil,
			[]string{"1"},
			1,
			"ERROR: Input redirection is not supported, exiting the process immediately.\n",
		},
		{"key", []rune{'x'}, []string{"/t", "99999"}, 0, "\nWaiting for 99999 seconds, press a key to continue ...\n"},
		{"any_key", []rune{'x'}, []string{"-1"}, 0, "\nPress any key to continue ...\n"},
		{"over", []rune{}, []string{"0", "/nobreak"}, 0, "\nWaiting for 0 seconds, press CTRL+C to quit ...\n"},
		{"range", []rune{}, []string{"100000"}, 1, "Valid range is -1 to 99999 seconds."},
		{"twice", []rune{}, []string{"1", "2"}, 1, "Default option is not allowed more than '1' time(s)."},
		{"nothing", []rune{}, nil, 1, "ERROR: Invalid syntax."},
		{"unknown", []rune{}, []string{"/z"}, 1, "ERROR: Invalid argument/option - '/z'."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, &fake{keys: tc.keys}, "", append([]string{"timeout"}, tc.args...)...)
			if got.Code != tc.code || !strings.Contains(got.Out+got.Err, tc.text) {
				t.Errorf("%+v, want %d, %q", got, tc.code, tc.text)
			}
		})
	}
}
