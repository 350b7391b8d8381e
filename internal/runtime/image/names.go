package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/beneath"
)

// names finds the letter case that a path already has. NTFS ignores case and Linux does not, so a layer that writes
// Windows\System32 over a drive that has windows/system32 would otherwise make a second folder that hides the first.
// The first spelling wins: the Wine system layer's, then that of the lowest image layer.
type names struct {
	system  *os.Root   // the system layer's drive, may be nil
	layers  []*os.Root // the image's layers, lowest first; the one being written last
	folders map[string]map[string]string
	kept    int // the memory that names take
}

// perName is the memory that a name takes beside its bytes.
const perName = 64

// keep counts memory that names take.
func (n *names) keep(bytes int) error {
	if n.kept += bytes + perName; n.kept > maxNames {
		return fmt.Errorf("%w: the names of a layer's files take more than the %d MiB that are kept in memory",
			ErrTooLarge, maxNames>>20)
	}
	return nil
}

// newNames reads names from the folders of a snapshot (lower: nearest first) and from the system layer's drive.
func newNames(upper string, lower []string, system string) (*names, error) {
	n := &names{folders: map[string]map[string]string{}}
	if system != "" {
		root, err := os.OpenRoot(system)
		if err != nil {
			return nil, fmt.Errorf("open system layer: %w", err)
		}
		n.system = root
	}

	for _, dir := range slices.Backward(append([]string{upper}, lower...)) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open layer folder: %w", err), n.Close())
		}
		n.layers = append(n.layers, root)
	}

	return n, nil
}

// Close closes the folders.
func (n *names) Close() error {
	var err error
	for _, r := range n.layers {
		err = errors.Join(err, r.Close())
	}
	if n.system != nil {
		err = errors.Join(err, n.system.Close())
	}
	return err
}

// resolve returns p, a path relative to the drive, in the spelling that exists. Parts that do not exist keep their
// spelling; with add, they count as existing from now on.
func (n *names) resolve(p string, add bool) (string, error) {
	p = strings.Trim(path.Clean("/"+p), "/")
	if p == "" {
		return "", nil
	}

	done, missing := "", false
	for part := range strings.SplitSeq(p, "/") {
		if missing && !add {
			done = path.Join(done, part)
			continue
		}
		children, err := n.children(done, missing)
		if err != nil {
			return "", err
		}

		key := strings.ToLower(part)
		spelled, ok := children[key]
		if !ok {
			spelled, missing = part, true
		}

		if !ok && add {
			children[key] = part
			if err := n.keep(2 * len(part)); err != nil {
				return "", err
			}
		}
		done = path.Join(done, spelled)
	}

	return done, nil
}

// children returns the names in folder dir, by lower case. missing says that there is no such folder yet.
func (n *names) children(dir string, missing bool) (map[string]string, error) {
	if c, ok := n.folders[dir]; ok {
		return c, nil
	}
	c := map[string]string{}
	if missing {
		n.folders[dir] = c
		return c, n.keep(len(dir))
	}

	if n.system != nil {
		if err := addNames(c, n.system, path.Join(".", dir)); err != nil {
			return nil, err
		}
	}

	for _, l := range n.layers {
		if err := addNames(c, l, path.Join("Files", dir)); err != nil {
			return nil, err
		}
	}

	n.folders[dir] = c
	size := len(dir)
	for name := range c {
		size += 2*len(name) + perName
	}

	return c, n.keep(size)
}

// addNames adds the names in a folder, if there is one, that are not there yet.
func addNames(to map[string]string, root *os.Root, dir string) error {
	if fi, err := root.Stat(dir); err != nil || !fi.IsDir() {
		return nil //nolint:nilerr // no such folder, or a link that leads out of the drive: no names
	}
	entries, err := beneath.ReadFolder(root, dir, 0)
	if err != nil {
		return fmt.Errorf("list %q in %q: %w", dir, root.Name(), err)
	}

	for _, e := range entries {
		key := strings.ToLower(e.Name())
		if _, ok := to[key]; !ok {
			to[key] = e.Name()
		}
	}

	return nil
}

// systemFile reports whether the Wine system layer has a file of that name, whatever its case.
func (n *names) systemFile(p string) bool {
	if n.system == nil {
		return false
	}
	spelled, err := n.resolve(p, false)
	if err != nil {
		return false
	}
	fi, err := n.system.Stat(spelled)
	return err == nil && fi.Mode().IsRegular()
}

// mkdir makes a folder in the layer being written, with the owner and mode of hdr, unless something of that name is
// there.
func (n *names) mkdir(dir string, hdr *tar.Header) error {
	if len(n.layers) == 0 { // nothing is being written
		return nil
	}

	top := n.layers[len(n.layers)-1]
	if _, err := top.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := top.Mkdir(dir, 0o755); err != nil {
		return err
	}

	if err := top.Lchown(dir, hdr.Uid, hdr.Gid); err != nil {
		return err
	}
	return top.Chmod(dir, hdr.FileInfo().Mode())
}
