package manifest_test

import (
	"bytes"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check/manifest"
)

// FuzzRead checks that reading ends, that places lie inside the text, and that a readable document is a tree without
// loops.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"a: b\n---\nc: [d, {e: f}]\n", "{\"a\": 1}\n{\"b\": [true, null]}", "x: &a [1]\ny: *a\nz: {<<: {k: v}}\n",
		"a: |\n  ---\n  b\n...\n", "%YAML 1.1\n--- {a: b}\n",
		"{{ .Values.x }}\n", "\xef\xbb\xbfa: b\r\n", "\"\\ud83d\\ude00\": ? [a]\n: b\n", "[[[[", "- - - - a\n",
		"a:\n\tb: c\n", "\r0", "?", "\r?",
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, in []byte) {
		lines := bytes.Count(in, []byte("\n")) + 1
		at := 0
		for c, err := range manifest.Split(bytes.NewReader(in)) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Line <= at || c.Line > lines {
				t.Fatalf("a chunk at line %d after %d, of %d lines", c.Line, at, lines)
			}

			at = c.Line - 1
			nodes, faults := manifest.Parse(c)
			for _, f := range faults {
				if f.Line < c.Line || f.Line > lines || f.Column < 1 || f.Message == "" {
					t.Errorf("fault %+v of a chunk at line %d, of %d lines", f, c.Line, lines)
				}
				if strings.HasPrefix(f.Message, "the YAML library stopped") {
					t.Errorf("%s", f.Message)
				}
			}

			for _, n := range nodes {
				walk(t, n, lines, 0)
			}
		}
	})
}

func walk(t *testing.T, n *manifest.Node, lines, depth int) {
	t.Helper()
	if depth > 1100 {
		t.Fatal("deeper than is allowed")
	}
	if n.Kind == manifest.Null { // which the library puts behind the end of the text
		lines++
	}

	if n.Line < 1 || n.Line > lines || n.Column < 1 {
		t.Fatalf("a node at %d:%d of %d lines", n.Line, n.Column, lines)
	}
	for _, i := range n.Items {
		walk(t, i, lines, depth+1)
	}

	for _, f := range n.Fields {
		walk(t, f.Value, lines, depth+1)
	}
}
