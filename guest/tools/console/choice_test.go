package console

import "testing"

func TestChoice(t *testing.T) {
	for _, tc := range []struct {
		name  string
		keys  []rune
		input string
		args  []string
		want  result
	}{
		{"yes", []rune{'y'}, "", nil, result{Code: 1, Out: "[Y,N]?Y\n"}},
		{"another_key_first", []rune{'x', 'n'}, "", nil, result{Code: 2, Out: "[Y,N]?\aN\n"}},
		{"choices", []rune{'b'}, "", []string{"/c", "abc", "/m", "Which"}, result{Code: 2, Out: "Which [A,B,C]?B\n"}},
		{"choices_with_colon", []rune{'c'}, "", []string{"/C:abc", "/N"}, result{Code: 3, Out: "C\n"}},
		{"sensitive", []rune{'A', 'a'}, "", []string{"/cs", "/c", "xa"}, result{Code: 2, Out: "[x,a]?\aa\n"}},
		{"time_is_over", []rune{}, "", []string{"/t", "0", "/d", "n"}, result{Code: 2, Out: "[Y,N]?N\n"}},
		{"no_console_and_time", nil, "", []string{"/t", "1", "/d", "n"}, result{Code: 2, Out: "[Y,N]?N\n"}},
		{"piped", nil, "q\r\nn\r\n", nil, result{Code: 2, Out: "[Y,N]?N\n"}},
		{
			"nothing_piped", nil, "", nil,
			result{
				Code: 255,
				Out:  "[Y,N]?\n",
				Err:  "ERROR: The file is either empty or does not contain the valid choices.\n",
			},
		},
		{
			"default_is_none", nil, "",
			[]string{"/t", "1", "/d", "x"},
			result{Code: 255, Err: "ERROR: Invalid syntax. Default choice is not found in the specified choices.\n"},
		},
		{
			"time_alone", nil, "",
			[]string{"/t", "1"},
			result{Code: 255, Err: "ERROR: Invalid syntax. /T and /D belong together.\nType \"CHOICE /?\" for usage.\n"},
		},
		{
			"twice", nil, "",
			[]string{"/c", "aA"},
			result{Code: 255, Err: "ERROR: Invalid syntax. Duplicate choices are not allowed.\nType \"CHOICE /?\" for usage.\n"},
		},
		{
			"range", nil, "",
			[]string{"/t", "99999", "/d", "y"},
			result{Code: 255, Err: "ERROR: Invalid syntax. Valid range for /t is (0 - 9999).\n"},
		},
		{
			"unknown", nil, "",
			[]string{"/z"},
			result{Code: 255, Err: "ERROR: Invalid argument/option - '/z'.\nType \"CHOICE /?\" for usage.\n"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, &fake{keys: tc.keys}, tc.input, append([]string{"choice"}, tc.args...)...)
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
