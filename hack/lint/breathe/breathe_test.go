package breathe_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"mullion.dev/mullion/hack/lint/breathe"
)

// TestAnalyzer compares what is found in testdata/src/a with the comments there.
func TestAnalyzer(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), breathe.Analyzer(), "a")
}

const root = "../../.."

// TestRepository runs the analyzer on the folders that .golangci.yml has it run on. It reads the syntax only, which
// takes seconds, where lint takes minutes.
func TestRepository(t *testing.T) {
	rules, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`path-except: (\S+)\n +linters: \[breathe\]`).FindSubmatch(rules)
	if rule == nil {
		t.Fatal(".golangci.yml does not say where the analyzer runs")
	}

	looked := regexp.MustCompile(string(rule[1]))
	linux := build.Default
	linux.GOOS, linux.GOARCH = "linux", "amd64"
	linux.BuildTags = []string{"kernel", "wine", "cluster", "conformance", "machines"}
	seen := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}

		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && name != "."
			if name == "bin" || d.Name() == "testdata" || hidden {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || !looked.MatchString(filepath.ToSlash(name)) {
			return nil
		}

		if is, err := linux.MatchFile(filepath.Split(path)); !is || err != nil {
			return err
		}
		seen++
		return look(t, path)
	})
	if err != nil {
		t.Fatal(err)
	}

	if seen < 500 {
		t.Errorf("only %d files were seen", seen)
	}
}

// look runs the analyzer on a file.
func look(t *testing.T, path string) error {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}

	_, err = breathe.Analyzer().Run(&analysis.Pass{
		Fset:     files,
		Files:    []*ast.File{file},
		ReadFile: os.ReadFile,
		Report: func(d analysis.Diagnostic) {
			t.Errorf("%s: %s", files.Position(d.Pos), d.Message)
		},
	})
	return err
}
