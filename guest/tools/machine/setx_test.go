package machine

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetx(t *testing.T) {
	const saved = "\nSUCCESS: Specified value was saved.\n"
	for _, tc := range []struct {
		name       string
		args       []string
		want       result
		key, value string
	}{
		{"user", []string{"A", "b c"}, result{Out: saved}, "A", "b c"},
		{"machine", []string{"A", "b", "/M"}, result{Out: saved}, "machine A", "b"},
		{"like_an_option", []string{"A", "/x"}, result{Out: saved}, "A", "/x"},
		{
			"key",
			[]string{"A", "/k", `HKLM\Software\X\Y`},
			result{Out: "Extracted value is: value of Y. \n" + saved},
			"A", "value of Y",
		},
		{
			"no_key",
			[]string{"A", "/k", `HKLM\None\Y`},
			result{Code: 1, Err: "ERROR: The specified registry key or value does not exist.\n"},
			"A", "",
		},
		{
			"long",
			[]string{"A", strings.Repeat("x", 1025)},
			result{Out: "\nWARNING: The data being saved is truncated to 1024 characters.\n" + saved},
			"A",
			strings.Repeat("x", 1024),
		},
		{"no_value", []string{"A"}, result{Code: 1, Err: "ERROR: Invalid syntax. \nType \"SETX /?\" for usage.\n"}, "A", ""},
		{
			"unknown",
			[]string{"/z", "A", "b"},
			result{Code: 1, Err: "ERROR: Invalid argument/option - '/z'.\nType \"SETX /?\" for usage.\n"},
			"A", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &fake{variables: map[string]string{}}
			got := run(t, w, "", append([]string{"setx"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got); diff != "" ||
				w.variables[tc.key] != tc.value {
				t.Errorf("%s\n%v", diff, w.variables)
			}
		})
	}

	if got := run(t, &fake{variables: map[string]string{}, err: syscall.EACCES}, "", "setx", "A", "b"); got.Code != 1 ||
		got.Err != "ERROR: "+syscall.EACCES.Error()+"\n" {
		t.Errorf("%+v", got)
	}
}
