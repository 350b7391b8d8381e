package single

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/cluster/layout"
)

// DefaultData is the folder of single containers. It is not below a cluster's: `mullion down` removes all of that.
const DefaultData = "/var/lib/mullion-run"

// layoutVersion is the version of the data folder's layout, in the file versionFile, whose name a cluster's folder does
// not have.
const (
	layoutVersion = "1"
	versionFile   = "run-version"
)

// namespace is containerd's namespace of the images and containers.
const namespace = "mullion-run"

// Paths are the places of single containers on the machine. Their names are those that a cluster has in a folder of its
// own, which never is the same.
type Paths struct{ layout.Paths }

// At returns the paths of a data folder; bin is the folder of Mullion's programs.
func At(data, bin string) Paths { return Paths{layout.Paths{Data: data, Bin: bin}} }

// Engine returns the engine's Unix socket, in a folder that others can walk through; its mode is 0600.
func (p Paths) Engine() string { return filepath.Join(p.Run(), "engine.sock") }

// Log returns the engine's log.
func (p Paths) Log() string { return filepath.Join(p.Logs(), "engine.log") }

// starting returns the lock of the client that starts an engine, and alive the one that an engine has while it lives.
func (p Paths) starting() string { return filepath.Join(p.Run(), "start.lock") }
func (p Paths) alive() string    { return filepath.Join(p.Run(), "engine.lock") }

// streams returns the folder of the FIFOs of a container's streams.
func (p Paths) streams(name string) string { return filepath.Join(p.Run(), "streams", name) }

// container returns the folder of a container's files.
func (p Paths) container(id string) string { return filepath.Join(p.Run(), "containers", id) }

// records returns the folder of what is known of containers, which outlives the engine; its modes let root alone in.
func (p Paths) records() string { return filepath.Join(p.Data, "containers") }

// volumes returns the folder of the volumes, which outlives the engine; its mode lets root alone in.
func (p Paths) volumes() string { return filepath.Join(p.Data, "volumes") }

// containerLogs returns the folder of the logs of containers, and containerLog the log of one, which is rotated.
func (p Paths) containerLogs() string { return filepath.Join(p.Logs(), "containers") }

func (p Paths) containerLog(id string) string { return filepath.Join(p.containerLogs(), id+".log") }

// OfCluster reports whether the folder is that of a cluster, or of Docker's engine, by its file of their version.
func (p Paths) OfCluster() bool {
	_, err := os.Stat(filepath.Join(p.Data, "version"))
	return err == nil
}

// openMask is the umask of the engine: with that of a hardened machine the programs that have users of their own could
// not read their files.
const openMask = 0o022

// Prepare makes the folders, or checks that those there are of this layout. Meanwhile the process has the umask of the
// engine; afterwards it has its own again, with which a client makes a person's files.
func (p Paths) Prepare() error {
	defer unix.Umask(unix.Umask(openMask))
	if p.OfCluster() {
		return fmt.Errorf("use folder %q: it is a cluster's; give single containers another one with --data-dir", p.Data)
	}
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return err
	}

	file := filepath.Join(p.Data, versionFile)
	got, err := os.ReadFile(file)
	switch {
	case err == nil && strings.TrimSpace(string(got)) != layoutVersion:
		return fmt.Errorf("use folder %q: its layout is version %s, this program knows %s; remove the folder", p.Data,
			strings.TrimSpace(string(got)), layoutVersion)
	case errors.Is(err, os.ErrNotExist):
		err = p.begin(file)
	}
	if err != nil {
		return err
	}

	if err := os.MkdirAll(p.Logs(), 0o700); err != nil {
		return err
	}

	for _, dir := range []struct {
		path string
		mode os.FileMode
	}{
		// runc walks to a container's root as a user without rights, so this one is first.
		{p.Run(), 0o711},
		{p.streams(""), 0o700},
		{p.container(""), 0o711},
	} {
		if err := os.MkdirAll(dir.path, dir.mode); err != nil {
			return err
		}
	}

	return atomicfile.Write(filepath.Join(p.Run(), layout.DataFile), []byte(p.Data+"\n"), 0o600)
}

// begin takes an empty folder. Of several commands that are the first in it, the others find what one has begun.
func (p Paths) begin(file string) (err error) {
	lock, err := os.Open(p.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %q: %w", p.Data, err)
	}

	if _, err := os.Stat(file); err == nil {
		return nil
	}
	entries, err := os.ReadDir(p.Data)
	if err != nil {
		return err
	}

	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "."+versionFile+".") { // one of these was left by a command that was killed
			return fmt.Errorf("use folder %q: it holds files that Mullion did not make; choose an empty or new folder with "+
				"--data-dir", p.Data)
		}
		if err := os.Remove(filepath.Join(p.Data, e.Name())); err != nil {
			return err
		}
	}

	return atomicfile.Write(file, []byte(layoutVersion+"\n"), 0o600)
}
