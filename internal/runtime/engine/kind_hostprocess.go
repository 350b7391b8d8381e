package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	typesapi "github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/errdefs"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/bindmount"
	"mullion.dev/mullion/internal/base/cleanup"
)

// Host is a Windows host, in which HostProcess containers run. All paths are paths of the machine.
//
// One wineserver serves all programs of a prefix, and opens files by the Linux paths that the programs give it: a
// HostProcess container must use the host's prefix, at a path that means the same to the wineserver. So each
// HostProcess container has a view of its own: the prefix bound once more, with the image and the volumes mounted in
// it, at a path in Shared. Wine identifies a prefix by device and inode, which a bind mount keeps, so programs in the
// view use the host's wineserver and registry.
type Host struct {
	// Prefix is the host's Wine prefix, and Tmp its /tmp, through which programs find the wineserver.
	Prefix, Tmp string
	// Shared is a folder with shared mount propagation: the host sees what is mounted in it later.
	Shared string
	// Shares is a folder with shared mount propagation that HostProcess containers see as the host does, with what is
	// mounted in it later.
	Shares string
	// Volumes is another.
	Volumes string
	// PID returns the process id of the host's first process on the machine.
	PID func() (int, error)
}

// HostProcess makes a container run in the Windows host, as hcsshim's job containers do
// (https://github.com/microsoft/hcsshim/tree/v0.15.0-rc.4/internal/jobcontainers).
type HostProcess struct {
	// MountPoint is the Windows path at which the container, and nobody else, sees its image.
	MountPoint string
	// AtTargets shows mounts at their own targets as well as below MountPoint.
	AtTargets bool
	// Dirs are the Windows paths of folders that the program needs; missing ones are made.
	Dirs []string
}

func (h *HostProcess) in(e *Engine) kind { return hostProcess{process{e}, h} }

// hostProcess is the kind of container that runs in the Windows host. asked is nil of one that containerd has.
type hostProcess struct {
	process
	asked *HostProcess
}

// hostProcessTrace finds a HostProcess container by its view of the host.
func (e *Engine) hostProcessTrace() trace {
	return trace{
		find: func(_ context.Context, id string) (kind, error) {
			view := e.View(id)
			if view == "" {
				return nil, nil
			}
			if _, err := os.Lstat(view); err != nil {
				return nil, nil //nolint:nilerr // it has no view
			}
			return hostProcess{process: process{e}}, nil
		},
		remove: func(id string) error { return removeView(e.View(id)) },
	}
}

// prepare makes the view, in which the container's mounts are.
func (h hostProcess) prepare(c *Container, mounts []mount.Mount) ([]string, error) {
	labels, err := h.makeView(*c, mounts)
	if err != nil {
		return nil, err
	}
	c.addLabels(labels)
	c.Mounts = nil
	return nil, nil
}

// finish leaves the working folder, which is the user's already.
func (hostProcess) finish(*Container, *specs.Spec) (runtime string, err error) { return Runtime, nil }

// owner returns the id that the machine has for the user: the container is in its user namespace.
func (hostProcess) owner(c Container) uint32 { return c.UID }

// user has the umask of the host's other programs: containers of other ids read and write what a list of Windows lets
// them. Wine's server makes files, and has it; a Unix socket is made by the program itself.
func (hostProcess) user(id uint32) specs.User {
	none := uint32(0)
	return specs.User{
		UID:   id,
		GID:   id,
		Umask: &none,
	}
}

// limit sets none: the user namespace and the network are those of others, too.
func (hostProcess) limit(context.Context, string, uint32) error { return nil }

func (hostProcess) limitsChanged(context.Context, string) error { return nil }

// labelHostPID holds the process id of the host for which a container was made: the id changes when the host is started
// again.
const labelHostPID = "mullion.dev/host-pid"

// View returns the path of a HostProcess container's view of the host's prefix: the same on the machine, in the host
// and in the container.
func (e *Engine) View(id string) string {
	if e.opts.Host == nil {
		return ""
	}
	return filepath.Join(e.opts.Host.Shared, id[:min(16, len(id))])
}

// makeView mounts a container's view and returns the labels that its record needs.
func (h hostProcess) makeView(c Container, mounts []mount.Mount) (map[string]string, error) {
	e := h.e
	host := e.opts.Host
	if host == nil {
		return nil, fmt.Errorf("make HostProcess container %q: the engine knows no Windows host: %w", c.ID,
			errdefs.ErrNotImplemented)
	}

	pid, err := host.PID()
	if err != nil {
		return nil, err
	}
	o, err := overlayOf(mounts)
	if err != nil {
		return nil, err
	}

	if len(o.lower) > 0 && !hasDrive(o.lower) {
		return nil, ErrNotWindowsImage
	}
	var undo cleanup.Stack
	defer func() { _ = undo.Clean() }()

	view := e.View(c.ID)
	undo.Add(func() error { return removeView(view) })
	if err := os.Mkdir(view, 0o755); err != nil {
		return nil, fmt.Errorf("make view of host: %w", err)
	}
	if err := h.mountView(c, o, view); err != nil {
		return nil, fmt.Errorf("make view of host for container %q: %w", c.ID, err)
	}
	undo.Release()
	return map[string]string{labelHostPID: strconv.Itoa(pid)}, nil
}

func (h hostProcess) mountView(c Container, o overlay, view string) error {
	root, err := unix.Open(view, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = bindmount.PathOver(h.e.opts.Host.Prefix, root, 0)
	_ = unix.Close(root)
	if err != nil {
		return err
	}

	c0 := filepath.Join(view, drive)
	at := func(winPath string, folder bool, do func(target int) error) error {
		target, err := openIn(c0, winPath, folder)
		if err != nil {
			return err
		}
		defer unix.Close(target)
		return do(target)
	}

	if err := at(h.asked.MountPoint, true, func(target int) error { return mountImage(o, target) }); err != nil {
		return err
	}

	for _, m := range c.Mounts {
		info, err := m.Source.Stat()
		if err != nil {
			return fmt.Errorf("look at mount source: %w", err)
		}
		var attr uint64 = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
		// Below the mount point Windows has a link to the volume, which is writable even if the pod's mount is
		// read-only; scripts that deploy kube-proxy write into their ConfigMap there (github.com/Microsoft/hcsshim
		// v0.15.0-rc.4, internal/jobcontainers/mounts.go).
		link := func(target int) error { return bindmount.Over(m.Source, target, attr) }
		if err := at(below(h.asked.MountPoint, m.Target), info.IsDir(), link); err != nil {
			return err
		}

		if !h.asked.AtTargets {
			continue
		}
		asked := attr
		if m.ReadOnly {
			asked |= unix.MOUNT_ATTR_RDONLY
		}

		bind := func(target int) error { return bindmount.Over(m.Source, target, asked) }
		if err := at(m.Target, info.IsDir(), bind); err != nil {
			return err
		}
	}

	for _, dir := range h.asked.Dirs {
		if err := at(dir, true, func(int) error { return nil }); err != nil {
			return err
		}
	}

	return nil
}

// below joins winPath, without its drive, to the folder dir.
func below(dir, winPath string) string {
	if len(winPath) >= 2 && winPath[1] == ':' {
		winPath = winPath[2:]
	}
	return dir + `\` + winPath
}

// mountImage mounts the C: of an image, and the container's own layer over it, on a folder.
func mountImage(o overlay, target int) error {
	upper := filepath.Join(o.upper, drive)
	if err := os.MkdirAll(upper, 0o755); err != nil {
		return err
	}

	var lower []string
	for _, l := range o.lower {
		if hasDrive([]string{l}) {
			lower = append(lower, filepath.Join(l, drive))
		}
	}
	if len(lower) == 0 {
		return bindmount.PathOver(upper, target, 0)
	}

	options := append(o.rest, "workdir="+o.work, "upperdir="+upper, "lowerdir="+strings.Join(lower, ":"))
	if err := unix.Mount("overlay", fdPath(target), "overlay", 0, strings.Join(options, ",")); err != nil {
		return fmt.Errorf("mount image: %w", err)
	}
	return nil
}

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// openIn opens a file or folder below the drive at root by its Windows path, without regard to case; missing parts are
// made. The drive's owner may change it meanwhile, so no link is followed, and each part is opened relative to the one
// before.
func openIn(root, winPath string, folder bool) (fd int, err error) {
	letter, parts, err := splitTarget(winPath)
	if err == nil && letter != 'c' {
		err = fmt.Errorf("%w %q: a HostProcess container has the host's drives", ErrTarget, winPath)
	}
	if err != nil {
		return -1, err
	}

	at, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open drive %q: %w", root, err)
	}

	for i, part := range parts {
		next, err := step(at, part, folder || i < len(parts)-1)
		_ = unix.Close(at)
		if err != nil {
			return -1, fmt.Errorf("%w %q: %q: %w", ErrTarget, winPath, part, err)
		}
		at = next
	}

	return at, nil
}

// step opens an entry of a folder, or makes it.
func step(dir int, name string, folder bool) (int, error) {
	entries, err := os.ReadDir(fdPath(dir))
	if err != nil {
		return -1, err
	}

	found := ""
	for _, e := range entries {
		if e.Name() == name || (found == "" && strings.EqualFold(e.Name(), name)) {
			found = e.Name()
		}
	}
	if found == "" {
		found = name
		if err := makeEntry(dir, name, folder); err != nil && !errors.Is(err, unix.EEXIST) {
			return -1, err
		}
	}

	fd, err := unix.Openat(dir, found, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}

	kind := stat.Mode & unix.S_IFMT
	if (folder && kind == unix.S_IFDIR) || (!folder && kind == unix.S_IFREG) {
		return fd, nil
	}
	_ = unix.Close(fd)
	return -1, errors.New(
		"it is there and is something else: a link, a file where a folder belongs, or a folder where a file belongs")
}

func makeEntry(dir int, name string, folder bool) error {
	if folder {
		return unix.Mkdirat(dir, name, 0o755)
	}
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// removeView unmounts and removes a view. A missing view is no error.
func removeView(view string) error {
	if view == "" {
		return nil
	}
	// MNT_DETACH takes what is mounted in the view along, also where the host sees it.
	err := unix.Unmount(view, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount view of host %q: %w", view, err)
	}
	// Remove, not RemoveAll: if the view were still mounted, RemoveAll would delete the host.
	if err := os.Remove(view); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove view of host %q: %w", view, err)
	}
	return nil
}

// rootfs has the system layers, read-only. The container's C: is in the view, not here.
func (h hostProcess) rootfs(ctx context.Context, id string, _ *containerViews) (*typesapi.Mount, error) {
	e := h.e
	record, err := e.client.ContainerService().Get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("look at container %q: %w", id, err)
	}
	pid, err := e.opts.Host.PID()
	if err != nil {
		return nil, err
	}

	if record.Labels[labelHostPID] != strconv.Itoa(pid) {
		return nil, fmt.Errorf("start container %q: the Windows host has been restarted since it was created: %w", id,
			errdefs.ErrFailedPrecondition)
	}

	layers := e.opts.SystemLayers
	if len(layers) == 1 {
		return &typesapi.Mount{
			Type:    "bind",
			Source:  layers[0],
			Options: []string{"rbind", "ro"},
		}, nil
	}

	return &typesapi.Mount{
		Type:    "overlay",
		Source:  "overlay",
		Options: []string{"ro", "lowerdir=" + strings.Join(layers, ":")},
	}, nil
}

// capabilities returns what a HostProcess container's root may do on Linux: use all files it sees, which are the host's
// C:, low ports and raw sockets. It gets none over the machine: no mounts, no devices, no network configuration.
func (hostProcess) capabilities() *specs.LinuxCapabilities {
	list := []string{
		"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE",
		"CAP_NET_RAW",
	}
	return &specs.LinuxCapabilities{
		Bounding:  list,
		Effective: list,
		Permitted: list,
	}
}

// adapt has the container share the host's processes, name and temporary folder, without a user namespace.
func (h hostProcess) adapt(c Container, s *specs.Spec) {
	e, pid := h.e, c.Labels[labelHostPID]
	ns := func(name string) string { return "/proc/" + pid + "/ns/" + name }
	s.Hostname = ""
	s.Root.Readonly = true
	s.Linux.UIDMappings, s.Linux.GIDMappings = nil, nil
	s.Linux.Namespaces = []specs.LinuxNamespace{
		{Type: specs.PIDNamespace, Path: ns("pid")},
		{Type: specs.UTSNamespace, Path: ns("uts")},
		{Type: specs.MountNamespace},
		{Type: specs.IPCNamespace},
		{Type: specs.CgroupNamespace},
	}

	if c.NetNS != "" { // otherwise the host's network is the machine's
		s.Linux.Namespaces = append(s.Linux.Namespaces,
			specs.LinuxNamespace{Type: specs.NetworkNamespace, Path: c.NetNS})
	}

	var mounts []specs.Mount
	for _, m := range s.Mounts {
		switch m.Destination {
		case "/tmp":
			mounts = append(mounts, bound(e.opts.Host.Tmp, "/tmp", "nosuid", "nodev"))
		case WorkDirTarget: // the wineserver uses its path, too
			mounts = append(mounts, bound(c.WorkDir, c.WorkDir, "nosuid", "nodev", "noexec"))
		default:
			mounts = append(mounts, m)
		}
	}

	view := e.View(c.ID)
	s.Mounts = append(mounts, bound(view, view, "nosuid", "nodev"))
	for _, mounted := range []string{e.opts.Host.Shares, e.opts.Host.Volumes} {
		if mounted == "" {
			continue
		}
		s.Mounts = append(s.Mounts, specs.Mount{
			Destination: mounted,
			Type:        "bind",
			Source:      mounted,
			Options:     []string{"rbind", "rw", "rslave", "nosuid", "nodev"},
		})
	}
}

func bound(source, target string, options ...string) specs.Mount {
	return specs.Mount{
		Destination: target,
		Type:        "bind",
		Source:      source,
		Options:     append([]string{"rbind", "rw", "rprivate"}, options...),
	}
}
