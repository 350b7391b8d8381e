package manifest_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"mullion.dev/mullion/internal/check/manifest"
)

// read gives what a stream holds, in short: kinds and places of documents, faults.
func read(t *testing.T, in string) (docs []*manifest.Node, faults []string) {
	t.Helper()
	for c, err := range manifest.Split(iotest.OneByteReader(strings.NewReader(in))) {
		if err != nil {
			t.Fatal(err)
		}
		nodes, fs := manifest.Parse(c)
		docs = append(docs, nodes...)
		for _, f := range fs {
			faults = append(faults, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Message))
		}
	}
	return docs, faults
}

func TestRead(t *testing.T) {
	bomb := "a: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		ref := fmt.Sprintf("*a%d,", i)
		bomb += fmt.Sprintf("b%d: &a%d [%s]\n", i, i+1, strings.TrimSuffix(strings.Repeat(ref, 10), ","))
	}

	wide := strings.Builder{}
	for i := range 100 {
		fmt.Fprintf(&wide, "k%d: 1\n", i)
	}

	for _, tc := range []struct {
		name, in string
		docs     int
		faults   []string // beginnings
	}{
		{"empty", "", 0, nil},
		{"markers and comments alone", "---\n# c\n---\n---\n...\n", 0, nil},
		{"directive", "%YAML 1.1\n---\na: b\n", 1, nil},
		{"content on the marker line", "--- {a: b}\n---\tb\n", 2, nil},
		{"byte order mark and CRLF", "\xef\xbb\xbfa: b\r\n---\r\nc: d\r\n", 2, nil},
		{"marker inside a block", "a: |\n  ---\n  b\n---\nc: d\n", 2, nil},
		{"broken in the middle", "a: b\n---\na: [\n---\nc: d\n", 2, []string{"3:"}},
		{"tab", "a: b\n---\nx:\n\ty: 1\n", 1, []string{"4:1 a tab"}},
		{"key twice", "a: 1\nb: 2\na: 3\n", 1, []string{`3:1 the key "a" is there twice, first in line 1`}},
		{
			"key twice in a wide map", wide.String() + "k70: 2\n", 1,
			[]string{`101:1 the key "k70" is there twice, first in line 71`},
		},
		{"alias bomb", bomb + "---\nc: d\n", 1, []string{"7:5 more than"}},
		{"alias of itself", "a: &a [*a]\n", 0, []string{"1:"}},
		{
			"deep", strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + "\n---\na: b\n", 1,
			[]string{"1:1002 more than 1000"},
		},
		{"binary", "a: b\n---\nx: \x00\n", 1, []string{"3:4 byte 0x00"}},
		{"not UTF-8", "a: é\xff\n", 0, []string{"1:5 byte 0xff"}},
		{"UTF-16", "\xff\xfea\x00", 0, []string{"1:1 the text is UTF-16"}},
		{
			"helm block", "a: b\n---\n{{- if .Values.x }}\nc: d\n{{- end }}\n", 1,
			[]string{"3:1 this is a Helm template"},
		},
		{"helm flow", "a: {{ .Values.x }}\n", 0, []string{"1:4 this is a Helm template"}},
		{"helm quoted", "a: \"{{ .Release.Name }}-x\"\n", 1, []string{"1:4 this is a Helm template"}},
		{"other braces", "a: \"{{workflow.name}}\"\nb: |\n  {{ range .Alerts }}\n", 1, nil},
		{"JSON values", "{\"a\": 1}\n{\n\t\"b\": [true, null, \"\\ud83d\\ude00\"]\n}{\"c\":1}\n", 3, nil},
		{"JSON key twice", "{\"a\": 1,\n \"a\": 2}", 1, []string{`2:2 the key "a"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			docs, faults := read(t, tc.in)
			if len(docs) != tc.docs {
				t.Errorf("%d documents, want %d", len(docs), tc.docs)
			}
			if len(faults) != len(tc.faults) {
				t.Fatalf("faults %q, want %q", faults, tc.faults)
			}

			for i, want := range tc.faults {
				if !strings.HasPrefix(faults[i], want) {
					t.Errorf("fault %q, want %q", faults[i], want)
				}
			}
		})
	}
}

func TestNodes(t *testing.T) {
	docs, faults := read(t, "# c\n---\nbase: &b {x: 1, y: 2}\nm:\n  <<: *b\n  y: yes\n  z: 'yes'\n  é: 0x10\n")
	if len(docs) != 1 || len(faults) != 0 {
		t.Fatalf("%d documents, faults %q", len(docs), faults)
	}
	m := docs[0].Get("m")
	if !m.Get("y").True() || m.Get("z").Kind != manifest.String || m.Get("x").Text() != "1" {
		t.Errorf("m is %+v", m.Fields)
	}

	if n, ok := m.Get("é").Int(); !ok || n != 16 {
		t.Errorf("0x10 is %d, %v", n, ok)
	}
	if f := m.Field("é"); f.Pos != (manifest.Pos{
		Line:   8,
		Column: 3,
	}) || f.Value.Pos != (manifest.Pos{Line: 8, Column: 6}) {
		t.Errorf("positions %v %v", f.Pos, f.Value.Pos)
	}

	docs, _ = read(t, "x: '\u2028'\ra: 1\nb: 2\n") // lines end twice where only YAML knows it
	if f := docs[0].Field("b"); f.Pos != (manifest.Pos{Line: 2, Column: 1}) {
		t.Errorf("position after other breaks %v", f.Pos)
	}
	if f := docs[0].Field("a"); f == nil || f.Pos != (manifest.Pos{Line: 1, Column: 8}) {
		t.Errorf("position between other breaks %v", f)
	}

	docs, _ = read(t, "{\"é\": {\n  \"b\": -1}}")
	if f := docs[0].Get("é").Field("b"); f.Pos != (manifest.Pos{
		Line:   2,
		Column: 3,
	}) || f.Value.Pos != (manifest.Pos{Line: 2, Column: 8}) {
		t.Errorf("positions in JSON %v %v", f.Pos, f.Value.Pos)
	}
}

// TestHuge: a document that is too long is dropped as it comes, and what follows it is read.
func TestHuge(t *testing.T) {
	line := []byte("  k: " + strings.Repeat("x", 1<<20) + "\n")
	long := io.MultiReader(strings.NewReader("a: b\n---\nx:\n"),
		io.LimitReader(endless(line), manifest.MaxDocument+1<<20), strings.NewReader("\n---\nc: d\n"))
	var docs int
	var faults []string
	for c, err := range manifest.Split(long) {
		if err != nil {
			t.Fatal(err)
		}
		nodes, fs := manifest.Parse(c)
		docs += len(nodes)
		for _, f := range fs {
			faults = append(faults, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Message))
		}
	}
	if docs != 2 || len(faults) != 1 || faults[0] != "2:1 the document is longer than 64 MiB" {
		t.Errorf("%d documents, %q", docs, faults)
	}
}

// endless repeats a text.
type endless []byte

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func TestReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	var docs int
	var last error
	for _, err := range manifest.Split(io.MultiReader(strings.NewReader("a: b\n---\nc: d\n"),
		iotest.ErrReader(broken))) {
		if last = err; err == nil {
			docs++
		}
	}
	if docs != 2 || !errors.Is(last, broken) {
		t.Errorf("%d documents, then %v", docs, last)
	}
}
