package text

import (
	"io"
	"os"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

func TestMore(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("list", []byte("a\tb\n\n\n\n123456789\tc\r\nend"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tc := range []struct {
		line, input string
		want        result
	}{
		{"more", "one\r\ntwo", result{Out: "one\ntwo\n"}},
		{"more list", "", result{Out: "a       b\n\n\n\n123456789       c\nend\n"}},
		{"more /e /s /t4 +1 list", "", result{Out: "\n123456789   c\nend\n"}},
		{"more none list", "", result{
			Code: 1,
			Out:  "a       b\n\n\n\n123456789       c\nend\n",
			Err:  "Cannot access file none\n",
		}},
		{"more /x", "", result{Code: 1, Err: "Unrecognized switch - '/x'\n"}},
	} {
		if got := run(t, tc.input, strings.Fields(tc.line)...); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.line, got, tc.want)
		}
	}
}

// keyboard is a screen of a size at which keys are pressed.
type keyboard struct {
	columns, rows int
	keys          string
}

func (k *keyboard) Size() (columns, rows int) { return k.columns, k.rows }

func (k *keyboard) Key() (rune, error) {
	if k.keys == "" {
		return 0, io.EOF
	}
	key := k.keys[0]
	k.keys = k.keys[1:]
	return rune(key), nil
}

// TestMoreWaits: on a screen a page is as long as that, a line that is too long for it takes several rows.
func TestMoreWaits(t *testing.T) {
	const asks = "-- More  --\r           \r"
	for _, tc := range []struct{ keys, input, want string }{
		{"", "1\n2\n3\n", "1\n2\n3\n"},
		{" ", "1\n2\n3\n4\n5\n", "1\n2\n3\n" + asks + "4\n5\n"},
		{"\r\r", "1\n2\n3\n4\n5\n", "1\n2\n3\n" + asks + "4\n" + asks + "5\n"},
		{"q", "1\n2\n3\n4\n5\n", "1\n2\n3\n" + asks},
		{"\x03", "1\n2\n3\n4\n", "1\n2\n3\n" + asks},
		{"", "1\n2\n3\n4\n", "1\n2\n3\n" + asks}, // nobody presses a key
		{"x", "1\n12345678901\n3\n", "1\n12345678901\n" + asks + "3\n"},
		{"", "1234567890\n2\n3\n", "1234567890\n2\n3\n"},
		{" ", "12345678901234567890123456789012345678901\n2\n", "12345678901234567890123456789012345678901\n" + asks + "2\n"},
	} {
		screen := &keyboard{
			columns: 10,
			rows:    4,
			keys:    tc.keys,
		}
		got := programtest.Run(tc.input, func(e program.Env) int { return More(e, screen, nil) })
		if got != (result{Out: tc.want}) {
			t.Errorf("%q, keys %q: %+v, want %q", tc.input, tc.keys, got, tc.want)
		}
	}
}
