package arch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// done are things that the tree does, by the words that a page would have for them, and where it does them.
func done() map[string]string {
	return map[string]string{
		"hyper-v":          "internal/runtime/vm",
		"virtual machine":  "internal/runtime/vm/qemu",
		"several machines": "internal/machines",
		"several control":  "internal/network/tcpbalancer",
		"installer":        "hack/release",
		".rpm":             "hack/release",
		"patches of wine":  "guest/c/hooks",
		"windows server":   "internal/winserver",
		"networkpolic":     "internal/network/policy",
		"service accounts": "internal/hostservices/tickets/directory",
		"iscsi":            "internal/hostservices/initiator",
		"smb":              "internal/hostservices/smb",
		"loadbalancer":     "internal/controlplane/loadbalancer",
		"conformance":      "internal/conformance",
		"event log":        "guest/eventlog",
	}
}

// outOfScope returns the things in the first column of SCOPE.md's table "Out".
func outOfScope(t *testing.T) []string {
	t.Helper()
	_, out, found := strings.Cut(read(t, filepath.Join(root, "SCOPE.md")), "\n## Out\n")
	if !found {
		t.Fatal(`SCOPE.md has no section "Out"`)
	}

	var things []string
	for line := range strings.Lines(out) {
		cells := strings.Split(line, "|")
		if len(cells) > 2 && strings.Trim(cells[1], " -") != "" && strings.TrimSpace(cells[1]) != "what" {
			things = append(things, strings.ToLower(cells[1]))
		}
	}
	if len(things) < 3 {
		t.Fatalf("found only %q in SCOPE.md's section \"Out\"", things)
	}

	return things
}

// TestScopeNamesNothingThatIsDone holds that SCOPE.md calls nothing out of scope that a package does.
func TestScopeNamesNothingThatIsDone(t *testing.T) {
	things := outOfScope(t)
	for word, where := range done() {
		if _, err := os.Stat(filepath.Join(root, where)); err != nil {
			t.Errorf("%q is said to be done in %s: %v", word, where, err)
		}
		for _, thing := range things {
			if strings.Contains(thing, word) {
				t.Errorf("SCOPE.md has %q out of scope, and %s does it", strings.TrimSpace(thing), where)
			}
		}
	}
}
