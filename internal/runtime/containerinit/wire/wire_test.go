package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequest(t *testing.T) {
	for _, want := range []Request{
		{
			Dir:  "/Files",
			Args: []string{"/usr/lib/wine/wine64", `C:\run.exe`, "", "a b\nc"},
			Env:  []string{"A=", "B=1"},
		},
		{UID: 1000, Dir: "/", Args: []string{"/prog"}, Env: []string{"A=1"}},
	} {
		packet, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(packet)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after the way (-want +got):\n%s", diff)
		}
	}
}

func TestRequestsThatAreNone(t *testing.T) {
	for name, r := range map[string]Request{
		"no_program": {Dir: "/"},
		"zero_byte":  {Dir: "/", Args: []string{"/prog", "a\x00b"}},
		"too_long":   {Dir: "/", Args: []string{"/prog", strings.Repeat("a", MostRequest)}},
	} {
		if packet, err := r.Encode(); !errors.Is(err, ErrRequest) {
			t.Errorf("%s: Encode() = %d bytes, %v", name, len(packet), err)
		}
	}

	for name, packet := range map[string]string{
		"empty":          "",
		"no_end":         "0\x001\x00/\x00/prog",
		"no_program":     "0\x000\x00/\x00A=1\x00",
		"more_arguments": "0\x002\x00/\x00/prog\x00",
		"no_number":      "x\x001\x00/\x00/prog\x00",
		"negative":       "-1\x001\x00/\x00/prog\x00",
		"huge_count":     "0\x0099999999999999999999\x00/\x00/prog\x00",
		"short":          "0\x001\x00/\x00",
		"too_long":       strings.Repeat("0\x00", MostRequest),
	} {
		if r, err := Decode([]byte(packet)); !errors.Is(err, ErrRequest) {
			t.Errorf("%s: Decode() = %v, %v", name, r, err)
		}
	}
}

func TestReply(t *testing.T) {
	for _, want := range []Reply{{Started, 7}, {Refused, 0}, {Ended, 0xfffefdfc}} {
		got, err := DecodeReply(want.Encode())
		if err != nil || got != want {
			t.Errorf("DecodeReply(%v) = %v, %v", want, got, err)
		}
	}
	for _, packet := range []string{"", "s", "x1234", "s12345"} {
		if got, err := DecodeReply([]byte(packet)); !errors.Is(err, ErrRequest) {
			t.Errorf("DecodeReply(%q) = %v, %v", packet, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("0\x001\x00/\x00/prog\x00A=1\x00"))
	f.Add([]byte("0\x002\x00/\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		r, err := Decode(packet)
		if err != nil {
			return
		}
		again, err := r.Encode()
		if err != nil {
			t.Fatalf("%q cannot be written again: %v", packet, err)
		}

		second, err := Decode(again)
		if err != nil || !cmp.Equal(r, second) {
			t.Errorf("%q is %v, and written again %v, %v", packet, r, second, err)
		}
	})
}
