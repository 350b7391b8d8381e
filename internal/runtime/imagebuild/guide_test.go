package imagebuild

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// guide is the page that says how images are built.
const guide = "../../../docs/guide/images.md"

// TestKeysInTheGuide: the guide's table has each key that an image.yaml may have, in the order of Spec, and no other.
func TestKeysInTheGuide(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash(guide))
	if err != nil {
		t.Fatal(err)
	}

	_, table, found := strings.Cut(string(text), "| `"+SpecFile+"` | |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var got, want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .+ \\|$").FindAllStringSubmatch(table, -1) {
		got = append(got, row[1])
	}

	for field := range reflect.TypeFor[Spec]().Fields() {
		want = append(want, field.Tag.Get("yaml"))
	}
	if !found || !slices.Equal(got, want) {
		t.Errorf("the table in %s has the keys %q, and an %s may have %q", guide, got, SpecFile, want)
	}
}

// TestExampleInTheGuide: what the guide shows is read.
func TestExampleInTheGuide(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash(guide))
	if err != nil {
		t.Fatal(err)
	}

	_, example, _ := strings.Cut(string(text), "```yaml\ntags:")
	example, _, _ = strings.Cut("tags:"+example, "```")
	file := filepath.Join(t.TempDir(), SpecFile)
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}

	s, err := ReadSpec(file)
	if err != nil || s.check() != nil || len(s.OSVersions) != 2 || s.Target != `C:\app` {
		t.Errorf("%+v, %v, %v of\n%s", s, err, s.check(), example)
	}
}
