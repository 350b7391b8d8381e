package fix_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/fix"
	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

// TestEdits: % in a text is the place of the edit.
func TestEdits(t *testing.T) {
	remove := check.Edit{Op: check.RemoveField}
	set := check.Edit{Op: check.SetValue, Value: "new"}
	rename := check.Edit{Op: check.RenameKey, Key: "new"}
	insert := check.Edit{
		Op:    check.InsertField,
		Key:   "k.io/os",
		Value: "{a: windows}",
	}

	for _, tc := range []struct {
		name string
		e    check.Edit
		text string
		want string // "" : the edit is left out
	}{
		{"block", remove, "a: 1\n%b: 2 # why\nc: 3\n", "a: 1\nc: 3\n"},
		{
			"deep", remove, "a:\n  %b:\n    c: [1]\n    # inside\n    d: |\n      text\n\n  # of e\n  e: 1\n",
			"a:\n\n  # of e\n  e: 1\n",
		},
		{"list at the key's column", remove, "a:\n  %b:\n  - x: 1\n    y: 2\n  - z\n  c: 3\n", "a:\n  c: 3\n"},
		{"first of an item", remove, "a:\n- %b: 1\n  c: 2\n- d: 3\n", "a:\n- c: 2\n- d: 3\n"},
		{"only one", remove, "a: # why\n  %b: 1\nc: 2\n", "a: {} # why\nc: 2\n"},
		{"only one of an item", remove, "a:\n- %b: 1\n- c\n", "a:\n- {}\n- c\n"},
		{"CRLF", remove, "a: 1\r\n%b: 2\r\nc: 3\r\n", "a: 1\r\nc: 3\r\n"},
		{"no end of line", remove, "a: 1\n%b: 2", "a: 1\n"},
		{"flow", remove, "a: {b: 1, %c: [1, {x: y}], d: 2}\n", "a: {b: 1, d: 2}\n"},
		{"last of flow", remove, "a: {b: 1, %c: \"x,}\"}\n", "a: {b: 1}\n"},
		{"only one of flow", remove, "a: {%c: 1} # x\n", "a: {} # x\n"},
		{"JSON", remove, "{\n  \"a\": 1,\n  %\"b\": [1, 2],\n  \"c\": 3\n}\n", "{\n  \"a\": 1,\n  \"c\": 3\n}\n"},
		{"last of JSON", remove, "{\n  \"a\": 1,\n  %\"b\": [1, 2]\n}\n", "{\n  \"a\": 1\n}\n"},
		{"anchor that is needed", remove, "a: 1\n%b: &x 2\nc: *x\n", ""},
		{"second of two equal keys", remove, "a: 1\n%a: 2\nb: 3\n", ""},
		{"plain value", set, "a: %old # why\n", "a: new # why\n"},
		{"quoted value", set, "a: {b: %'it''s, old', c: 1}\n", "a: {b: new, c: 1}\n"},
		{"value of JSON", set, `{"a": %"old"}` + "\n", `{"a": "new"}` + "\n"},
		{"value of two lines", set, "a: %old\n  more\n", ""},
		{"block scalar", set, "a: %|\n  more\n", ""},
		{"key", rename, "a:\n  %b.c/d: 1\n", "a:\n  new: 1\n"},
		{"quoted key", rename, "a: {%\"b\": 1}\n", "a: {new: 1}\n"},
		{
			"into block", insert, "s:\n  %a: 1\n  b:\n  - c\n\n# end\nt: 2\n",
			"s:\n  a: 1\n  b:\n  - c\n  k.io/os: {a: windows}\n\n# end\nt: 2\n",
		},
		{"into block without an end of line", insert, "s:\n  %a: 1", "s:\n  a: 1\n  k.io/os: {a: windows}\n"},
		{"into flow", insert, "s: %{a: 1, b: [2]} # x\n", "s: {a: 1, b: [2], k.io/os: {a: windows}} # x\n"},
		{"into an empty map", insert, "s: %{}\n", "s: {k.io/os: {a: windows}}\n"},
		{
			"into JSON", insert, "{\"s\": %{\n    \"a\": 1\n  }\n}\n",
			"{\"s\": {\n    \"a\": 1,\n    \"k.io/os\": {\"a\": \"windows\"}\n  }\n}\n",
		},
		{"second document", remove, "a: 1\n---\n# c\n%b: 2\nc: 3\n---\nd: 4\n", "a: 1\n---\n# c\nc: 3\n---\nd: 4\n"},
	} {
		at := strings.Index(tc.text, "%")
		before, after := tc.text[:at], tc.text[at+1:]
		e := tc.e
		e.Pos = manifest.Pos{
			Line:   strings.Count(before, "\n") + 1,
			Column: len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1,
		}

		got, left := fix.Apply([]byte(before+after), []check.Edit{e})
		want, wantLeft := tc.want, 0
		if want == "" {
			want, wantLeft = before+after, 1
		}
		if diff := cmp.Diff(want, string(got)); diff != "" || left != wantLeft {
			t.Errorf("%s: %d left out (-want +got):\n%s", tc.name, left, diff)
		}
	}
}

// findings returns the findings of one rule, or of all.
func findings(t *testing.T, rs []check.Rule, text []byte) (edits []check.Edit, seen []string) {
	t.Helper()
	c, err := check.New(rs, check.Options{Kubernetes: 36, Windows: winver.All()})
	if err != nil {
		t.Fatal(err)
	}

	emit := func(r check.Result) error {
		for _, f := range r.Faults {
			t.Errorf("line %d: %s\n%s", f.Line, f.Message, text)
		}

		for _, f := range r.Findings {
			edits = append(edits, f.Edits...)
			if len(f.Edits) > 0 {
				seen = append(seen, f.Rule.ID+" "+f.Path)
			}
		}

		return nil
	}

	if err := c.Run(t.Context(), "f", bytes.NewReader(text), emit); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(emit); err != nil {
		t.Fatal(err)
	}
	return edits, seen
}

// TestFixtures: the findings of a rule with a fix are gone after it, no line but those of findings and of empty maps
// changed, and a second run has nothing to do.
func TestFixtures(t *testing.T) {
	tried := 0
	for _, rule := range rules.All() {
		if rule.Fix == nil {
			continue
		}
		files, err := filepath.Glob(filepath.Join("../rules/testdata", rule.ID, "fail", "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no fixture", rule.ID)
		}

		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			edits, _ := findings(t, []check.Rule{rule}, text)
			if len(edits) == 0 {
				continue // the fixture's pods are not surely for Windows, or the rule has no fix for them
			}

			tried++
			fixed, left := fix.Apply(text, edits)
			again, seen := findings(t, []check.Rule{rule}, fixed)
			if rule.Target == check.OnObject && left == 0 { // its edits come in two passes
				fixed, left = fix.Apply(fixed, again)
				again, seen = findings(t, []check.Rule{rule}, fixed)
			}
			if left > 0 || len(again) > 0 {
				t.Errorf("%s: %d edits left out, then %v:\n%s", file, left, seen, fixed)
			}

			twice, _ := fix.Apply(fixed, again)
			if !bytes.Equal(twice, fixed) {
				t.Errorf("%s: a second run changes it", file)
			}
			if n := strings.Count(string(text), "\n") - strings.Count(string(fixed), "\n"); n > 4*len(edits) {
				t.Errorf("%s: %d lines are gone for %d edits:\n%s", file, n, len(edits), fixed)
			}
		}
	}

	if tried < 20 {
		t.Errorf("only %d fixtures were tried", tried)
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte("a: 1\nb:\n- c: {d: 2}\n"), 1, 1, "remove")
	f.Fuzz(func(t *testing.T, text []byte, line, column int, op string) {
		e := check.Edit{
			Op:    check.EditOp(op),
			Pos:   manifest.Pos{Line: line, Column: column},
			Key:   "k",
			Value: "v",
		}
		if got, left := fix.Apply(text, []check.Edit{e}); left > 0 && !bytes.Equal(got, text) {
			t.Errorf("left out, but changed %q to %q", text, got)
		}
	})
}
