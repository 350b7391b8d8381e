package arch_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// allowedTags are the build tags that test files and platform splits may use.
var allowedTags = []string{"kernel", "wine", "cluster", "conformance", "machines", "linux", "windows", "unix", "ignore"}

func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "upstream" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEveryPackageHasAComment(t *testing.T) {
	documented := map[string]bool{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(file)
		documented[dir] = documented[dir] || f.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no file has a package comment", dir)
		}
	}
}

func TestBuildTags(t *testing.T) {
	for _, file := range goFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "package ") {
				break
			}
			expr, ok := strings.CutPrefix(line, "//go:build ")
			if !ok {
				continue
			}
			for _, tag := range strings.FieldsFunc(expr,
				func(r rune) bool { return strings.ContainsRune(" &|()!\n", r) }) {
				if !slices.Contains(allowedTags, tag) {
					t.Errorf("%s: build tag %q is none of %v", file, tag, allowedTags)
				}
			}
		}
	}
}

// Reasons of several rows.
const (
	smallClient   = "a client of all groups is a third of the program: package kubeclient has those in use"
	guestPrograms = "cmd, curl, tar and the like run on Windows: package ourprograms has their names for Linux"
)

// forbidden says which packages may not be reached from where, and why.
var forbidden = []struct{ from, to, why string }{
	{"internal/network/hns", "github.com/vishvananda/netlink", "the HNS model is pure: requests in, plan out"},
	{"internal/network/hns", "sigs.k8s.io/knftables", "the HNS model is pure: requests in, plan out"},
	{"internal/network/netplan", "mullion.dev/mullion/", "netplan is plain data and imports nothing"},
	{"internal/windows/winver", "mullion.dev/mullion/", "the catalogue is data and imports nothing"},
	{"internal/spec", "k8s.io/", "a specification is data"},
	{"cmd/mullion-node", "k8s.io/kubernetes/cmd", "the node's program links no control plane: it runs once a node"},
	{"internal/check/command", "k8s.io/", "the checker starts fast and stands alone"},
	{"cmd/kubectl-mullion", "k8s.io/", "the plugin is the checker alone"},
	{"cmd/mullion-init", "k8s.io/", "PID 1 of every container has to be small"},
	{"cmd/mullion-init", "net/http", "PID 1 of every container has to be small"},
	{"cmd/mullion-agent", "k8s.io/client-go/kubernetes", "the agent is a small program that asks the API server little"},
	{"cmd/mullion", "k8s.io/client-go/kubernetes", smallClient},
	{"cmd/mullion", "k8s.io/client-go/informers", smallClient},
	{"cmd/mullion", "k8s.io/client-go/listers", smallClient},
	{"cmd/mullion", "k8s.io/client-go/applyconfigurations", smallClient},
	{"cmd/mullion", "k8s.io/client-go/testing", "fakes are for tests"},
	{"cmd/mullion", "k8s.io/kube-openapi/pkg/validation", smallClient},
	{"cmd/mullion", "mullion.dev/mullion/internal/windows/wintools", guestPrograms},
	{"cmd/mullion", "mullion.dev/mullion/internal/windows/powershell", guestPrograms},
	{"cmd/mullion", "mullion.dev/mullion/internal/windows/cmdexe", guestPrograms},
	{"cmd/cmd", "net/http", "cmd.exe is started for every probe: it has to be small"},
	{"internal/windows/cmdexe/syntax", "mullion.dev/mullion/", "the grammar is pure"},
	{"cmd/mullion-node", "k8s.io/client-go/", "the node's program talks to no API server: it runs once a node"},
	{"cmd/mullion-node", "mullion.dev/mullion/internal/windows/wintools", guestPrograms},
	{
		"internal/runtime/cri", "mullion.dev/mullion/internal/network/hns",
		"cri reaches the network through its Network interface",
	},
	{"internal/runtime/cri", "mullion.dev/mullion/internal/node/winhost", "cri reaches the host through interfaces"},
}

// wings are the folders of internal, and for each the wings that its packages may import besides their own.
var wings = map[string]string{
	"base":         "",
	"process":      "base",
	"windows":      "base",
	"spec":         "base windows",
	"network":      "base spec",
	"runtime":      "base windows",
	"machines":     "base spec",
	"controlplane": "base process spec windows machines",
	"node":         "base process spec windows network runtime",
	"winserver":    "base spec windows network machines node",
	"cluster":      "base process spec windows network runtime machines controlplane node",
	"single":       "base process windows runtime cluster",
	"check":        "base windows",
	"conformance":  "base runtime",
	"diagnose":     "base",
	"cli": "base process spec windows network runtime machines controlplane node cluster single check conformance " +
		"diagnose",
	"arch": "",
}

// listing is what `go list` says of a package.
type listing struct {
	ImportPath    string
	Imports, Deps []string
}

func listed(t *testing.T, args ...string) []listing {
	t.Helper()
	args = append([]string{"list", "-C", root, "-json=ImportPath,Imports,Deps"}, args...)
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listing
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for dec.More() {
		var p listing
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestWings holds that wings import only the wings below them.
func TestWings(t *testing.T) {
	const internal = "mullion.dev/mullion/internal/"
	seen := map[string]bool{}
	for _, p := range listed(t, "./internal/...") {
		path := strings.TrimPrefix(p.ImportPath, internal)
		wing, _, _ := strings.Cut(path, "/")
		allowed, known := wings[wing]
		if !known {
			t.Errorf("internal/%s is in none of the wings: %v", path, slices.Sorted(maps.Keys(wings)))
			continue
		}
		seen[wing] = true
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, internal)
			other, _, _ := strings.Cut(to, "/")
			if ours && other != wing && !slices.Contains(strings.Fields(allowed), other) {
				t.Errorf("internal/%s imports internal/%s: the wing %s may import %q only", path, to, wing, allowed)
			}
		}
	}
	for wing := range wings {
		if !seen[wing] {
			t.Errorf("the wing %s has no package: its row is stale", wing)
		}
	}
}

func TestImportDirection(t *testing.T) {
	deps := map[string][]string{}
	for _, p := range listed(t, "-deps", "./cmd/...", "./internal/...") {
		deps[p.ImportPath] = p.Deps
	}
	for _, f := range forbidden {
		got, ok := deps["mullion.dev/mullion/"+f.from]
		if !ok {
			t.Errorf("%s is not a package; the rule about %s is stale", f.from, f.to)
		}
		for _, d := range got {
			if d == f.to || strings.HasPrefix(d, f.to) {
				t.Errorf("%s reaches %s: %s", f.from, d, f.why)
				break
			}
		}
	}
}
