//go:build linux

package hostroot

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// insideVariable names the folder that the test has for itself in its own namespaces.
const insideVariable = "HOSTROOT_TEST_INSIDE"

// TestRoot puts a root together and enters it, in a user, a mount, a PID and an IPC namespace of its own: nothing is
// mounted on the machine, and no root is needed.
func TestRoot(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestInside$", "-test.v")
	cmd.Env = append(os.Environ(), insideVariable+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}

	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) {
		t.Skipf("this machine gives a user no namespaces: %v", err)
	}
	if err == nil && strings.Contains(string(out), "--- SKIP: TestInside") {
		t.Skipf("in the namespaces: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestInside") {
		t.Errorf("in the namespaces: %v\n%s", err, out)
	}
}

// machine is what a root shows of, in the test's namespaces.
type machine struct {
	t                          *testing.T
	file, folder, shared, mine string
}

// newMachine makes some files, and a folder with a file system that is mounted in it.
func newMachine(t *testing.T, dir string) machine {
	t.Helper()
	m := machine{
		t:      t,
		file:   filepath.Join(dir, "file"),
		folder: filepath.Join(dir, "folder"),
		shared: filepath.Join(dir, "shared"),
		mine:   filepath.Join(dir, "mounts"),
	}

	for _, folder := range []string{m.folder, m.shared, filepath.Join(m.mine, "below")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := unix.Mount("tmpfs", filepath.Join(m.mine, "below"), "tmpfs", 0, "")
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) { // as AppArmor of Ubuntu does
		t.Skipf("this machine gives a user no mounts: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}

	m.write(m.file, nil)
	m.write(filepath.Join(m.folder, "in"), nil)
	m.write(filepath.Join(m.mine, "below", "in"), nil)

	return m
}

// write writes a file, which has to go wrong as is said.
func (m machine) write(path string, want error) {
	m.t.Helper()
	if err := os.WriteFile(path, []byte("written"), 0o644); !errors.Is(err, want) {
		m.t.Errorf("write %s: %v, want %v", path, err, want)
	}
}

// reads fails unless the file has what write has written.
func (m machine) reads(path string) {
	m.t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != "written" {
		m.t.Errorf("read %s: %q, %v", path, text, err)
	}
}

// TestInside is TestRoot's part in the namespaces.
func TestInside(t *testing.T) {
	dir := os.Getenv(insideVariable)
	if dir == "" {
		t.Skip("TestRoot runs it")
	}
	m := newMachine(t, dir)
	root := filepath.Join(dir, "root")
	if err := errors.Join(os.Mkdir(root, 0o755), unix.Mount("tmpfs", root, "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	r, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	m.shows(r)
	m.refuses(r)
	err = errors.Join(r.ShowPrograms(), r.Folder("tmp", 0o777|fs.ModeSticky), r.MountDev("no-such-device"))
	if err != nil {
		t.Fatal(err)
	}

	// A folder that is no mount point cannot be entered, and then all is as before.
	none, err := Open(m.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := none.Enter(); err == nil || !strings.Contains(err.Error(), "change root to ") {
		t.Errorf("a folder that is no mount point was entered: %v", err)
	}
	_ = none.Close()

	if err := r.Enter(); err != nil {
		t.Fatal(err)
	}
	m.entered(dir)
}

// shows binds the machine's files and folders, by each way of doing so.
func (m machine) shows(r *Root) {
	m.t.Helper()
	if err := errors.Join(r.Show(m.file, "opt/file"), r.Show(m.folder, "opt/folder"), r.Share(m.shared, "opt/shared"),
		r.ShareMounts(m.mine, "opt/mounts"), r.Mount("tmpfs", "opt/own", unix.MS_NOSUID, "size=1m")); err != nil {
		m.t.Fatal(err)
	}

	at := func(name string) string { return filepath.Join(r.dir, "opt", name) }
	m.reads(at("file"))
	m.reads(at("folder/in"))
	m.write(at("file"), unix.EROFS)
	m.write(at("folder/in"), unix.EROFS)

	m.write(at("shared/in"), nil)
	m.reads(filepath.Join(m.shared, "in"))

	// The folder is not to be written to; what is mounted in it is as it was.
	m.write(at("mounts/in"), unix.EROFS)
	m.reads(at("mounts/below/in"))
	m.write(at("mounts/below/in"), nil)
	m.write(at("own/in"), nil)
}

// refuses shows what is not there, or cannot be.
func (m machine) refuses(r *Root) {
	m.t.Helper()
	none := filepath.Join(m.folder, "none")
	for what, err := range map[string]error{
		"show what is not there":         r.Show(none, "opt/none"),
		"share what is not there":        r.Share(none, "opt/none"),
		"share mounts that are not":      r.ShareMounts(none, "opt/none"),
		"mount of no kind":               r.Mount("no-such-kind", "opt/none", 0, ""),
		"mount on a file":                r.Mount("tmpfs", "opt/file", 0, ""),
		"a folder on a file's way":       r.Folder("opt/file/folder", 0o755),
		"a link on a file's way":         r.Link("x", "opt/file/link"),
		"show below a file of the root":  r.Show(m.file, "opt/file/x"),
		"share below a file of the root": r.Share(m.shared, "opt/file/x"),
	} {
		if err == nil {
			m.t.Errorf("%s: no error", what)
		}
	}

	if err := r.Show(m.file, "opt/file/x"); err == nil || !strings.Contains(err.Error(), "show "+strconv.Quote(m.file)) {
		m.t.Errorf("what was to be shown is not said: %v", err)
	}
	if _, err := Open(none); err == nil {
		m.t.Error("what is not there was opened")
	}

	if err := r.ShowSame("proc/self/exe"); err != nil {
		m.t.Error(err)
	}
	if to, err := os.Readlink(filepath.Join(r.dir, "proc/self/exe")); err != nil || to == "" {
		m.t.Errorf("a link of the machine is %q, %v", to, err)
	}
	if err := r.ShowSame("no-such-folder-of-a-machine"); err != nil {
		m.t.Errorf("show what the machine does not have: %v", err)
	}
	if err := r.ShowSame("proc/self/status/below"); err == nil {
		m.t.Error("what cannot be looked at was passed over")
	}
}

// entered looks at the root from within: the machine's programs are there, its other files are not.
func (m machine) entered(dir string) {
	m.t.Helper()
	m.reads("/opt/file")
	m.reads("/opt/shared/in")
	m.write("/usr/written", unix.EROFS)
	m.write("/dev/null", nil)
	m.write("/dev/shm/in", nil)

	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		m.t.Errorf("the machine's root is there: %v", err)
	}
	if at, err := os.Getwd(); err != nil || at != "/" {
		m.t.Errorf("the working folder is %q, %v", at, err)
	}

	for name, to := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0"} {
		if got, err := os.Readlink("/dev/" + name); err != nil || got != to {
			m.t.Errorf("/dev/%s leads to %q, %v", name, got, err)
		}
	}
	entries, err := os.ReadDir("/dev")
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "no-such-device" }) {
		m.t.Errorf("/dev has %v, %v", entries, err)
	}
}
