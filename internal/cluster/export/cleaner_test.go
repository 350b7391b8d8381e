package export

import (
	"errors"
	"strings"
	"testing"
)

// TestCleaner: tokens are cut out of lines, wherever the pieces of a line were cut.
func TestCleaner(t *testing.T) {
	text := "one\njoin with " + token + " now\nBearer " + jwt + "\nno end " + token
	want := strings.NewReplacer(token, removed, jwt, removed).Replace(text)
	for size := range 40 {
		var out strings.Builder
		c := NewCleaner(&out)
		for left := text; left != ""; {
			n := min(size+1, len(left))
			if _, err := c.Write([]byte(left[:n])); err != nil {
				t.Fatal(err)
			}
			left = left[n:]
		}

		if err := c.Flush(); err != nil || out.String() != want {
			t.Errorf("in pieces of %d: %q, %v", size+1, out.String(), err)
		}
	}

	var out strings.Builder
	c := NewCleaner(&out)
	piece := []byte(strings.Repeat("x", 1000))
	for range 1000 { // a line without an end is not kept
		if _, err := c.Write(piece); err != nil {
			t.Fatal(err)
		}
	}

	if out.Len() < 900_000 {
		t.Errorf("%d bytes were passed on", out.Len())
	}
	if _, err := NewCleaner(full{}).Write([]byte("line\n")); err == nil {
		t.Error("an error was lost")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }
