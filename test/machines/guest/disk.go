package guest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Disk is what a guest is booted from.
type Disk struct {
	// Image is the file with the root file system, Kernel and Initrd are the distribution's.
	Image, Kernel, Initrd string
	// Key logs in as root and as dev; HostKey is the guest's own.
	Key     ssh.Signer
	HostKey ssh.PublicKey
	// KeyFile is where Key lies, mode 0600, for ssh(1).
	KeyFile string
	// Version is the kernel's, as uname -r says it.
	Version string
}

// diskSize is the size of a guest's root file system; the file is sparse.
const diskSize = "12G"

// MakeDisk returns the disk of a machine with these packages besides the machine's own. If the cache folder has it, it
// is not made again; making one takes a minute or two and needs root. log gets a line for each step.
func MakeDisk(ctx context.Context, cache string, m Machine, packages []string, log func(string)) (Disk, error) {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return Disk{}, err
	}
	keyFile := filepath.Join(cache, "key")
	key, err := loginKey(keyFile)
	if err != nil {
		return Disk{}, fmt.Errorf("make the key that logs in to guests: %w", err)
	}

	authorized := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey())))
	scripts := []string{setupScript}
	if m.Hardened {
		scripts = append(scripts, hardenScript)
	}
	if m.SELinux {
		scripts = append(scripts, selinuxScript)
	}

	r := recipe{
		Machine:       m,
		Packages:      append(m.packages(), packages...),
		Script:        append([]string{installScript}, scripts...),
		AuthorizedKey: authorized,
	}

	dir := filepath.Join(cache, m.Name+"-"+r.id())
	if _, err := os.Stat(filepath.Join(dir, "root.ext4")); errors.Is(err, fs.ErrNotExist) {
		if err := r.make(ctx, cache, dir, log); err != nil {
			return Disk{}, fmt.Errorf("make the disk of machine %q: %w", m.Name, err)
		}
	}

	d := Disk{
		Image:   filepath.Join(dir, "root.ext4"),
		Kernel:  filepath.Join(dir, "vmlinuz"),
		Initrd:  filepath.Join(dir, "initrd.img"),
		Key:     key,
		KeyFile: keyFile,
	}

	hostKey, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		return d, err
	}
	if d.HostKey, _, _, _, err = ssh.ParseAuthorizedKey(hostKey); err != nil {
		return d, fmt.Errorf("read the host key of machine %q: %w", m.Name, err)
	}
	version, err := os.ReadFile(filepath.Join(dir, "version"))
	d.Version = string(version)

	return d, err
}

// Needs returns the packages that Mullion needs on a machine on which it only runs, as the checkout's hack/deps.sh
// lists them.
func Needs(ctx context.Context, checkout string) ([]string, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(checkout, "hack", "deps.sh"), "list").Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages that Mullion needs: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// loginKey reads the key that logs in to guests, or makes it.
func loginKey(path string) (ssh.Signer, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		block, err := ssh.MarshalPrivateKey(private, "mullion machines")
		if err != nil {
			return nil, err
		}

		text = pem.EncodeToMemory(block)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
		return ssh.ParsePrivateKey(text)
	}

	if err != nil {
		return nil, err
	}
	return ssh.ParsePrivateKey(text)
}

// make writes the disk and what boots it to dir, which appears whole or not at all.
func (r recipe) make(ctx context.Context, cache, dir string, log func(string)) (err error) {
	tmp, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	root, packages := filepath.Join(tmp, "root"), filepath.Join(cache, "packages", r.Machine.Suite)
	if err := errors.Join(os.Mkdir(root, 0o755), os.MkdirAll(filepath.Join(packages, "partial"), 0o755)); err != nil {
		return err
	}

	log("debootstrap " + r.Machine.Suite)
	if err := run(ctx, nil, "debootstrap", "--variant=minbase", "--cache-dir="+packages, r.Machine.Suite,
		root); err != nil {
		return err
	}

	env := []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "NAME=" + r.Machine.Name, "SUITE=" + r.Machine.Suite,
		"KERNEL_FROM=" + r.Machine.kernelFrom(),
		"PACKAGES=" + strings.Join(r.Packages, " "), "AUTHORIZED_KEY=" + r.AuthorizedKey,
		"FIREWALL=" + r.Machine.Firewall,
	}
	log("install packages and set up " + r.Machine.Name)
	if err := inRoot(ctx, root, packages, env, "set -eu\n"+strings.Join(r.Script, "\n")); err != nil {
		return err
	}

	done := filepath.Join(tmp, "done")
	if err := os.Mkdir(done, 0o755); err != nil {
		return err
	}
	if err := takeKernel(root, done); err != nil {
		return err
	}

	log("write the disk of " + r.Machine.Name)
	if err := ext4(ctx, root, filepath.Join(done, "root.ext4"), "root", diskSize); err != nil {
		return err
	}
	// Disks of older recipes are of no more use.
	old, err := filepath.Glob(filepath.Join(cache, r.Machine.Name+"-????????????"))
	if err != nil {
		return err
	}

	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}

	return os.Rename(done, dir)
}

func (m Machine) kernelFrom() string {
	if m.KernelFrom == "" {
		return m.Suite
	}
	return m.KernelFrom
}

// inRoot runs a script in a root with its own mounts and processes, which end with it. packages keeps what apt fetches.
func inRoot(ctx context.Context, root, packages string, env []string, script string) error {
	const mounts = `mount -t proc proc "$1/proc" && mount -t sysfs -o ro sysfs "$1/sys" && mount --bind "$2" "$1/var/cache/apt/archives" && ` +
		`mount -t tmpfs -o size=64m tmpfs "$1/tmp" && exec chroot "$1" /bin/sh -c "$3"`
	return run(ctx, env, "unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", mounts, "sh", root,
		packages, script)
}

// takeKernel copies the kernel, its initrd and version, and the public host key out of a root.
func takeKernel(root, to string) error {
	kernels, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if err != nil {
		return err
	}
	if len(kernels) != 1 {
		return fmt.Errorf("look for one kernel in /boot: there are %d", len(kernels))
	}

	version := strings.TrimPrefix(filepath.Base(kernels[0]), "vmlinuz-")
	for from, name := range map[string]string{
		kernels[0]: "vmlinuz", filepath.Join(root, "boot", "initrd.img-"+version): "initrd.img",
		filepath.Join(root, "etc/ssh/ssh_host_ed25519_key.pub"): "host.pub",
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}

	return os.WriteFile(filepath.Join(to, "version"), []byte(version), 0o644)
}

// ext4 writes a file system of what is in dir.
func ext4(ctx context.Context, dir, image, label, size string) error {
	return run(ctx, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "mke2fs", "-q", "-t", "ext4", "-L", label, "-d",
		dir, image, size)
}

// run runs a program; its output is part of the error.
func run(ctx context.Context, env []string, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		const most = 8 << 10
		out = bytes.TrimSpace(out)
		if len(out) > most {
			out = out[len(out)-most:]
		}
		return fmt.Errorf("run %s: %w\n%s", program, err, out)
	}
	return nil
}

// CacheDir returns where disks and packages are kept between runs: MULLION_MACHINES_CACHE, else below the user's cache
// folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("MULLION_MACHINES_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the disks of machines: %w", err)
	}
	return filepath.Join(dir, "mullion", "machines"), nil
}
