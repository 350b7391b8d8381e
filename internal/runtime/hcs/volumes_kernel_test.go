//go:build kernel

package hcs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/wine"
)

// TestVolume: programs of the host read and write a prepared scratch by its volume, over its layers, and follow no
// links there; while a compute system uses the scratch, and once it is unprepared, there is no volume.
func TestVolume(t *testing.T) {
	h := newHost(t)
	h.stop()
	h.config.Volumes = t.TempDir()
	if err := os.Mkdir(filepath.Join(filepath.Dir(h.drive), "dosdevices"), 0o755); err != nil {
		t.Fatal(err)
	}

	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(h.drive, "layers/base/Files/base.txt"), "of the layer")
	h.begin(t)
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	guid := h.volume[len(`\\?\Volume{`) : len(h.volume)-1]
	device := filepath.Join(filepath.Dir(h.drive), "dosdevices", wine.VolumeDevice(guid))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(h.config.Volumes, guid), unix.MNT_DETACH) })
	scratch := filepath.Join(h.cfg.StateDir, "scratch", guid, "fs", files)
	gone := func(when string) {
		t.Helper()
		_, err := os.Lstat(device)
		if left, _ := os.ReadDir(h.config.Volumes); err == nil || len(left) > 0 {
			t.Errorf("%s the volume is there: %v, %v", when, left, err)
		}
	}

	if text, err := os.ReadFile(filepath.Join(device, "base.txt")); string(text) != "of the layer" {
		t.Errorf("the layer's file on the volume: %q, %v", text, err)
	}
	write(filepath.Join(device, "new.txt"), "of the host")
	if text, err := os.ReadFile(filepath.Join(scratch, "new.txt")); string(text) != "of the host" {
		t.Errorf("the file in the scratch: %q, %v", text, err)
	}

	for _, to := range []string{"/etc/passwd", "base.txt"} {
		if err := os.Symlink(to, filepath.Join(scratch, "link")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(filepath.Join(device, "link")); !errors.Is(err, unix.ELOOP) {
			t.Errorf("a link to %q on the volume: %v", to, err)
		}
		if err := os.Remove(filepath.Join(scratch, "link")); err != nil {
			t.Fatal(err)
		}
	}

	system := h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	gone("while a compute system uses it")
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	gone("while a compute system uses it, and it is prepared again,")
	h.ok(t, "HcsTerminateComputeSystem", "c1")
	event(t, system.Events)
	if _, err := os.ReadFile(filepath.Join(device, "new.txt")); err != nil {
		t.Errorf("after the compute system: %v", err)
	}

	// An open file does not keep it.
	f, err := os.Open(filepath.Join(device, "new.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	h.ok(t, "UnprepareLayer", scratchPath)
	gone("unprepared,")
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	h.ok(t, "DeactivateLayer", scratchPath)
	gone("inactive,")
	h.ok(t, "ActivateLayer", scratchPath)
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	h.ok(t, "DestroyLayer", scratchPath)
	gone("destroyed,")

	// The GUID may be that of a disk's volume, of which nothing is taken.
	h.ok(t, "CreateSandboxLayer", scratchPath)
	disk := filepath.Join(h.config.Volumes, guid)
	write(filepath.Join(h.drive, "layers/scratch", sandboxDisk), diskMark+guid)
	err = errors.Join(os.Mkdir(disk, 0o755), unix.Mount("tmpfs", disk, "tmpfs", 0, ""))
	if err != nil {
		t.Fatal(err)
	}

	write(filepath.Join(disk, "data.txt"), "of the disk")
	h.refused(t, InvalidArg, "PrepareLayer", scratchPath, baseLayer+"\n")
	h.refused(t, InvalidArg, "UnprepareLayer", scratchPath)
	h.refused(t, InvalidArg, "DestroyLayer", scratchPath)
	if text, err := os.ReadFile(filepath.Join(disk, "data.txt")); string(text) != "of the disk" {
		t.Errorf("the disk's file is %q, %v", text, err)
	}

	if err := errors.Join(unix.Unmount(disk, 0), os.Remove(disk)); err != nil {
		t.Fatal(err)
	}
	h.ok(t, "DestroyLayer", scratchPath)

	// A layer whose Files is a link is no drive.
	if err := os.MkdirAll(filepath.Join(h.drive, "layers/evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(h.drive, "layers/evil", files)); err != nil {
		t.Fatal(err)
	}

	h.ok(t, "CreateSandboxLayer", scratchPath)
	h.ok(t, "ActivateLayer", scratchPath)
	if _, err := h.Call(t.Context(), "PrepareLayer", []string{scratchPath, `C:\layers\evil` + "\n"}); err == nil {
		t.Error("a layer whose Files is a link has a volume")
	}
	gone("of a link")
}

// TestVolumeOfRunning: while a container runs, its drive is the volume, on which nobody follows links, also for the
// next service; when it has ended, the volume is that of its scratch again.
func TestVolumeOfRunning(t *testing.T) {
	h := newHost(t)
	h.stop()
	h.config.Volumes = t.TempDir()
	if err := os.Mkdir(filepath.Join(filepath.Dir(h.drive), "dosdevices"), 0o755); err != nil {
		t.Fatal(err)
	}

	h.engine.Files = overlayOf(t)
	if err := os.WriteFile(filepath.Join(h.engine.Files, "running.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("running.txt", filepath.Join(h.engine.Files, "link")); err != nil {
		t.Fatal(err)
	}

	h.begin(t)
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	guid := h.volume[len(`\\?\Volume{`) : len(h.volume)-1]
	device := filepath.Join(filepath.Dir(h.drive), "dosdevices", wine.VolumeDevice(guid))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(h.config.Volumes, guid), unix.MNT_DETACH) })
	runs := func() bool {
		_, err := os.Lstat(filepath.Join(device, "running.txt"))
		return err == nil
	}

	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	if runs() {
		t.Error("the drive of a container that does not run is there")
	}
	h.ok(t, "HcsCreateProcess", "c1", allStreams)
	if !runs() {
		t.Error("the drive of the running container is not there")
	}

	if _, err := os.ReadFile(filepath.Join(device, "link")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link on the volume: %v", err)
	}

	h.stop()
	h.begin(t)
	if !runs() {
		t.Error("the next service does not show the drive of the running container")
	}

	system := h.ok(t, "HcsOpenComputeSystem", "c1")
	h.ok(t, "HcsTerminateComputeSystem", "c1")
	event(t, system.Events)
	if runs() {
		t.Error("the drive of a container that has ended is there")
	}
}

// overlayOf mounts an overlay, as a container's root is one.
func overlayOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, "at")
	for _, name := range []string{"lower", "upper", "work", "at"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	options := "lowerdir=" + dir + "/lower,upperdir=" + dir + "/upper,workdir=" + dir + "/work"
	if err := unix.Mount("overlay", at, "overlay", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	return at
}

// TestOtherUser: all programs of a container run as the first one's user.
func TestOtherUser(t *testing.T) {
	h := newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.ok(t, "HcsCreateProcess", "c1", `{"CommandLine":"x.exe","User":"ContainerUser"}`)
	h.ok(t, "HcsCreateProcess", "c1", `{"CommandLine":"x.exe","User":"containeruser"}`)
	h.refused(t, NotSupported, "HcsCreateProcess", "c1", `{"CommandLine":"x.exe"}`)
	h.refused(t, NotSupported, "HcsCreateProcess", "c1", `{"CommandLine":"x.exe","User":"ContainerAdministrator"}`)
}
