package text

import (
	"errors"
	"io"
	"os"
	"testing"
	"testing/iotest"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

func TestSort(t *testing.T) {
	dir := t.TempDir()
	programtest.Write(t, dir, map[string]string{"in": "b\r\nA\r\nc\r\na\r\n"})
	t.Chdir(dir) // on this system a name with its folder looks like an option
	const in, out = "in", "out"
	for _, tt := range []struct {
		name, input string
		args        []string
		want        result
	}{
		{"input", "b\nA\nc\n", nil, result{Out: "A\nb\nc\n"}},
		{"file", "", []string{in}, result{Out: "A\na\nb\nc\n"}},
		{"reverse", "b\nA\nc\n", []string{"/r"}, result{Out: "c\nb\nA\n"}},
		{"unique", "", []string{"/UNIQUE", in}, result{Out: "A\nb\nc\n"}},
		{"ANSI", "\xff1\n\xe91\nB\n\xe91\n", []string{"/unique"}, result{Out: "B\n\xe91\n\xff1\n"}},
		{"column of ANSI", "\xff2\n\xe91\n", []string{"/+2"}, result{Out: "\xe91\n\xff2\n"}},
		{"column", "1b\n3\n2a\n", []string{"/+2"}, result{Out: "3\n2a\n1b\n"}},
		{"to a file", "", []string{in, "/o", out}, result{}},
		{"no file", "", []string{"none"}, result{Code: 1, Err: "noneThe system cannot find the file specified.\n"}},
		{"switch", "", []string{"/x"}, result{Code: 1, Err: "Invalid switch.\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, tt.input, append([]string{"sort"}, tt.args...)...); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}

	e := program.Env{
		Stdin:  iotest.ErrReader(errors.New("a console was read")),
		Stdout: io.Discard,
		Stderr: io.Discard,
	}
	if code := Sort(e, []string{"/r", in}); code != 0 {
		t.Errorf("with a file it waits for the console: %d", code)
	}

	if text, err := os.ReadFile(out); err != nil || string(text) != "A\r\na\r\nb\r\nc\r\n" {
		t.Errorf("%q, %v", text, err)
	}
}
