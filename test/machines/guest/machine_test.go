package guest

import (
	"strings"
	"testing"
)

// TestLabelsComeLast: a file that is written after the labels were set has none, and with SELinux no service may read
// it.
func TestLabelsComeLast(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(selinuxScript), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "setfiles ") {
		t.Errorf("the script of a machine with SELinux ends with %q, want setfiles", last)
	}
}
