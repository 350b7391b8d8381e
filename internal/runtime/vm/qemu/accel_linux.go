package qemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Accelerator is how QEMU runs a guest's instructions.
type Accelerator string

// The accelerators.
const (
	KVM Accelerator = "kvm"
	TCG Accelerator = "tcg"
)

// probeTimeout is how long the probe's guest may take; with KVM it takes some hundredths of a second.
const probeTimeout = 10 * time.Second

// probeCode is what the probe's guest says by the debug exit device; QEMU's own status is twice that and 1.
const probeCode = 0x2a

// probeFirmware returns a firmware that says probeCode and stops. A processor begins 16 bytes below the firmware's end:
// mov al, probeCode; out 0xf4, al; hlt.
func probeFirmware() []byte {
	const size = 64 << 10 // the smallest that QEMU takes
	code := []byte{0xb0, probeCode, 0xe6, 0xf4, 0xf4}
	image := make([]byte, size)
	copy(image[size-16:], code)
	return image
}

// Probe reports whether a guest boots with an accelerator, by booting one; the error says why it does not. QEMU runs as
// the user that machines' QEMU runs as.
func (p Parts) Probe(ctx context.Context, a Accelerator, user User) (err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "mullion-probe-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	firmware := filepath.Join(dir, "firmware")
	if err := os.WriteFile(firmware, probeFirmware(), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // QEMU is another user
		return err
	}

	cmd := exec.CommandContext(ctx, p.QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-machine", "pc",
		"-accel", string(a), "-m", "16", "-bios", firmware, "-device", "isa-debug-exit,iobase=0xf4,iosize=4")
	cmd.Env = []string{}
	cmd.SysProcAttr = user.attributes()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == probeCode<<1|1 {
		return nil
	}

	if ctx.Err() != nil {
		err = ctx.Err()
	}

	return fmt.Errorf("boot a guest with %s: %w: %s", a, err, bytes.TrimSpace(out))
}

// Choose returns the accelerator that a guest boots with: KVM, else TCG. The error says why none does.
func (p Parts) Choose(ctx context.Context, user User) (Accelerator, error) {
	kvm := p.Probe(ctx, KVM, user)
	if kvm == nil {
		return KVM, nil
	}
	if tcg := p.Probe(ctx, TCG, user); tcg != nil {
		return "", errors.Join(kvm, tcg)
	}
	return TCG, nil
}
