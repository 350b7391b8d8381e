package tools

import "testing"

func TestChoice(t *testing.T) {
	for _, tc := range []struct {
		name  string
		keys  []rune
		input string
		args  []string
		want  result
	}{
		{"yes", []rune{'y'}, "", nil, result{1, "[Y,N]?Y\n", ""}},
		{"another_key_first", []rune{'x', 'n'}, "", nil, result{2, "[Y,N]?\aN\n", ""}},
		{"choices", []rune{'b'}, "", []string{"/c", "abc", "/m", "Which"}, result{2, "Which [A,B,C]?B\n", ""}},
		{"choices_with_colon", []rune{'c'}, "", []string{"/C:abc", "/N"}, result{3, "C\n", ""}},
		{"sensitive", []rune{'A', 'a'}, "", []string{"/cs", "/c", "xa"}, result{2, "[x,a]?\aa\n", ""}},
		{"time_is_over", []rune{}, "", []string{"/t", "0", "/d", "n"}, result{2, "[Y,N]?N\n", ""}},
		{"no_console_and_time", nil, "", []string{"/t", "1", "/d", "n"}, result{2, "[Y,N]?N\n", ""}},
		{"piped", nil, "q\r\nn\r\n", nil, result{2, "[Y,N]?N\n", ""}},
		{
			"nothing_piped", nil, "", nil,
			result{255, "[Y,N]?\n", "ERROR: The file is either empty or does not contain the valid choices.\n"},
		},
		{
			"default_is_none", nil, "",
			[]string{"/t", "1", "/d", "x"},
			result{255, "", "ERROR: Invalid syntax. Default choice is not found in the specified choices.\n"},
		},
		{
			"time_alone", nil, "",
			[]string{"/t", "1"},
			result{255, "", "ERROR: Invalid syntax. /T and /D belong together.\nType \"CHOICE /?\" for usage.\n"},
		},
		{
			"twice", nil, "",
			[]string{"/c", "aA"},
			result{255, "", "ERROR: Invalid syntax. Duplicate choices are not allowed.\nType \"CHOICE /?\" for usage.\n"},
		},
		{
			"range", nil, "",
			[]string{"/t", "99999", "/d", "y"},
			result{255, "", "ERROR: Invalid syntax. Valid range for /t is (0 - 9999).\n"},
		},
		{
			"unknown", nil, "",
			[]string{"/z"},
			result{255, "", "ERROR: Invalid argument/option - '/z'.\nType \"CHOICE /?\" for usage.\n"},
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

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{"a.txt": "One\r\ntwo\r\nthree two\r\n", "b.txt": "none"})
	const text = "One\r\ntwo\r\nTWO\r\n"
	for _, tc := range []struct {
		name, input string
		args        []string
		want        result
	}{
		{"plain", text, []string{"two"}, result{0, "two\n", ""}},
		{"none", text, []string{"four"}, result{1, "", ""}},
		{"count", text, []string{"/c", "two"}, result{0, "1\n", ""}},
		{"count_none", text, []string{"/c", "four"}, result{1, "0\n", ""}},
		{"ignore_case", text, []string{"/i", "two"}, result{0, "two\nTWO\n", ""}},
		{"invert", text, []string{"/V", "two"}, result{0, "One\nTWO\n", ""}},
		{"all_lines", text, []string{"/c", "/v", ""}, result{0, "3\n", ""}},
		{"numbers", text, []string{"/n", "/i", "TWO"}, result{0, "[2]two\n[3]TWO\n", ""}},
		{"offline", text, []string{"/offline", "two"}, result{0, "two\n", ""}},
		{"file", "", []string{"two", "a.txt"}, result{0, "\n---------- A.TXT\ntwo\nthree two\n", ""}},
		{"files", "", []string{"/c", "two", "*.txt"}, result{0, "\n---------- A.TXT: 2\n\n---------- B.TXT: 0\n", ""}},
		{"no_file", "", []string{"two", "c.txt"}, result{1, "", "File not found - C.TXT\n"}},
		{"a_folder", "", []string{"two", "."}, result{1, "", "Access denied - .\n"}},
		{"no_string", "", nil, result{2, "", "FIND: Parameter format not correct\n"}},
		{"unknown", "", []string{"/x", "two"}, result{2, "", "FIND: Invalid switch\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, &fake{}, tc.input, append([]string{"find"}, tc.args...)...)
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
