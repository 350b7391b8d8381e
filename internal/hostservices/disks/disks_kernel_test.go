//go:build kernel

package disks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/hostservices/disks"
	"mullion.dev/mullion/internal/hostservices/service"
	"mullion.dev/mullion/internal/hostservices/service/servicetest"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

const mib = 1 << 20

// host is a host with disks. Its server can end and begin again.
type host struct {
	dir    string
	server *disks.Server
	end    func()
}

func TestMain(m *testing.M) { os.Exit(servicetest.Alone(m)) }

// newHost starts the server of a host, whose Mounts are a mount of their own, as on a node.
func newHost(t *testing.T) *host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, tool := range []string{"mkfs.xfs", "blkid"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s: %v", tool, err)
		}
	}

	h := &host{dir: t.TempDir()}
	for _, dir := range []string{h.mounts(), filepath.Join(h.dir, "prefix", "dosdevices")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := unix.Mount(h.mounts(), h.mounts(), "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		h.end()
		entries, _ := os.ReadDir(h.mounts())
		for _, e := range entries {
			_ = unix.Unmount(filepath.Join(h.mounts(), e.Name()), unix.MNT_DETACH)
		}

		if err := unix.Unmount(h.mounts(), unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		if left := h.loops(t); left != "" {
			t.Errorf("loop devices are left: %s", left)
		}
	})

	h.start(t)
	return h
}

func (h *host) mounts() string { return filepath.Join(h.dir, "volumes") }

// loops returns the loop devices of the host's disks.
func (h *host) loops(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}

	found := ""
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(data), h.dir) {
			found += string(data)
		}
	}

	return found
}

// start starts the server, in whatever state the host's folder is.
func (h *host) start(t *testing.T) {
	t.Helper()
	h.server = &disks.Server{
		Dir:    filepath.Join(h.dir, "disks"),
		Mounts: h.mounts(),
		Prefix: filepath.Join(h.dir, "prefix"),
		Log:    slog.New(slog.DiscardHandler),
	}

	h.end = servicetest.Start(t, h.dir, h.server.Service())
}

func (h *host) sockets() service.Sockets { return servicetest.Sockets(h.dir, hostcall.Disk) }

// ask asks the server as the operator.
func (h *host) ask(t *testing.T, r hostdisk.Request) (hostdisk.Answer, hostcall.Refusal) {
	t.Helper()
	return servicetest.Ask(t, h.sockets().Operator, hostdisk.Call(), r)
}

// must asks for what has to succeed.
func (h *host) must(t *testing.T, r hostdisk.Request) hostdisk.Answer {
	t.Helper()
	a, no := h.ask(t, r)
	if no.Words != "" {
		t.Fatalf("%+v: %+v", r, no)
	}
	return a
}

// refused asks for what has to be refused, with a code.
func (h *host) refused(t *testing.T, code uint32, r hostdisk.Request) {
	t.Helper()
	if _, no := h.ask(t, r); no.Code != code {
		t.Errorf("%+v: %+v, want %d", r, no, code)
	}
}

// formatted gives the host a disk with a volume, and returns the volume's partition.
func (h *host) formatted(t *testing.T) hostdisk.Part {
	t.Helper()
	disk := h.must(t, hostdisk.Request{Do: hostdisk.Attach, Size: 400 * mib}).Number
	h.must(t, hostdisk.Request{Do: hostdisk.Initialize, Disk: disk})
	number := h.must(t, hostdisk.Request{Do: hostdisk.Partition, Disk: disk}).Number
	a := h.must(t, hostdisk.Request{
		Do:        hostdisk.Format,
		Disk:      disk,
		Partition: number,
		Label:     "größe",
	})
	return partOf(t, a, disk, number)
}

func partOf(t *testing.T, a hostdisk.Answer, disk, number uint32) hostdisk.Part {
	t.Helper()
	for _, d := range a.Disks {
		for _, p := range d.Partitions {
			if d.Number == disk && p.Number == number {
				return p
			}
		}
	}
	t.Fatalf("no partition %d of disk %d in %+v", number, disk, a)
	return hostdisk.Part{}
}

func (h *host) file(p hostdisk.Part, name string) string {
	return filepath.Join(h.mounts(), p.GUID, name)
}

// TestDisk goes a disk's way: raw, partitioned, formatted, used, larger, read-only, offline, taken away.
func TestDisk(t *testing.T) {
	h := newHost(t)
	p := h.formatted(t)
	if p.Number != 2 || p.Offset != 16*mib || p.FileSystem != disks.NTFS || p.Label != "größe" ||
		p.VolumeSize < 300*mib {
		t.Errorf("the volume is %+v", p)
	}

	// what Linux' own tools see
	const reserved, basic = "e3c9e316-0b5c-4db8-817d-f92df00215ae", "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7"
	out, err := exec.Command("partx", "-g", "-o", "START,TYPE,UUID", h.images(t)[0]).CombinedOutput()
	if want := []string{"34", reserved, "32768", basic, p.GUID}; err != nil || !containsAll(string(out), want) {
		t.Errorf("the partition table: %v\n%s", err, out)
	}

	on := func(do hostdisk.Do) hostdisk.Request {
		return hostdisk.Request{
			Do:        do,
			Disk:      1,
			Partition: 2,
		}
	}

	h.refused(t, 41001, on(hostdisk.Initialize))
	h.refused(t, 40000, on(hostdisk.Partition))
	h.refused(t, 5, hostdisk.Request{
		Do:        hostdisk.Format,
		Disk:      1,
		Partition: 3,
	})

	h.refused(t, 41006, hostdisk.Request{
		Do:        hostdisk.Format,
		Disk:      1,
		Partition: 1,
	})
	h.refused(t, 5, hostdisk.Request{Do: hostdisk.Initialize, Disk: 9})

	if err := os.WriteFile(h.file(p, "kept"), []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must(t, on(hostdisk.Flush))
	used, err := os.Open(h.file(p, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()

	h.refused(t, hostdisk.InUse, on(hostdisk.Detach))
	h.refused(t, hostdisk.InUse, on(hostdisk.Format))
	h.must(t, hostdisk.Request{
		Do:   hostdisk.Grow,
		Disk: 1,
		Size: 600 * mib,
	})

	h.refused(t, 4097, hostdisk.Request{
		Do:   hostdisk.Grow,
		Disk: 1,
		Size: 500 * mib,
	})

	h.refused(t, 4097, hostdisk.Request{
		Do:        hostdisk.Resize,
		Disk:      1,
		Partition: 2,
		Size:      800 * mib,
	})

	h.refused(t, 4097, hostdisk.Request{
		Do:        hostdisk.Resize,
		Disk:      1,
		Partition: 2,
		Size:      p.Size - mib,
	})

	most := partOf(t, h.must(t, on(hostdisk.Get)), 1, 2).Most
	larger := h.must(t, hostdisk.Request{
		Do:        hostdisk.Resize,
		Disk:      1,
		Partition: 2,
		Size:      most,
	})

	if got := partOf(t, larger, 1, 2); got.VolumeSize < p.VolumeSize+190*mib {
		t.Errorf("the volume has %d bytes, and had %d", got.VolumeSize, p.VolumeSize)
	}
	used.Close()

	yes, no := true, false
	h.must(t, hostdisk.Request{
		Do:       hostdisk.Set,
		Disk:     1,
		ReadOnly: &yes,
	})
	if err := os.WriteFile(h.file(p, "kept"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("a read-only disk is written to: %v", err)
	}

	h.must(t, hostdisk.Request{
		Do:       hostdisk.Set,
		Disk:     1,
		ReadOnly: &no,
		Offline:  &yes,
	})
	if _, err := os.Stat(h.file(p, "")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the volume of an offline disk is there: %v", err)
	}

	h.refused(t, 41003, on(hostdisk.Flush))
	h.must(t, hostdisk.Request{
		Do:      hostdisk.Set,
		Disk:    1,
		Offline: &no,
	})
	if data, err := os.ReadFile(h.file(p, "kept")); string(data) != "bytes" {
		t.Errorf("what was written is %q, %v", data, err)
	}

	h.must(t, on(hostdisk.Detach))
	if left := h.images(t); len(left) > 0 || h.loops(t) != "" {
		t.Errorf("of the disk is left: %v, %s", left, h.loops(t))
	}
}

func containsAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
}

func (h *host) images(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.dir, "disks", "*.img"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestFull fills a volume: it is full for root too.
func TestFull(t *testing.T) {
	h := newHost(t)
	p := h.formatted(t)
	f, err := os.Create(h.file(p, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	block := make([]byte, mib)
	for range 500 {
		if _, err = f.Write(block); err != nil {
			break
		}
	}

	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("more than the volume has: %v", err)
	}
	if p := partOf(t, h.must(t, hostdisk.Request{Do: hostdisk.Get}), 1, 2); p.Free > mib {
		t.Errorf("a full volume has %d bytes", p.Free)
	}
}

// TestServerEnds ends the server while a volume is used and mounted elsewhere, as a container has it. The next server
// finds all as it was, and no second mount of the same bytes is made.
func TestServerEnds(t *testing.T) {
	h := newHost(t)
	p := h.formatted(t)
	h.must(t, hostdisk.Request{
		Do:        hostdisk.AddPath,
		Disk:      1,
		Partition: 2,
		Path:      `C:\data\`,
	})

	h.must(t, hostdisk.Request{
		Do:        hostdisk.AddPath,
		Disk:      1,
		Partition: 2,
		Path:      "e:",
	})

	h.refused(t, 42002, hostdisk.Request{
		Do:        hostdisk.AddPath,
		Disk:      1,
		Partition: 2,
		Path:      `C:\DATA`,
	})

	h.refused(t, 42002, hostdisk.Request{
		Do:        hostdisk.AddPath,
		Disk:      1,
		Partition: 2,
		Path:      "F:",
	})

	container := filepath.Join(h.dir, "container")
	if err := os.Mkdir(container, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(h.file(p, ""), container, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}

	h.end()
	h.start(t)
	again := partOf(t, h.must(t, hostdisk.Request{Do: hostdisk.Get}), 1, 2)
	if fmt.Sprint(again.Paths) != `[C:\data E:]` || again.Fault != "" {
		t.Errorf("the volume is %+v", again)
	}

	for _, name := range []string{"e:", "volume{" + p.GUID + "}"} {
		if to, err := os.Readlink(filepath.Join(h.dir, "prefix", "dosdevices", name)); to != filepath.Join(h.mounts(), p.GUID) {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}

	// the container alone has it now
	if err := unix.Unmount(filepath.Join(h.mounts(), p.GUID), 0); err != nil {
		t.Fatal(err)
	}

	h.refused(t, hostdisk.InUse, hostdisk.Request{Do: hostdisk.Detach, Disk: 1})
	if err := os.WriteFile(filepath.Join(container, "new"), []byte("by the container"), 0o600); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(h.file(p, "new")); string(data) != "by the container" {
		t.Errorf("the host sees %q, %v", data, err)
	}

	if err := unix.Unmount(container, 0); err != nil {
		t.Fatal(err)
	}

	h.must(t, hostdisk.Request{
		Do:        hostdisk.RemovePath,
		Disk:      1,
		Partition: 2,
		Path:      "E:",
	})

	h.refused(t, 42007, hostdisk.Request{
		Do:        hostdisk.RemovePath,
		Disk:      1,
		Partition: 2,
		Path:      "E:",
	})
	h.must(t, hostdisk.Request{Do: hostdisk.Detach, Disk: 1})
}

// TestForeign gives the host disks that other systems have written to: nothing is read, mounted or formatted unasked.
func TestForeign(t *testing.T) {
	h := newHost(t)
	p := h.formatted(t)
	h.end()
	image := h.images(t)[0]
	if err := unix.Unmount(filepath.Join(h.mounts(), p.GUID), 0); err != nil {
		t.Fatal(err)
	}

	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	boot := make([]byte, 512) // the beginning of an NTFS volume, as far as blkid looks
	copy(boot, "\xeb\x52\x90NTFS    \x00\x02\x08")
	boot[510], boot[511] = 0x55, 0xaa
	write := func(data []byte, at int64) {
		t.Helper()
		if _, err := f.WriteAt(data, at); err != nil {
			t.Fatal(err)
		}
	}

	write(make([]byte, 4*mib), p.Offset)
	ext := exec.Command("mkfs.ext4", "-q", "-F", "-E", fmt.Sprintf("offset=%d", p.Offset), image, "50M")
	if out, err := ext.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	h.start(t)
	got := partOf(t, h.must(t, hostdisk.Request{Do: hostdisk.Get}), 1, 2)
	if got.FileSystem != "ext4" || got.Fault == "" {
		t.Errorf("a volume of ext4 is %+v", got)
	}

	h.refused(t, 43002, hostdisk.Request{
		Do:        hostdisk.Format,
		Disk:      1,
		Partition: 2,
	})

	h.refused(t, 43005, hostdisk.Request{
		Do:        hostdisk.Flush,
		Disk:      1,
		Partition: 2,
	})

	h.must(t, hostdisk.Request{
		Do:        hostdisk.Format,
		Disk:      1,
		Partition: 2,
		Force:     true,
	})

	h.refused(t, 6, hostdisk.Request{Do: hostdisk.Clear, Disk: 1})
	h.must(t, hostdisk.Request{
		Do:    hostdisk.Clear,
		Disk:  1,
		Force: true,
	})
	if d := h.must(t, hostdisk.Request{Do: hostdisk.Get}).Disks[0]; d.GUID != "" || len(d.Partitions) > 0 {
		t.Errorf("a cleared disk is %+v", d)
	}

	write(boot, 0) // no table at all
	if d := h.must(t, hostdisk.Request{Do: hostdisk.Get}).Disks[0]; d.GUID != "" || d.Fault == "" {
		t.Errorf("a disk of another system is %+v", d)
	}
	if _, no := h.ask(t, hostdisk.Request{Do: hostdisk.Initialize, Disk: 1}); no.Words == "" {
		t.Error("a disk of another system is initialized")
	}
}

// TestOperator holds that programs of the host cannot give themselves disks.
func TestOperator(t *testing.T) {
	h := newHost(t)
	attach := hostdisk.Request{Do: hostdisk.Attach, Size: 400 * mib}
	_, no := servicetest.Ask(t, h.sockets().Host, hostdisk.Call(), attach)
	if no.Code != 5 || len(h.images(t)) > 0 {
		t.Errorf("the host has given itself a disk: %+v", no)
	}
}

// TestWithoutTools holds that nobody gets a disk that cannot be formatted.
func TestWithoutTools(t *testing.T) {
	h := newHost(t)
	t.Setenv("PATH", t.TempDir())
	_, no := h.ask(t, hostdisk.Request{Do: hostdisk.Attach, Size: 400 * mib})
	if !strings.Contains(no.Words, "xfsprogs") || len(h.images(t)) > 0 {
		t.Errorf("a disk without mkfs.xfs: %+v", no)
	}
}

// TestLinks gives the host remote disks that are links, as what keeps a session may serve them: none is followed, and
// what is no file is no disk.
func TestLinks(t *testing.T) {
	h := newHost(t)
	h.formatted(t)
	served := t.TempDir()
	regular := filepath.Join(served, "disk0")
	link := filepath.Join(served, "disk1")
	fifo := filepath.Join(served, "disk2")
	err := os.WriteFile(regular, nil, 0o600)
	err = errors.Join(err, os.Truncate(regular, 400*mib), os.Symlink(h.images(t)[0], link), unix.Mkfifo(fifo, 0o600))
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range []string{regular, link, fifo} {
		for _, readOnly := range []bool{false, true} {
			key := fmt.Sprint(file, readOnly)
			err := h.server.Attach(t.Context(), []disks.Remote{{
				Key: key, File: file, ReadOnly: readOnly, Fault: func(context.Context) string { return "" },
			}})
			if (err == nil) != (file == regular) {
				t.Errorf("%s is a disk: %v", key, err)
			}
		}
	}
}
