package c

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the list of what the libraries export")

// exportsFile is what Linux knows of the libraries' functions (package winapi).
const exportsFile = "../../internal/windows/winapi/exports.txt"

// definitions returns what the libraries of this folder export, by the library's name, as their .def files say it.
func definitions(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*/*.def")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the definitions: %v, %v", files, err)
	}

	libraries := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, functions := definition(t, file, string(text))
		libraries[name] = functions
	}

	return libraries
}

// definition reads one definition: the library's name, and its functions in the file's order.
func definition(t *testing.T, file, text string) (name string, functions []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, ";") // a comment
		line, _, _ = strings.Cut(line, "=") // the name within the library

		switch words := strings.Fields(line); {
		case len(words) == 2 && words[0] == "LIBRARY":
			name = words[1]
		case len(words) == 1 && words[0] != "EXPORTS":
			functions = append(functions, words[0])
		case len(words) > 1:
			t.Fatalf("%s: the line %q is not understood", file, line)
		}
	}
	if name == "" || len(functions) == 0 {
		t.Fatalf("%s names no library or no function", file)
	}

	return name, functions
}

// TestExportsAreListed: Linux' list of the libraries' functions is what the definitions say.
func TestExportsAreListed(t *testing.T) {
	libraries := definitions(t)
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(libraries)) {
		fmt.Fprintln(&list, name, strings.Join(libraries[name], " "))
	}

	if *update {
		if err := os.WriteFile(exportsFile, []byte(list.String()), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(exportsFile)
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff(string(kept), list.String()); d != "" {
		t.Errorf("%s is not what the definitions say; write it with -update (-kept +definitions):\n%s", exportsFile, d)
	}
}
