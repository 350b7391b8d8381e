package text

import (
	"os"
	"strings"
	"testing"
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
