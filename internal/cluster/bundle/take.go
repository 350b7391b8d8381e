package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/beneath"
)

// Limits of an archive. Upstream's have programs of up to 100 MB, and beside them images of the same programs.
const (
	mostProgram = 1 << 30 // bytes of one program
	mostArchive = 8 << 30 // bytes of all that is in an archive, unpacked
	mostEntries = 100_000
)

// Take puts the programs of one version of Kubernetes that are in sources into the empty folder dir, and returns the
// version that they say themselves. A source is a folder or an archive (.tar.gz, .tar) in the layout of upstream's
// releases: {server,node}/bin, or that below kubernetes. What is no program of a bundle is passed over. Together the
// sources have each program once, but for etcd, which may be missing.
func Take(ctx context.Context, dir string, sources []string) (version string, err error) {
	for _, d := range []string{serverDir, nodeDir} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // it was only written beneath

	t := taking{
		ctx:  ctx,
		root: root,
		from: map[string]string{},
	}

	for _, source := range sources {
		if err := t.source(source); err != nil {
			return "", err
		}
	}

	if err := t.check(dir); err != nil {
		return "", err
	}
	return t.version(dir)
}

// taking is what has been taken so far.
type taking struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call
	root *os.Root
	// from has the source of each program, by the program's place.
	from map[string]string
}

// source takes what is in one folder or archive.
func (t *taking) source(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("read bundle: %w", err)
	}

	had := len(t.from)
	switch {
	case info.IsDir():
		err = t.folder(name)
	case info.Mode().IsRegular():
		err = t.archive(name)
	default:
		return fmt.Errorf("read bundle %s: it is neither a folder nor an archive", name)
	}
	if err == nil && len(t.from) == had {
		err = fmt.Errorf("it has no program of Kubernetes where upstream's releases have them: "+
			"[kubernetes/]%s/kube-apiserver, [kubernetes/]%s/kubelet.exe and so on", serverDir, nodeDir)
	}
	if err != nil {
		return fmt.Errorf("read bundle %s: %w", name, err)
	}

	return nil
}

// folder takes the programs of a folder. A link that leads out of it is refused; a program that is there under several
// names (a link leads from one to the other) is taken once, with links.
func (t *taking) folder(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	type taken struct {
		place string
		info  fs.FileInfo
	}

	var all []taken
	for _, p := range programs() {
		entry, info, err := find(root, p.place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}

		same := slices.IndexFunc(all, func(other taken) bool {
			return path.Dir(other.place) == path.Dir(p.place) && os.SameFile(other.info, info)
		})
		if same >= 0 {
			if err := t.claim(p.place, name); err != nil {
				return err
			}
			if err := t.root.Symlink(path.Base(all[same].place), p.place); err != nil {
				return err
			}
			continue
		}

		in, _, err := beneath.Open(root, entry)
		if err != nil {
			return err
		}
		err = t.write(p.place, name, in, info.Size())
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
		all = append(all, taken{p.place, info})
	}

	return nil
}

// find finds a program's entry in a folder.
func find(root *os.Root, place string) (entry string, info fs.FileInfo, err error) {
	for _, entry := range []string{place, "kubernetes/" + place} {
		info, err = root.Stat(entry)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return entry, nil, err
		case !info.Mode().IsRegular():
			return entry, nil, fmt.Errorf("%s is not a regular file", entry)
		}
		return entry, info, nil
	}
	return "", nil, err
}

// archive takes the programs of an archive.
func (t *taking) archive(name string) error {
	f, _, err := beneath.OpenPath(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	return t.tar(name, bufio.NewReaderSize(f, 1<<20))
}

// errNoArchive says of a file that is no archive what it should be.
var errNoArchive = errors.New("it is neither a .tar.gz nor a .tar archive")

func (t *taking) tar(name string, packed *bufio.Reader) error {
	all := &counted{
		ctx:  t.ctx,
		in:   packed,
		left: mostArchive,
	}

	if head, err := packed.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(packed)
		if err != nil {
			return fmt.Errorf("%w: %w", errNoArchive, err)
		}
		all.in = z
	}

	r := tar.NewReader(all)
	for entries := 0; ; entries++ {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && entries > 0:
			return nil
		case errors.Is(err, io.EOF), entries == 0 && errors.Is(err, tar.ErrHeader),
			entries == 0 && errors.Is(err, io.ErrUnexpectedEOF):
			return errNoArchive
		case err != nil:
			return fmt.Errorf("after %d entries: %w", entries, err)
		case entries == mostEntries:
			return fmt.Errorf("it has more than %d entries", mostEntries)
		}

		if err := t.entry(name, h, r); err != nil {
			return err
		}
	}
}

// entry takes one entry of an archive, if it is a program.
func (t *taking) entry(archive string, h *tar.Header, in io.Reader) error {
	if path.IsAbs(h.Name) || slices.Contains(strings.Split(h.Name, "/"), "..") {
		return fmt.Errorf("entry %q leads out of the archive", h.Name)
	}
	place := strings.TrimPrefix(path.Clean(h.Name), "kubernetes/")
	if !slices.ContainsFunc(programs(), func(p program) bool { return p.place == place }) {
		return nil
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("entry %q is a link or a device, and not a regular file", h.Name)
	}
	return t.write(place, archive, in, h.Size)
}

// claim notes where a program is from.
func (t *taking) claim(place, source string) error {
	switch from, twice := t.from[place]; {
	case twice && from == source:
		return fmt.Errorf("entry %s is there twice", place)
	case twice:
		return fmt.Errorf("%s is there, and in %s too", place, from)
	}
	t.from[place] = source
	return nil
}

// write takes one program of that many bytes.
func (t *taking) write(place, source string, in io.Reader, size int64) error {
	if err := t.claim(place, source); err != nil {
		return err
	}
	if size > mostProgram {
		return fmt.Errorf("%s has %d bytes, which is more than a program of Kubernetes has", place, size)
	}

	out, err := t.root.OpenFile(place, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, &counted{
		ctx:  t.ctx,
		in:   in,
		left: mostProgram,
	}, size)

	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("take %s: %w", place, err)
	}

	return nil
}

// counted reads until ctx is over, and no more than is left.
type counted struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call
	in   io.Reader
	left int64
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.in.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, errors.New("it is larger than an archive of Kubernetes, unpacked")
	}
	return n, err
}

// check refuses what is no program of its system, and a bundle with less than a cluster needs.
func (t *taking) check(dir string) error {
	var missing []string
	for _, p := range programs() {
		from, ok := t.from[p.place]
		if !ok {
			if p.place != etcd {
				missing = append(missing, p.place)
			}
			continue
		}

		err := CheckProgram(filepath.Join(dir, p.place), p.system)
		if wrong, ok := errors.AsType[*WrongProgramError](err); ok {
			wrong.File = p.place
		}
		if err != nil {
			return fmt.Errorf("read bundle %s: %w", from, err)
		}
	}
	if len(missing) > 0 {
		return &IncompleteError{Missing: missing}
	}

	return nil
}

// IncompleteError says that a bundle has less than a cluster needs.
type IncompleteError struct{ Missing []string }

func (e *IncompleteError) Error() string {
	return "the bundle lacks " + strings.Join(e.Missing, ", ")
}

// version returns the version that the programs say, which is that of all.
func (t *taking) version(dir string) (string, error) {
	const asked = serverDir + "/kube-apiserver"
	version, err := askVersion(t.ctx, filepath.Join(dir, asked))
	if err != nil {
		return "", fmt.Errorf("read bundle %s: %w", t.from[asked], err)
	}

	for _, p := range programs() {
		file := filepath.Join(dir, p.place)
		info, err := os.Lstat(file)
		if p.place == etcd || (err == nil && !info.Mode().IsRegular()) { // a link to one that is looked at
			continue
		}
		has, err := mentions(file, version)
		if err != nil {
			return "", err
		}

		if !has {
			return "", fmt.Errorf("read bundle %s: %s is not of version %s, which %s says", t.from[p.place], p.place,
				version, asked)
		}
	}

	return version, nil
}

// Same reports whether two bundles have the same programs, byte for byte.
func Same(a, b Bundle) (bool, error) {
	for _, p := range programs() {
		same, err := sameFile(filepath.Join(a.Dir, p.place), filepath.Join(b.Dir, p.place))
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// sameFile reports whether two files have the same content, or neither is there.
func sameFile(a, b string) (bool, error) {
	if there(a) != there(b) {
		return false, nil
	}
	if !there(a) {
		return true, nil
	}

	x, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer func() { _ = x.Close() }() // it was only read
	y, err := os.Open(b)
	if err != nil {
		return false, err
	}

	defer func() { _ = y.Close() }() // it was only read
	return sameContent(x, y)
}

func sameContent(a, b io.Reader) (bool, error) {
	x, y := make([]byte, 1<<20), make([]byte, 1<<20)
	for {
		n, err := readFull(a, x)
		if err != nil {
			return false, err
		}
		m, err := readFull(b, y)
		if err != nil || !bytes.Equal(x[:n], y[:m]) {
			return false, err
		}

		if n < len(x) {
			return true, nil
		}
	}
}

// readFull fills a buffer, or as much of it as there is to read.
func readFull(r io.Reader, buffer []byte) (int, error) {
	n, err := io.ReadFull(r, buffer)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
