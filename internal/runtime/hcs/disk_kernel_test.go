//go:build kernel

package hcs

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/wine"
)

// handle is a disk that a program has open.
type handle struct {
	net.Conn
	closed chan struct{} // when the service has seen the program's end
}

// openDisk opens the disk of the host's scratch.
func (h *host) openDisk(t *testing.T) handle {
	t.Helper()
	stream := h.ok(t, "OpenVirtualDisk", scratchPath+`\sandbox.vhdx`).Stream
	program, service := net.Pipe()
	d := handle{program, make(chan struct{})}
	go func() {
		defer close(d.closed)
		stream(t.Context(), service, []byte("answer"))
	}()
	answer := make([]byte, len("answer"))
	if _, err := io.ReadFull(program, answer); string(answer) != "answer" || err != nil {
		t.Fatalf("the answer is %q, %v", answer, err)
	}
	return d
}

// asks has the service do something with a disk.
func (d handle) asks(t *testing.T, what byte, want Code) {
	t.Helper()
	_ = d.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := d.Write([]byte{what}); err != nil {
		t.Fatal(err)
	}
	var got [4]byte
	if _, err := io.ReadFull(d, got[:]); err != nil {
		t.Fatal(err)
	}
	if code := Code(binary.LittleEndian.Uint32(got[:])); code != want {
		t.Errorf("%q of a disk: 0x%x, want 0x%x", what, uint32(code), uint32(want))
	}
}

// end closes the program's handle.
func (d handle) end() {
	_ = d.Close()
	<-d.closed
}

// TestDisk: a scratch that is attached by its disk is a volume, with what it has itself and without its layers, until
// the program closes its handle; one that is prepared stays one.
func TestDisk(t *testing.T) {
	h := newHost(t)
	h.stop()
	h.config.Volumes = t.TempDir()
	if err := os.Mkdir(filepath.Join(filepath.Dir(h.drive), "dosdevices"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.drive, "layers/base/Files/base.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}

	h.begin(t)
	h.ok(t, "DeactivateLayer", scratchPath)
	guid := strings.Trim(strings.TrimPrefix(h.volume, `\\?\Volume`), `{}`)
	device := filepath.Join(filepath.Dir(h.drive), "dosdevices", wine.VolumeDevice(guid))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(h.config.Volumes, guid), unix.MNT_DETACH) })

	h.refused(t, NotReady, "GetLayerMountPath", scratchPath)
	d := h.openDisk(t)
	d.asks(t, diskDetach, NotReady)
	d.asks(t, 'x', InvalidArg)
	d.asks(t, diskAttach, 0)
	d.asks(t, diskAttach, InUse)
	if got := h.ok(t, "GetLayerMountPath", scratchPath).Text; got != h.volume {
		t.Errorf("the attached disk is the volume %q, want %q", got, h.volume)
	}

	if err := os.WriteFile(filepath.Join(device, "own.txt"), []byte("of the host"), 0o644); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(device, "base.txt")); err == nil {
		t.Error("a file of a layer is on the disk")
	}

	d.end()
	if _, err := os.Lstat(device); err == nil {
		t.Error("the volume is there, and its handle is closed")
	}

	// A handle that is closed after the layer was prepared takes nothing away.
	d = h.openDisk(t)
	d.asks(t, diskAttach, 0)
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	d.end()
	for _, name := range []string{"own.txt", "base.txt"} {
		if _, err := os.Lstat(filepath.Join(device, name)); err != nil {
			t.Errorf("of the prepared layer: %v", err)
		}
	}

	// What is attached for good is detached by another handle.
	h.ok(t, "UnprepareLayer", scratchPath)
	h.ok(t, "DeactivateLayer", scratchPath)
	d = h.openDisk(t)
	d.asks(t, diskAttachForGood, 0)
	d.end()
	if _, err := os.Lstat(device); err != nil {
		t.Errorf("attached for good: %v", err)
	}

	d = h.openDisk(t)
	d.asks(t, diskDetach, 0)
	d.end()
	if left, err := os.ReadDir(h.config.Volumes); len(left) > 0 || err != nil {
		t.Errorf("volumes are left: %v, %v", left, err)
	}

	// While a compute system uses the scratch, it is none of the host's.
	h.ok(t, "ActivateLayer", scratchPath)
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	d = h.openDisk(t)
	d.asks(t, diskAttach, InUse)
	d.asks(t, diskDetach, InUse)
	d.end()
}
