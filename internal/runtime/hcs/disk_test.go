package hcs

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDiskIsRefused: what is no disk of a scratch is not opened, and a size is asked for of scratches alone.
func TestDiskIsRefused(t *testing.T) {
	h := newHost(t)
	if err := os.WriteFile(filepath.Join(h.drive, "other.vhdx"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h.refused(t, NotSupported, "OpenVirtualDisk", `C:\other.vhdx`)
	h.refused(t, NotSupported, "OpenVirtualDisk", `sandbox.vhdx`)
	h.refused(t, FileNotFound, "OpenVirtualDisk", baseLayer+`\sandbox.vhdx`)
	h.refused(t, PathNotFound, "OpenVirtualDisk", `C:\absent\sandbox.vhdx`)

	h.ok(t, "ExpandSandboxSize", scratchPath, "136365211648")
	h.refused(t, FileNotFound, "ExpandSandboxSize", baseLayer, "136365211648")
	for _, size := range []string{"", "0", "-1", "18446744073709551616", "1GB"} {
		h.refused(t, InvalidArg, "ExpandSandboxSize", scratchPath, size)
	}

	h.refused(t, PathNotFound, "ExpandSandboxSize", `C:\absent`, "1")
}
