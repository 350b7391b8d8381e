package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program/programtest"
)

func TestFC(t *testing.T) {
	t.Chdir(t.TempDir())
	programtest.Write(t, ".", map[string]string{
		"a": "1\n2\n3\n4\n5\n", "b": "1\n2\nX\n4\n5\n", "c": "1\n2\n4\n5\n6\n", "upper": "A b\n", "lower": "a  b\n",
		"ansi": "\xe9\tA\n", "other": "\xff\ta\n", "ansi2": "\xe9\ta\n", "e": "", "p.exe": "abc", "q.exe": "aXcd",
	})

	const same = "FC: no differences encountered\n\n"
	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"same", []string{"a", "a"}, result{Out: "Comparing files a and A\n" + same}},
		{"line", []string{"a", "b"}, result{Code: 1, Out: "Comparing files a and B\n***** a\n2\n3\n4\n***** B\n2\nX\n4\n*****\n\n\n"}},
		{"bytes of ANSI", []string{"/c", "ansi", "other"}, result{
			Code: 1, Out: "Comparing files ansi and OTHER\n***** ansi\n\xe9\tA\n***** OTHER\n\xff\ta\n*****\n\n\n",
		}},
		{"bytes of ANSI and their case", []string{"/c", "ansi", "ansi2"}, result{Out: "Comparing files ansi and ANSI2\n" + same}},
		{
			"numbers",
			[]string{"/n", "a", "b"},
			result{Code: 1, Out: "Comparing files a and B\n***** a\n    2:  2\n    3:  3\n    4:  4\n***** B\n    2:  2\n    3:  X\n    4:  4\n*****\n\n\n"},
		},
		{
			"gone_and_new",
			[]string{"a", "c"},
			result{Code: 1, Out: "Comparing files a and C\n***** a\n2\n3\n4\n***** C\n2\n4\n*****\n\n***** a\n5\n***** C\n5\n6\n*****\n\n\n"},
		},
		{
			"empty",
			[]string{"e", "upper"},
			result{Code: 1, Out: "Comparing files e and UPPER\n***** e\n***** UPPER\nA b\n*****\n\n\n"},
		},
		{
			"case_and_space",
			[]string{"/c", "/w", "upper", "lower"},
			result{Out: "Comparing files upper and LOWER\n" + same},
		},
		{
			"bytes",
			[]string{"p.exe", "q.exe"},
			result{Code: 1, Out: "Comparing files p.exe and Q.EXE\n00000001: 62 58\nFC: Q.EXE longer than p.exe\n\n\n"},
		},
		{"bytes_same", []string{"/b", "a", "a"}, result{Out: "Comparing files a and A\n" + same}},
		{"missing", []string{"a", "none"}, result{Code: 2, Err: "FC: cannot open none - No such file or folder\n\n"}},
		{"one", []string{"a"}, result{Code: -1, Err: "FC: Insufficient number of file specifications\n\n"}},
		{"unknown", []string{"/z", "a", "b"}, result{Code: -1, Err: "FC: Invalid Switch\n\n"}},
		{
			"too_different",
			[]string{"/lb1", "a", "upper"},
			result{Code: 1, Out: "Comparing files a and UPPER\nResync Failed.  Files are too different.\n***** a\n1\n2\n3\n4\n5\n***** UPPER\nA b\n*****\n\n\n"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, "", append([]string{"fc"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
