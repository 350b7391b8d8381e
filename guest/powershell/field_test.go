package powershell

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"mullion.dev/mullion/guest/powershell/provider"
)

// TestScriptsOfTheField reads all scripts below the folder MULLION_SCRIPTS, which the person who runs the test has
// fetched, and prints a table: which of them can be read, so that they start, and what they lack then.
func TestScriptsOfTheField(t *testing.T) {
	folder := os.Getenv("MULLION_SCRIPTS")
	if folder == "" {
		t.Skip("MULLION_SCRIPTS names no folder of scripts")
	}

	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	var all, start, whole int
	reasons := map[string]int{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".ps1", ".psm1"}, strings.ToLower(filepath.Ext(path))) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		all++
		name, _ := filepath.Rel(folder, path)
		lacking, err := Lacks(provider.ScriptText(data))
		if err != nil {
			fmt.Fprintf(w, "%s\tno\t%s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
			return nil
		}

		start++
		if len(lacking) == 0 {
			whole++
			fmt.Fprintf(w, "%s\tyes\tnothing\n", name)
			return nil
		}

		what := []string{}
		for _, one := range lacking {
			reasons[one.What]++
			what = append(what, one.String())
		}

		more := fmt.Sprintf("%d: %s", len(what), strings.Join(what[:min(3, len(what))], "; "))
		fmt.Fprintf(w, "%s\tyes\t%s\n", name, more)
		return nil
	})
	if err != nil || all == 0 {
		t.Fatalf("read the scripts below %s: %d found, %v", folder, all, err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}

	t.Logf("script, starts, lacks\n%s", b.String())
	t.Logf("most lacked:\n%s", mostLacked(reasons))
	t.Logf("%d scripts: %d start (%d %%), %d lack nothing that can be seen (%d %%)",
		all, start, 100*start/all, whole, 100*whole/all)
}

// mostLacked returns the 60 things that most scripts lack.
func mostLacked(reasons map[string]int) string {
	var lines []string
	for what, n := range reasons {
		lines = append(lines, fmt.Sprintf("%5d %s", n, what))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	return strings.Join(lines[:min(60, len(lines))], "\n")
}
