package engine

import (
	"cmp"
	"flag"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of SECURITY.md anew")

// TestBoundsAreInSecurity: the table of SECURITY.md has what the code says; -update writes it.
func TestBoundsAreInSecurity(t *testing.T) {
	const file, begin, end = "../../../SECURITY.md", "<!-- bounds -->\n", "<!-- end of bounds -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no %s and %s", file, begin, end)
	}
	want := "| what | a pod | all pods together | by |\n|---|---|---|---|\n"
	for _, b := range Bounds() {
		want += "| " + strings.Join([]string{b.What, b.Pod, cmp.Or(b.All, "as memory"), b.By}, " | ") + " |\n"
	}

	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
