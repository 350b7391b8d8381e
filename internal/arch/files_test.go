package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// files lists the repository's files whose name has one of the endings, without what is built and what is not ours.
func files(t *testing.T, endings ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || path == filepath.Join(root, "bin")) {
			return filepath.SkipDir
		}
		if !d.IsDir() && slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(path, e) }) {
			found = append(found, path)
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	if len(found) == 0 {
		t.Fatalf("found no file that ends in %v", endings)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Bounds of a file, without its comments and blank lines; lint holds Go files to the same.
const (
	maxGoLines = 500
	maxCLines  = 400
)

// longFiles are longer, and why.
var longFiles = map[string]string{
	"guest/c/hooks/afunix.c": "one socket family, whose calls share one table",
}

// maxPackageLines bounds a package of guest/, without its tests.
const maxPackageLines = 6000

func TestPackagesOfGuestAreShort(t *testing.T) {
	lines := map[string]int{}
	for _, path := range files(t, ".go") {
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "guest/") && !strings.HasSuffix(name, "_test.go") {
			lines[filepath.Dir(name)] += strings.Count(read(t, path), "\n")
		}
	}

	if len(lines) < 30 {
		t.Errorf("only %d packages were seen", len(lines))
	}
	for dir, n := range lines {
		if n > maxPackageLines {
			t.Errorf("%s has %d lines, at most %d: split it by what its parts are for", dir, n, maxPackageLines)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	comment := regexp.MustCompile(`^\s*(//.*|/\*.*|\*.*)?$`)
	for _, path := range files(t, ".go", ".c", ".h") {
		lines := 0
		for line := range strings.Lines(read(t, path)) {
			if !comment.MatchString(strings.TrimSuffix(line, "\n")) {
				lines++
			}
		}

		most := maxCLines
		if strings.HasSuffix(path, ".go") {
			most = maxGoLines
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}

		_, excused := longFiles[name]
		switch {
		case lines > most && !excused:
			t.Errorf("%s has %d lines of code, at most %d: split it by what its parts do", name, lines, most)
		case lines <= most && excused:
			t.Errorf("%s is short now; take it out of longFiles", name)
		}
	}
}

func TestDependenciesAreExplained(t *testing.T) {
	explained := read(t, filepath.Join(root, "docs/dependencies.md"))
	require := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`) // the lines of others end in "// indirect"
	direct := require.FindAllStringSubmatch(read(t, filepath.Join(root, "go.mod")), -1)
	if len(direct) < 20 {
		t.Fatalf("found only %d direct dependencies in go.mod", len(direct))
	}
	for _, m := range direct {
		if !strings.Contains(explained, "`"+m[1]+"`") {
			t.Errorf("go.mod requires %s: say in docs/dependencies.md why that and not another", m[1])
		}
	}
}

func TestDependenciesAreThere(t *testing.T) {
	required := read(t, filepath.Join(root, "go.mod"))
	linked, _, _ := strings.Cut(read(t, filepath.Join(root, "docs/dependencies.md")), "## Built and run")
	for _, m := range regexp.MustCompile("`([a-z0-9.]+\\.[a-z]+/[^`]+)`").FindAllStringSubmatch(linked, -1) {
		if !strings.Contains(required, m[1]+" v") {
			t.Errorf("docs/dependencies.md explains %s, which go.mod does not require", m[1])
		}
	}
}

// TestNoRepositoryIsInvented looks at what the documents of CI, the actions and the templates name on GitHub. Mullion
// is published nowhere yet, so its own place there is a name that GitHub cannot have, and all others are those of
// actions.
func TestNoRepositoryIsInvented(t *testing.T) {
	name := regexp.MustCompile(`(?:uses: |repository: |github\.com/|--repo )"?([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)`)
	known := []string{"THE_OWNER/mullion", "actions/checkout", "actions/cache", "actions/upload-artifact"}

	found := 0
	for _, path := range append(files(t, ".yml", ".yaml"), filepath.Join(root, "docs/ci.md")) {
		shown, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(path); shown != "docs/ci.md" && base != "action.yml" && !strings.HasPrefix(shown, ".github/") {
			continue
		}

		for _, m := range name.FindAllStringSubmatch(read(t, path), -1) {
			found++
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s names the repository %s", shown, m[1])
			}
		}
	}

	if found < 10 {
		t.Errorf("found only %d names", found)
	}
}

func TestRelativeLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	for _, path := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			}
		}
	}
}

// TestGoldensAreRead holds that a file of a testdata folder is named by a test of its package, or lies in a folder that
// one names.
func TestGoldensAreRead(t *testing.T) {
	for _, path := range files(t, "") {
		dir, name, ok := strings.Cut(path, "/testdata/")
		if !ok {
			continue
		}
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}

		var text strings.Builder
		for _, test := range tests {
			text.WriteString(read(t, test))
		}

		if parts := strings.Split(name, "/"); len(parts) == 3 && parts[0] == "fuzz" &&
			strings.Contains(text.String(), "func "+parts[1]+"(f *testing.F)") {
			continue // a case of a fuzz target, which the go command reads
		}

		first, _, nested := strings.Cut(name, "/")
		inTestdata := strings.Contains(text.String(), "testdata") || strings.Contains(text.String(), "golden.Assert(")
		if !inTestdata ||
			(!strings.Contains(text.String(), strings.TrimSuffix(name, filepath.Ext(name))) &&
				(!nested || !strings.Contains(text.String(), first)) &&
				!wholeFolder(text.String(), name)) {
			t.Errorf("%s: no test of %s reads it", path, dir)
		}
	}
}

// wholeFolder says that the tests read every file like this one: scripts of testscript, or names put together from an
// ending.
func wholeFolder(tests, name string) bool {
	ending := filepath.Ext(name)
	return (ending == ".txtar" && strings.Contains(tests, "testscript.Params")) || strings.Contains(tests, `"`+ending+`"`)
}

// TestFoldersAreNamed holds that CONTRIBUTING.md's list of folders has every wing and every folder of one.
func TestFoldersAreNamed(t *testing.T) {
	list := read(t, filepath.Join(root, "CONTRIBUTING.md"))
	for _, pattern := range []string{"internal/*", "internal/*/*", "cmd/*", "guest/*"} {
		folders, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(folders) == 0 {
			t.Fatalf("list %s: %v, %v", pattern, folders, err)
		}

		for _, f := range folders {
			if info, err := os.Stat(f); err != nil || !info.IsDir() || filepath.Base(f) == "testdata" {
				continue
			}
			if name := filepath.Base(f); !strings.Contains(list, "`"+name+"`") &&
				!strings.Contains(list, "`internal/"+name+"`") {
				t.Errorf("CONTRIBUTING.md does not say what %s is", f)
			}
		}
	}
}
