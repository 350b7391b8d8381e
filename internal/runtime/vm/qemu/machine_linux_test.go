package qemu

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	o := Options{
		Accelerator: TCG,
		CPUs:        3,
		Memory:      512 << 20,
		MACs:        []string{"00:15:5d:00:00:01", "00:15:5d:00:00:02"},
	}

	got := strings.Join(o.arguments(3), " ")
	for _, want := range []string{
		"-smp 3 -m 512M", "size=512M,share=on", "-kernel /proc/self/fd/3 -initrd /proc/self/fd/4",
		"socket,id=files,fd=5", "socket,id=link,fd=6", "tap,id=net1,fd=8", "netdev=net1,mac=00:15:5d:00:00:02",
		"-sandbox on,", "-accel tcg,",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("arguments lack %q: %s", want, got)
		}
	}

	o.Accelerator = KVM
	if args := o.arguments(3); !slices.Contains(args, "host") || strings.Contains(strings.Join(args, " "), "mitigations=off") {
		t.Errorf("with KVM: %v", args)
	}
}

// TestProbe boots a guest: QEMU's emulation works wherever QEMU does, and an accelerator that is none works nowhere.
func TestProbe(t *testing.T) {
	qemu := first(qemus())
	if qemu == "" || os.Geteuid() != 0 {
		t.Skip("needs qemu-system-x86_64 and root")
	}

	p := Parts{QEMU: qemu}
	user := User{ID: 0x70010000}
	if err := p.Probe(t.Context(), TCG, user); err != nil {
		t.Error(err)
	}
	if err := p.Probe(t.Context(), "none", user); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("accelerator none: %v", err)
	}
}

// TestUsersApart: what runs as a machine's user sees nothing of what another machine's does. As the same user it would,
// in its namespaces too.
func TestUsersApart(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	victim := exec.Command("/bin/sleep", "60")
	victim.SysProcAttr = User{ID: 0x70010000}.attributes()
	if err := startLocked(victim); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = victim.Process.Kill(), victim.Wait() }()

	for id, seen := range map[uint32]bool{0x70010000: true, 0x70010002: false} {
		look := exec.Command("/bin/ls", fmt.Sprintf("/proc/%d/fd/0", victim.Process.Pid))
		look.SysProcAttr = User{ID: id}.attributes()
		if out, err := look.CombinedOutput(); (err == nil) != seen {
			t.Errorf("user %d: %v: %s", id, err, out)
		}
	}
}
