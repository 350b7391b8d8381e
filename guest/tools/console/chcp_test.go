package console

import "testing"

func TestChcp(t *testing.T) {
	const active = "Active code page: "
	for _, tc := range []struct {
		name string
		keys []rune // nil: there is no console
		args []string
		code int
		out  string
	}{
		{"of_the_console", []rune{}, nil, 0, active + "850\n"},
		{"no_console", nil, nil, 0, active + "437\n"},
		{"set", []rune{}, []string{"65001"}, 0, active + "65001\n"},
		{"set_without_console", nil, []string{"65001"}, 0, active + "65001\n"},
		{"none_such", []rune{}, []string{"12"}, 1, "Invalid code page\n"},
		{"none_such_without_console", nil, []string{"12"}, 1, "Invalid code page\n"},
		{"word", nil, []string{"utf-8"}, 1, "Parameter format not correct - utf-8\n"},
		{"negative", nil, []string{"-1"}, 1, "Parameter format not correct - -1\n"},
		{"two", nil, []string{"437", "850"}, 1, "Parameter format not correct - 850\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := run(t, &fake{keys: tc.keys}, "", append([]string{"chcp"}, tc.args...)...); got.Code != tc.code || got.Out != tc.out {
				t.Errorf("%+v, want %d, %q", got, tc.code, tc.out)
			}
		})
	}
}
