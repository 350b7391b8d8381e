package winnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/bindmount"
	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/windows/wine"
)

// prefix is the component that mounts the host's Wine prefix and puts the host's files into it.
type prefix struct{ Config }

// ID implements component.Component.
func (p *prefix) ID() component.ID { return p.Unit("prefix") }

// Start mounts the prefix, unless it is mounted with the same layers, and writes the files. No program of the host runs
// then: they ended with the supervisor that started them.
func (p *prefix) Start(context.Context) error {
	if err := p.start(); err != nil {
		return fmt.Errorf("prepare prefix of windows host %q: %w", p.Name, err)
	}
	return nil
}

// Stop leaves the prefix mounted: containers that live on have volumes out of it.
func (p *prefix) Stop(context.Context) error { return nil }

func (p *prefix) start() error {
	system := p.System()
	if system == nil {
		return errors.New("the wine system layer is not prepared")
	}
	layers, err := system.Layers(p.Build)
	if err != nil {
		return err
	}

	programs, err := p.programsLayer()
	if err != nil {
		return err
	}
	if err := p.mount(append([]string{programs}, layers...)); err != nil {
		return err
	}
	if err := p.beginMappings(); err != nil {
		return err
	}

	if err := p.writeRegistry(); err != nil {
		return err
	}
	if err := p.writeEtc(); err != nil {
		return err
	}
	if err := p.writeDrive(); err != nil {
		return err
	}

	host := p.Host(system)
	if host.Cgroup != "" {
		if err := showMemory(&host); err != nil {
			return err
		}
	}

	// C: by the name that GetFinalPathNameByHandle answers with, which containerd.exe and its shim open.
	volume := strings.ToLower(strings.TrimPrefix(wine.SystemVolume, `\\?\`))
	for name, target := range map[string]string{
		"unc": host.Shares, "volumes": host.Volumes, volume: "../" + filepath.Base(wine.Drive(Prefix(p.Dir))),
	} {
		if err := p.linkDevice(name, target); err != nil {
			return err
		}
	}

	for _, dir := range host.Folders {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}

	return host.Save(HostFile(p.Dir))
}

// showMemory makes the cgroup of the host's programs, and shows them the memory of their node.
func showMemory(host *winhost.Host) error {
	if err := cgroup.MakeOwn(host.Cgroup); err != nil {
		return err
	}
	mounts, err := wine.MemoryMounts(host.Cgroup)
	for _, m := range mounts {
		host.Binds = append(host.Binds, winhost.Bind{Source: m.Source, Target: m.Target})
	}
	return err
}

// linkDevice has Wine, and the hooks, find at a name of the prefix's devices what the machine mounts for the host:
// \\server\share of SMB shares, and the volumes of data disks.
func (p *prefix) linkDevice(name, target string) error {
	devices, err := wine.OpenDevices(Prefix(p.Dir))
	if err != nil {
		return err
	}
	defer devices.Close()
	if text, err := devices.Readlink(name); err == nil && text == target {
		return nil
	}
	if err := devices.RemoveAll(name); err != nil {
		return err
	}
	return devices.Symlink(target, name)
}

func (p *prefix) mount(layers []string) error {
	target := Prefix(p.Dir)
	upper, work := filepath.Join(p.Dir, "upper"), filepath.Join(p.Dir, "work")
	for _, dir := range []string{target, upper, work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}

	record := filepath.Join(p.Dir, "layers")
	want := strings.Join(layers, "\n") + "\n"
	have, err := os.ReadFile(record)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	mounted, err := isMounted(target)
	if err != nil {
		return err
	}
	if mounted && string(have) == want {
		return nil
	}

	if mounted {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %q: %w", target, err)
		}
	}

	if string(have) != want {
		if err := p.changeLayers(record, want); err != nil {
			return err
		}
	}
	if err := p.movePods(); err != nil {
		return err
	}

	escaped := make([]string, len(layers))
	for i, l := range layers {
		escaped[i] = escapeOption(l)
	}

	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,redirect_dir=on", strings.Join(escaped, ":"),
		escapeOption(upper), escapeOption(work))
	if err := unix.Mount("overlay", target, "overlay", 0, options); err != nil {
		return fmt.Errorf("mount overlay at %q: %w", target, err)
	}

	return p.mountPods()
}

// beginMappings takes back what an earlier host's programs have had shown at folders of the drive (bindfltapi.dll), as
// a boot of Windows does, and has what is mounted there from now on appear in the host.
func (p *prefix) beginMappings() error {
	at := Prefix(p.Dir)
	for range mappingRounds {
		left, err := p.takeBackMappings()
		if err != nil {
			return err
		}
		if !left {
			break
		}
	}

	if err := unix.Mount("", at, "", unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share what is mounted on the drive: %w", err)
	}
	return nil
}

// mappingRounds is how often mappings are taken back that somebody has moved meanwhile.
const mappingRounds = 5

// takeBackMappings takes back what the kernel lists. HostProcess containers live on and move folders of the drive, with
// what is mounted in them, and put links in their places: left is true if one was not where it was listed.
func (p *prefix) takeBackMappings() (left bool, err error) {
	at := Prefix(p.Dir)
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(at))
	if err != nil {
		return false, fmt.Errorf("list what is mounted on the drive: %w", err)
	}

	pods := filepath.Join(at, podsFolder)
	for _, m := range slices.Backward(mounts) {
		if m.Mountpoint == at || m.Mountpoint == pods || strings.HasPrefix(m.Mountpoint, pods+"/") {
			continue
		}
		gone, err := takeBack(at, m)
		if err != nil {
			return false, fmt.Errorf("take back what is shown on the drive: %w", err)
		}
		left = left || !gone
	}

	return left, nil
}

// takeBack takes a mount away; gone is false if it is not where it was.
func takeBack(drive string, m *mountinfo.Info) (gone bool, err error) {
	f, err := bindmount.Open(drive, m.ID, m.Mountpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return true, bindmount.Detach(f)
}

// The volumes of pods lie in a folder beside the host's drive, since an overlay cannot be mounted with ids that are a
// pod's own (internal/runtime/engine/ids.go).

// podsFolder is where the drive shows them.
const podsFolder = "Files/var/lib/kubelet/pods"

func (p *prefix) pods() string { return filepath.Join(p.Dir, "pods") }

// movePods makes the folder, of what a host of an older Mullion had on its drive. The drive is not mounted.
func (p *prefix) movePods() error {
	err := os.Mkdir(p.pods(), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the folder of pods' volumes: %w", err)
	}

	upper, err := os.OpenRoot(filepath.Join(p.Dir, "upper"))
	if err != nil {
		return fmt.Errorf("move pods' volumes: %w", err)
	}
	defer upper.Close()

	older, err := upper.OpenFile(filepath.Dir(podsFolder), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == nil {
		defer older.Close()
		err = unix.Renameat(int(older.Fd()), filepath.Base(podsFolder), unix.AT_FDCWD, p.pods())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("move pods' volumes: %w", err)
	}

	return nil
}

// mountPods shows the folder on the drive.
func (p *prefix) mountPods() error {
	drive, err := os.OpenRoot(Prefix(p.Dir))
	if err != nil {
		return fmt.Errorf("mount pods' volumes: %w", err)
	}
	defer drive.Close()
	if err := drive.MkdirAll(podsFolder, 0o755); err != nil {
		return fmt.Errorf("mount pods' volumes: %w", err)
	}

	at, err := drive.OpenFile(podsFolder, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("mount pods' volumes: %w", err)
	}
	defer at.Close()
	return bindmount.PathOver(p.pods(), int(at.Fd()), 0)
}

// changeLayers records other layers than last time: another Wine, other shims or another build. The registry is made
// anew from them, the files of C: stay.
func (p *prefix) changeLayers(record, want string) error {
	for _, name := range []string{"system.reg", "user.reg", "userdef.reg", ".update-timestamp"} {
		if err := os.RemoveAll(filepath.Join(p.Dir, "upper", name)); err != nil {
			return err
		}
	}
	return os.WriteFile(record, []byte(want), 0o600)
}

// escapeOption writes a path so that overlayfs does not see separators in it.
func escapeOption(path string) string {
	return strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`).Replace(path)
}

// isMounted reports whether something is mounted at path.
func isMounted(path string) (bool, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(path))
	return len(mounts) > 0, err
}

// writeRegistry gives the host its own identity and a new boot.
func (p *prefix) writeRegistry() error {
	drive, err := os.OpenRoot(Prefix(p.Dir))
	if err != nil {
		return err
	}
	defer drive.Close()
	if err := wine.NameServerFolder(drive, os.Geteuid()); err != nil {
		return err
	}

	id := wine.HostIdentity{
		SystemUUID: p.UUID().String(),
		BootID:     uint32(time.Now().Unix()), // grows with every boot, which is all that is asked of it
	}
	if err := wine.EditHive(filepath.Join(Prefix(p.Dir), "system.reg"), wine.HostKeys(id)); err != nil {
		return err
	}
	return wine.EditHive(filepath.Join(Prefix(p.Dir), "user.reg"), []wine.Key{wine.ProfileKey(wine.HostUser)})
}
