package stream

import (
	"bytes"
	"testing"
)

// FuzzReadFrame reads frames until there is no whole one. What was read is written as the same bytes.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{frameStdout, 0, 0, 0, 2, 'h', 'i', frameStdinEnd, 0, 0, 0, 0})
	f.Add([]byte{9, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{frameStdin, 0, 1, 0, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		var out bytes.Buffer
		for {
			kind, data, err := readFrame(r)
			if err != nil {
				break
			}
			if len(data) > maxFrame {
				t.Fatalf("a frame of %d bytes", len(data))
			}

			if err := writeFrame(&out, kind, data); err != nil {
				t.Fatal(err)
			}
		}

		if !bytes.HasPrefix(in, out.Bytes()) {
			t.Fatalf("%x was read and written as %x", in, out.Bytes())
		}
	})
}
