package sides_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/node/agent/compute"
	"mullion.dev/mullion/internal/runtime/hcs"
)

// libraries is the C of the guest side.
const libraries = "../../guest/c"

// exported returns what a library exports: the functions of its own name, and those that stand for another.
func exported(t *testing.T, library string) (own []string, other map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(libraries, library, library+".def"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "\nEXPORTS\n")
	if !found {
		t.Fatalf("%s.def has no EXPORTS", library)
	}

	other = map[string]string{}
	for name := range strings.FieldsSeq(list) {
		if export, function, renamed := strings.Cut(name, "="); renamed {
			other[export] = function
		} else {
			own = append(own, name)
		}
	}

	slices.Sort(own)
	return own, other
}

// TestCallsOfHNS checks the libraries of HNS, the table of its calls and the support table against each other: a
// function is exported if and only if the table has it with an operation, and the support table says of each function
// how much of it there is.
func TestCallsOfHNS(t *testing.T) {
	hcn, others := exported(t, "computenetwork")
	if len(others) > 0 {
		t.Errorf("computenetwork.def: %v stand for others", others)
	}

	hnsCall, _ := exported(t, "vmcompute") // whose other functions are of the Host Compute Service
	hnsCall = slices.DeleteFunc(hnsCall, func(name string) bool { return name != "HNSCall" })
	rows := map[string]support.Level{}
	for _, r := range hns.SupportRows() {
		rows[r.Name] = r.Level
	}

	var calls []string
	for name, c := range hns.Calls() {
		if rows[name] != c.Level {
			t.Errorf("%s: the support table says %q, the table of calls %q", name, rows[name], c.Level)
		}
		if none := c.Operation == hns.NotExported; none != (c.Level == support.Not) {
			t.Errorf("%s is %q and its operation %q", name, c.Level, c.Operation)
		}
		if c.Operation != hns.NotExported {
			calls = append(calls, name)
		}

		delete(rows, name)
	}

	slices.Sort(calls)
	if diff := cmp.Diff(calls, slices.Sorted(slices.Values(append(hcn, hnsCall...)))); diff != "" {
		t.Errorf("functions (-table of calls +exports):\n%s", diff)
	}
	for name := range rows {
		if strings.HasPrefix(name, "Hcn") {
			t.Errorf("the support table has %s, the table of calls has not", name)
		}
	}
}

// forHooks is what vmcompute.dll has for hooks/job.c.
const forHooks = "MullionJobInformation"

// TestCallsOfHCS checks the libraries of the Host Compute Service, and the table of its calls, against each other: a
// function that stands for another is not there, and says so in the support table.
func TestCallsOfHCS(t *testing.T) {
	rows := map[string]map[string]support.Level{
		hcs.ComputeCore: {}, hcs.VMCompute: {}, hcs.VirtDisk: {}, hcs.BindFilter: {},
	}
	for _, c := range hcs.Calls() {
		rows[c.Library][c.Name] = c.Level
	}

	for library, levels := range rows {
		own, others := exported(t, strings.TrimSuffix(library, ".dll"))
		for _, name := range own {
			if level, ok := levels[name]; (!ok || level == support.Not) && name != "HNSCall" && name != forHooks {
				t.Errorf("%s exports %s, which the table has as %q", library, name, level)
			}
			delete(levels, name)
		}

		for name, function := range others {
			if level, ok := levels[name]; !ok || level != support.Not {
				t.Errorf("%s has %s for %s, which the table has as %q", library, function, name, level)
			}
			delete(levels, name)
		}

		if len(levels) > 0 {
			t.Errorf("the table has functions that %s has not: %v", library, levels)
		}
	}
}

// asked is a function's name in the C of a library; some names are put together by macros.
var asked = regexp.MustCompile(`(?:(?:\.|->)function = |\bask(?:_\w+)?\()"(\w+)"[,;}]`)

// TestLibrariesAskForCalls checks that each call with which the libraries ask the server is in a table and carried out.
func TestLibrariesAskForCalls(t *testing.T) {
	calls := hns.Calls()
	ofHCS := map[string]bool{
		compute.Enumerate: true, compute.Properties: true, compute.QueryJob: true, hcs.StreamFunction: true,
	}
	for _, c := range hcs.Calls() {
		ofHCS[c.Name] = ofHCS[c.Name] || c.IsAsked()
	}

	found := map[string]bool{}
	for _, some := range []string{"computenetwork/*.c", "computecore/*.c", "vmcompute/*.c", "virtdisk/*.c", "bindfltapi/*.c", "common/hcs_*.c"} {
		files, err := filepath.Glob(filepath.Join(libraries, some))
		if err != nil || len(files) == 0 {
			t.Fatalf("the C of %s: %v, %v", some, files, err)
		}

		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			for _, match := range asked.FindAllStringSubmatch(string(text), -1) {
				found[match[1]] = true
				switch calls[match[1]].Operation {
				case "", hns.InLibrary, hns.NotExported:
					if !ofHCS[match[1]] {
						t.Errorf("%s asks for %s, which the server does not carry out", file, match[1])
					}
				}
			}
		}
	}

	for name := range ofHCS {
		if ofHCS[name] && !found[name] {
			t.Errorf("no library asks for %s", name)
		}
	}
}
