package text

import (
	"testing"

	"mullion.dev/mullion/guest/tools/program/programtest"
)

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	programtest.Write(t, ".", map[string]string{"a.txt": "One\r\ntwo\r\nthree two\r\n", "b.txt": "none"})
	const text = "One\r\ntwo\r\nTWO\r\n"
	for _, tc := range []struct {
		name, input string
		args        []string
		want        result
	}{
		{"plain", text, []string{"two"}, result{Out: "two\n"}},
		{"none", text, []string{"four"}, result{Code: 1}},
		{"count", text, []string{"/c", "two"}, result{Out: "1\n"}},
		{"count_none", text, []string{"/c", "four"}, result{Code: 1, Out: "0\n"}},
		{"ignore_case", text, []string{"/i", "two"}, result{Out: "two\nTWO\n"}},
		{"invert", text, []string{"/V", "two"}, result{Out: "One\nTWO\n"}},
		{"all_lines", text, []string{"/c", "/v", ""}, result{Out: "3\n"}},
		{"numbers", text, []string{"/n", "/i", "TWO"}, result{Out: "[2]two\n[3]TWO\n"}},
		{"offline", text, []string{"/offline", "two"}, result{Out: "two\n"}},
		{"file", "", []string{"two", "a.txt"}, result{Out: "\n---------- A.TXT\ntwo\nthree two\n"}},
		{"files", "", []string{"/c", "two", "*.txt"}, result{Out: "\n---------- A.TXT: 2\n\n---------- B.TXT: 0\n"}},
		{"no_file", "", []string{"two", "c.txt"}, result{Code: 1, Err: "File not found - C.TXT\n"}},
		{"a_folder", "", []string{"two", "."}, result{Code: 1, Err: "Access denied - .\n"}},
		{"no_string", "", nil, result{Code: 2, Err: "FIND: Parameter format not correct\n"}},
		{"unknown", "", []string{"/x", "two"}, result{Code: 2, Err: "FIND: Invalid switch\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, tc.input, append([]string{"find"}, tc.args...)...)
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
