package hostroot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/bindmount"
)

// systemDirs hold the machine's programs. Each is a folder or, where /usr has been merged, a symbolic link.
func systemDirs() []string {
	return []string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}
}

// systemFiles returns what the machine's programs need in /etc: certificates of authorities and OpenSSL's settings, the
// linker's cache, chosen alternatives. Distributions keep the machine's own private keys beside the certificates
// (/etc/ssl/private, /etc/pki/tls/private and folders of single programs), so neither /etc/ssl nor /etc/pki is shown
// whole.
func systemFiles() []string {
	return []string{
		"etc/ssl/certs", "etc/ssl/cert.pem", "etc/ssl/openssl.cnf",
		"etc/pki/tls/certs", "etc/pki/tls/cert.pem", "etc/pki/tls/openssl.cnf", "etc/pki/ca-trust",
		"etc/ca-certificates", "etc/alternatives", "etc/ld.so.cache", "etc/ld.so.conf", "etc/ld.so.conf.d",
	}
}

// devices returns the machine's devices that can do no harm.
func devices() []string { return []string{"null", "zero", "full", "random", "urandom", "tty"} }

// Root is the folder that becomes a host's root. It is put together in the host's mount namespace, from which nothing
// may propagate to the machine's.
type Root struct {
	dir  string
	root *os.Root
}

// Open opens a folder, which must be a mount point for Enter.
func Open(dir string) (*Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Root{dir: dir, root: root}, nil
}

// Close lets go of the folder.
func (r *Root) Close() error { return r.root.Close() }

// Folder makes a folder with its mode. What else is in its place is removed.
func (r *Root) Folder(name string, mode fs.FileMode) error {
	info, err := r.root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = r.root.Remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	if err := r.root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	folder, err := r.root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(folder.Chmod(mode), folder.Close())
}

// Link makes name a symbolic link, unless there is something already.
func (r *Root) Link(to, name string) error {
	if err := r.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := r.root.Symlink(to, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// ShowPrograms shows the machine's programs and what they need in /etc, read-only.
func (r *Root) ShowPrograms() error {
	for _, name := range append(systemDirs(), systemFiles()...) {
		if err := r.ShowSame(name); err != nil {
			return err
		}
	}
	return nil
}

// ShowSame shows /name of the machine in the same place, read-only, if there is one. A symbolic link stays one.
func (r *Root) ShowSame(name string) error {
	source := filepath.Join("/", name)
	info, err := os.Lstat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	if info.Mode()&fs.ModeSymlink == 0 {
		return r.Show(source, name)
	}
	to, err := os.Readlink(source)
	if err != nil {
		return err
	}
	return r.Link(to, name)
}

// Show binds a file or folder of the machine to name in the root, read-only, making what is to be covered.
func (r *Root) Show(source, name string) error {
	covered, err := r.cover(source, name)
	if err != nil {
		return fmt.Errorf("show %q: %w", source, err)
	}
	defer covered.Close()
	return bindmount.PathOver(source, int(covered.Fd()), unix.MOUNT_ATTR_RDONLY)
}

// Share binds a folder of the machine to name in the root, to be written to; what the machine mounts in it later
// appears in the root if that folder has propagation.
func (r *Root) Share(source, name string) error { return r.share(source, name, 0) }

// ShareMounts is Share of a folder that is not to be written to. What is mounted in it has its own rights.
func (r *Root) ShareMounts(source, name string) error {
	return r.share(source, name, unix.MOUNT_ATTR_RDONLY)
}

func (r *Root) share(source, name string, attributes uint64) error {
	covered, err := r.cover(source, name)
	if err != nil {
		return fmt.Errorf("share %q: %w", source, err)
	}
	defer covered.Close()
	tree, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return fmt.Errorf("share %q: %w", source, err)
	}

	defer unix.Close(tree)
	if attributes != 0 { // of the folder alone
		err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attributes})
		if err != nil {
			return fmt.Errorf("share %q: %w", source, err)
		}
	}

	if err := unix.MoveMount(tree, "", int(covered.Fd()), "",
		unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("share %q: %w", source, err)
	}
	return nil
}

// cover makes and opens the file or folder that source is bound over; it is a folder if source is one. Its name may
// begin with /.
func (r *Root) cover(source, name string) (*os.File, error) {
	name = strings.TrimPrefix(name, "/")
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	if err := r.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}

	if have, err := r.root.Lstat(name); (err == nil && have.IsDir() != info.IsDir()) || (err == nil && !have.IsDir() &&
		!have.Mode().IsRegular()) {
		if err := r.root.RemoveAll(name); err != nil {
			return nil, err
		}
	}

	flag := os.O_RDONLY
	if info.IsDir() {
		err = r.root.MkdirAll(name, 0o755)
	} else {
		flag |= os.O_CREATE
	}
	if err != nil {
		return nil, err
	}

	return r.root.OpenFile(name, flag, 0o644)
}

// Mount mounts a file system of a kind on a folder of the root, making the folder if it is missing.
func (r *Root) Mount(kind, name string, flags uintptr, options string) error {
	if err := r.root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	folder, err := r.root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := unix.Mount(kind, fmt.Sprintf("/proc/self/fd/%d", folder.Fd()), kind, flags, options); err != nil {
		return fmt.Errorf("mount /%s: %w", name, err)
	}
	return nil
}

// MountDev mounts a /dev on dev, a folder of the root: harmless devices, those of further that the machine has, and
// terminals and shared memory of its own.
func (r *Root) MountDev(further ...string) error {
	if err := r.Mount("tmpfs", "dev", unix.MS_NOSUID, "mode=755,size=1m"); err != nil {
		return err
	}

	for _, name := range append(devices(), further...) {
		source := filepath.Join("/dev", name)
		if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := r.Share(source, "dev/"+name); err != nil {
			return err
		}
	}

	for _, m := range []struct{ kind, name, options string }{
		{"devpts", "dev/pts", "newinstance,ptmxmode=0666,mode=0620,max=256"},
		{"tmpfs", "dev/shm", "mode=1777"},
		{"mqueue", "dev/mqueue", ""},
	} {
		if err := r.Mount(m.kind, m.name, unix.MS_NOSUID|unix.MS_NOEXEC, m.options); err != nil {
			return err
		}
	}

	for name, to := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2",
	} {
		if err := r.root.Symlink(to, "dev/"+name); err != nil {
			return err
		}
	}

	return nil
}

// Enter makes the folder the root of the mount namespace and lets go of all that was there before; pivot_root(2).
func (r *Root) Enter() error {
	if err := unix.Chdir(r.dir); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change root to %q: %w", r.dir, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the machine's root: %w", err)
	}
	return unix.Chdir("/")
}
