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

// TestPayloadIsRootsToMount: where SELinux labels the disk with Mullion, systemd may not mount it, and waits for no
// login either.
func TestPayloadIsRootsToMount(t *testing.T) {
	if !strings.Contains(selinuxScript, "/opt/mullion ext4 ro|&,noauto,context=") {
		t.Error("a machine with SELinux has systemd mount the disk with Mullion")
	}
}
