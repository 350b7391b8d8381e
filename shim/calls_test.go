package shim_test

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
	"mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/node/agent/compute"
)

// exported returns what a library exports: the functions of its own name, and those that stand for another.
func exported(t *testing.T, library string) (own []string, other map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(library, library+".def"))
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

// forHooks is what vmcompute.dll has for hooks/job.c.
const forHooks = "MullionJobInformation"

// TestCallsOfHNS checks the libraries of HNS, the table of its calls and the support table against each other: a
// function is exported if and only if the table has it with an operation, and the support table says of each function
// how much of it there is.
func TestCallsOfHNS(t *testing.T) {
	hcn, others := exported(t, "computenetwork")
	if len(others) > 0 {
		t.Errorf("computenetwork.def: %v stand for others", others)
	}
	hnsCall, others := exported(t, "vmcompute")
	compute := slices.DeleteFunc(slices.Clone(hnsCall), func(name string) bool { return name == "HNSCall" })
	hnsCall = slices.DeleteFunc(hnsCall, func(name string) bool { return slices.Contains(compute, name) })
	for _, function := range compute {
		if !strings.HasPrefix(function, server.ComputePrefix) && function != forHooks {
			t.Errorf("vmcompute.def: %s is of no service", function)
		}
	}
	for export, function := range others {
		if function != "hcs_not_implemented" {
			t.Errorf("vmcompute.def: %s is %s: no more of the Host Compute Service is there", export, function)
		}
	}
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

// asked is a function's name in the C of a library; some names are put together by macros.
var asked = regexp.MustCompile(`(?:\.function = |\bask\()"(\w+)"[,}]`)

// TestLibrariesAskForCalls checks that each call with which the libraries ask the server is in the table and carried
// out.
func TestLibrariesAskForCalls(t *testing.T) {
	calls := hns.Calls()
	for _, library := range []string{"computenetwork", "vmcompute"} {
		files, err := filepath.Glob(filepath.Join(library, "*.c"))
		if err != nil || len(files) == 0 {
			t.Fatalf("the C of %s: %v, %v", library, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range asked.FindAllStringSubmatch(string(text), -1) {
				if slices.Contains([]string{compute.Enumerate, compute.Properties, compute.QueryJob}, found[1]) {
					continue // of the Host Compute Service
				}
				switch calls[found[1]].Operation {
				case "", hns.InLibrary, hns.NotExported:
					t.Errorf("%s asks for %s, which the server does not carry out", file, found[1])
				}
			}
		}
	}
}
