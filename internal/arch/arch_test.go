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
	smallClient = "a client of all groups is a third of the program: package kubeclient has those in use"
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
	{"cmd/mullion", "gvisor.dev/", "the network stack is mullion-nat's, which has no rights"},
	{"cmd/mullion-nat", "k8s.io/", "what reads containers' packets has to be small"},
	{"cmd/mullion-init", "k8s.io/", "PID 1 of every container has to be small"},
	{"cmd/mullion-init", "net/http", "PID 1 of every container has to be small"},
	{"cmd/mullion-agent", "k8s.io/client-go/kubernetes", "the agent is a small program that asks the API server little"},
	{"cmd/mullion", "k8s.io/client-go/kubernetes", smallClient},
	{"cmd/mullion", "k8s.io/client-go/informers", smallClient},
	{"cmd/mullion", "k8s.io/client-go/listers", smallClient},
	{"cmd/mullion", "k8s.io/client-go/applyconfigurations", smallClient},
	{"cmd/mullion", "k8s.io/client-go/testing", "fakes are for tests"},
	{"cmd/mullion", "mullion.dev/mullion/internal/cli/clitest", "it is for tests"},
	{"cmd/mullion", "k8s.io/kube-openapi/pkg/validation", smallClient},
	{"guest/cmd/cmd", "net/http", "cmd.exe is started for every probe: it has to be small"},
	{"guest/cmdexe/syntax", "mullion.dev/mullion/", "the grammar is pure"},
	{"cmd/mullion-node", "k8s.io/client-go/", "the node's program talks to no API server: it runs once a node"},
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
	"hostservices": "base spec windows",
	"node":         "base process spec windows network runtime hostservices",
	"winserver":    "base spec windows network machines node",
	"cluster":      "base process spec windows network runtime machines controlplane hostservices node",
	"single":       "base process windows network runtime cluster",
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

// listed returns the packages of a system: linux or windows.
func listed(t *testing.T, system string, args ...string) []listing {
	t.Helper()
	if system != "linux" { // there are packages for Linux alone, which others import
		args = append([]string{"-e"}, args...)
	}

	args = append([]string{"list", "-C", root, "-json=ImportPath,Imports,Deps"}, args...)
	list := exec.CommandContext(t.Context(), "go", args...)
	list.Env = append(list.Environ(), "GOOS="+system)
	out, err := list.Output()
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
	for _, p := range listed(t, "linux", "./internal/...") {
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

// powershell are the packages of guest/powershell, and for each those of them that it may import. No cmdlet knows how
// scripts are read or run, and what runs scripts knows no cmdlet: package powershell itself hands it a table.
var powershell = map[string]string{
	"words":       "",
	"system":      "words",
	"session":     "system",
	"absent":      "words",
	"position":    "",
	"object":      "absent position session system words",
	"pattern":     "object",
	"library":     "object session",
	"native":      "library object session",
	"operator":    "library object pattern",
	"format":      "object system",
	"stream":      "object session",
	"provider":    "format object pattern session stream system words",
	"xmldoc":      "object provider session",
	"sockets":     "object session stream",
	"address":     "object session",
	"certificate": "object pattern provider session system",
	"events":      "object pattern session",
	"clixml":      "dotnet library object",
	"dotnet": "address certificate events library native object pattern provider session sockets stream system words " +
		"xmldoc",
	"cmdlet": "certificate object pattern provider session words",
	"cmdlets": "certificate clixml cmdlet dotnet events format library native object operator pattern provider session " +
		"stream system words xmldoc",
	"lang":       "object operator pattern position words",
	"binding":    "cmdlet dotnet lang object operator pattern provider words",
	"check":      "absent binding cmdlet dotnet lang object operator pattern words",
	"scope":      "absent binding cmdlet lang object pattern provider words",
	"completion": "cmdlet dotnet lang object provider session",
	"constructs": "",
	"module":     "dotnet lang library object pattern provider",
	"engine": "absent binding cmdlet dotnet events format lang library module object operator pattern position provider " +
		"scope session stream words",
}

func TestPartsOfPowerShell(t *testing.T) {
	const folder = "mullion.dev/mullion/guest/powershell/"
	seen := map[string]bool{}
	for _, system := range []string{"linux", "windows"} {
		for _, p := range listed(t, system, "./guest/powershell/...") {
			path, below := strings.CutPrefix(p.ImportPath, folder)
			part, _, _ := strings.Cut(path, "/")
			allowed, known := powershell[part]
			if !below {
				continue // it puts the parts together
			}
			if !known {
				t.Errorf("guest/powershell/%s has no row in the table of its imports", part)
			}

			seen[part] = true
			for _, i := range p.Imports {
				to, ours := strings.CutPrefix(i, folder)
				if ours && !slices.Contains(strings.Fields(allowed), to) {
					t.Errorf("guest/powershell/%s imports %s: it may import %q", path, to, allowed)
				}
			}
		}
	}

	for part := range powershell {
		if !seen[part] {
			t.Errorf("guest/powershell/%s is no package: its row is stale", part)
		}
	}
}

// TestTwoSides holds the guest side and the host side apart. guest/ has what is compiled for Windows: of the rest it
// imports what both sides speak (internal/windows/wire) and internal/base. No other package imports any of guest/.
func TestTwoSides(t *testing.T) {
	const module, guest, wire = "mullion.dev/mullion/", "guest/", "internal/windows/wire/"
	mayImport := func(from, to string) bool {
		base := strings.HasPrefix(to, "internal/base/")
		switch {
		case strings.HasPrefix(from, guest):
			return strings.HasPrefix(to, guest) || strings.HasPrefix(to, wire) || base
		case strings.HasPrefix(from, wire):
			return strings.HasPrefix(to, wire) || base
		}
		return !strings.HasPrefix(to, guest)
	}

	for _, system := range []string{"linux", "windows"} {
		sides := map[bool]int{}
		for _, p := range listed(t, system, "./cmd/...", "./internal/...", "./guest/...") {
			from := strings.TrimPrefix(p.ImportPath, module)
			sides[strings.HasPrefix(from, guest)]++
			for _, i := range p.Imports {
				to, ours := strings.CutPrefix(i, module)
				if ours && !mayImport(from, to) {
					t.Errorf("%s: %s imports %s: guest/ and the rest meet in internal/windows/wire and internal/base", system, from, to)
				}
			}
		}

		if sides[true] < 10 || sides[false] < 10 {
			t.Errorf("%s: %d packages of guest/, %d others: some were not seen", system, sides[true], sides[false])
		}
	}
}

func TestImportDirection(t *testing.T) {
	deps := map[string][]string{}
	for _, p := range listed(t, "linux", "-deps", "./cmd/...", "./internal/...", "./guest/...") {
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
