package qemu

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	o := Options{Accelerator: TCG, CPUs: 3, Memory: 512 << 20, MACs: []string{"00:15:5d:00:00:01", "00:15:5d:00:00:02"}}
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
