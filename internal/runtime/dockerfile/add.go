package dockerfile

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/opencontainers/go-digest"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// Bounds of what ADD takes from others.
const (
	mostFetched  = imagebuild.MostBytes // bytes of an archive or an address, unpacked
	mostUnpacked = imagebuild.MostFiles
	zstdWindow   = 64 << 20
)

// fetchedMode are the permissions of what was fetched, as Docker has them.
const fetchedMode = 0o600

// add carries out ADD: COPY, and archives of the folder are unpacked, and addresses are fetched.
func (s *stage) add(ctx context.Context, c *instructions.AddCommand) error {
	if c.Checksum != "" && len(c.SourcePaths) != 1 {
		return refuse(errdefs.ErrInvalidArgument, "--checksum is for one address")
	}

	w, err := s.copying(c, c.SourcesAndDest, s.folder.in(s.linux), c.ExcludePatterns)
	if err != nil {
		return err
	}
	if err := w.readRights(ctx, c.Chown, c.Chmod); err != nil {
		return err
	}

	for _, pattern := range c.SourcePaths {
		if err := w.addOne(ctx, pattern, c); err != nil {
			return err
		}
	}

	if err := w.heredocs(c.SourceContents); err != nil {
		return err
	}

	return w.put(ctx)
}

// addOne adds what one source of ADD names.
func (w *copying) addOne(ctx context.Context, pattern string, c *instructions.AddCommand) error {
	lower := strings.ToLower(pattern)
	switch {
	case isRepository(lower):
		return refuse(errdefs.ErrNotImplemented, "%q is a Git repository: clone it before, and COPY it", pattern)
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"):
		return w.fetch(ctx, pattern, c.Checksum, c.Unpack != nil && *c.Unpack)
	case c.Checksum != "":
		return refuse(errdefs.ErrInvalidArgument, "--checksum is for an address, and %q is none", pattern)
	case c.Unpack != nil && !*c.Unpack:
		return w.pattern(ctx, pattern, "")
	}

	return w.archives(ctx, pattern)
}

// isRepository reports whether a source in small letters is a Git repository, which may have #REF:FOLDER behind it.
func isRepository(lower string) bool {
	address, _, _ := strings.Cut(lower, "#")
	return strings.HasPrefix(lower, "git@") || strings.HasPrefix(lower, "git://") || strings.HasPrefix(lower, "ssh://") ||
		(strings.HasPrefix(lower, "http") && strings.HasSuffix(address, ".git"))
}

// archives adds what a pattern names; those of the files that are archives are unpacked.
func (w *copying) archives(ctx context.Context, pattern string) error {
	at, err := w.sourceName(pattern)
	if err != nil {
		return err
	}
	found, err := w.from.glob(at)
	if err != nil {
		return err
	}

	if len(found) == 0 || (len(found) > 1 && !w.into) {
		return w.pattern(ctx, pattern, "") // which says what is wrong
	}

	for _, name := range found {
		files, folder, err := w.from.list(ctx, name)
		if err != nil {
			return err
		}
		if !folder && len(files) == 0 && len(found) == 1 {
			return w.missing(pattern, name, "")
		}
		if err := w.unpackOrPlace(ctx, name, files, folder); err != nil {
			return err
		}
	}

	return nil
}

// unpackOrPlace unpacks a file that is an archive, and places what is none.
func (w *copying) unpackOrPlace(ctx context.Context, name string, files []imagebuild.File, folder bool) error {
	if !folder && len(files) == 1 {
		if unpacked, err := w.unpack(ctx, files[0]); unpacked || err != nil {
			return err
		}
	}
	return w.place(name, files, folder)
}

// scratchFile makes a file of the build's own.
func (b *builder) scratchFile() (*os.File, error) {
	b.fetched++
	return os.Create(filepath.Join(b.Scratch, strconv.Itoa(b.fetched)))
}

// fetch adds the file at an address.
func (w *copying) fetch(ctx context.Context, address, checksum string, unpack bool) (err error) {
	if err := checkSum(checksum); err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%q: %w: %w", address, err, errdefs.ErrInvalidArgument)
	}

	name := path.Base(u.Path)
	if w.into && (name == "." || name == "/" || name == "..") {
		return refuse(errdefs.ErrInvalidArgument, "%q ends without a file's name: give the target one", address)
	}

	file, err := w.scratchFile()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	size, sum, err := download(ctx, address, file)
	if err != nil {
		return err
	}
	if checksum != "" && sum != checksum {
		return refuse(errdefs.ErrFailedPrecondition, "%s has the checksum %s", address, sum)
	}

	if unpack {
		fetched := imagebuild.File{Source: file.Name()}
		if unpacked, err := w.unpack(ctx, fetched); unpacked || err != nil {
			return err
		}
	}

	fetched := imagebuild.File{
		Source: file.Name(),
		Size:   size,
		Mode:   fetchedMode,
	}

	return w.place(name, []imagebuild.File{fetched}, false)
}

// checkSum refuses what is no checksum; "" is none, which is right.
func checkSum(checksum string) error {
	if checksum == "" {
		return nil
	}
	if err := digest.Digest(checksum).Validate(); err != nil || !strings.HasPrefix(checksum, "sha256:") {
		return refuse(errdefs.ErrInvalidArgument, "--checksum %s: want sha256: and 64 digits", checksum)
	}
	return nil
}

// download writes what is at an address to a file.
func download(ctx context.Context, address string, to io.Writer) (size int64, sum string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()

	if answer.StatusCode != http.StatusOK {
		return 0, "", refuse(errdefs.ErrNotFound, "get %s: the server answers %s", address, answer.Status)
	}

	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(to, hash), io.LimitReader(answer.Body, mostFetched+1))
	if err == nil && size > mostFetched {
		err = refuse(errdefs.ErrInvalidArgument, "get %s: it has more than %d GiB", address, mostFetched>>30)
	}

	return size, fmt.Sprintf("sha256:%x", hash.Sum(nil)), err
}

// unpack adds what is in an archive; false: the file is none.
func (w *copying) unpack(ctx context.Context, from imagebuild.File) (bool, error) {
	file, err := from.Open()
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()

	plain, err := decompressed(file)
	if err != nil {
		return false, err
	}

	budget := &io.LimitedReader{R: interruptible(ctx, plain), N: mostFetched}
	room := int64(mostFetched) // of the files: one with holes has more bytes than the archive
	archive := tar.NewReader(budget)
	first, err := archive.Next()
	if err != nil {
		return false, nil // it is copied as it is
	}

	if _, err := w.made.folder(w.target); err != nil {
		return false, err
	}

	for count, header := 0, first; ; count++ {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		if room -= header.Size; count == mostUnpacked || budget.N == 0 || header.Size < 0 || room < 0 {
			return true, refuse(errdefs.ErrInvalidArgument, "the archive has more than %d entries or %d GiB",
				mostUnpacked, mostFetched>>30)
		}

		if err := w.unpackEntry(header, archive); err != nil {
			return true, fmt.Errorf("%q in the archive: %w", header.Name, err)
		}

		if header, err = archive.Next(); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return true, fmt.Errorf("read the archive: %w", err)
		}
	}
}

// readFunc is a reader.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// interruptible returns a reader that ends with a context.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

// decompressed reads a file as its first bytes say that it is compressed.
func decompressed(file io.Reader) (io.Reader, error) {
	const longest = 6
	buffered := bufio.NewReader(file)
	head, err := buffered.Peek(longest)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}

	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if r, err := gzip.NewReader(buffered); err == nil {
			return r, nil
		}
		return strings.NewReader(""), nil // not an archive

	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(buffered), nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstd.NewReader(buffered, zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderConcurrency(1))
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return nil, refuse(errdefs.ErrNotImplemented,
			"it is compressed by xz, which is not read here: unpack it before, or COPY it")
	}

	return buffered, nil
}

// unpackEntry adds an entry of an archive. Whatever it is called, it stays below the target.
func (w *copying) unpackEntry(header *tar.Header, from io.Reader) error {
	name := strings.TrimPrefix(path.Clean("/"+w.link(header.Name)), "/")
	if name == "" {
		return nil
	}
	if _, err := w.named(name); err != nil {
		return err
	}

	if left, err := w.leaves(name, name); left || err != nil {
		return err
	}
	at := path.Join(w.target, name)

	switch header.Typeflag {
	case tar.TypeXGlobalHeader: // of `git archive`: what it says is no file
		return nil
	case tar.TypeDir:
		return w.unpackFolder(at, header)
	case tar.TypeReg:
		return w.unpackFile(at, header, from)
	case tar.TypeLink:
		other, ok := w.made.find(path.Join(w.target, path.Clean("/"+header.Linkname)))
		if !ok || other.Kind != 0 {
			return refuse(errdefs.ErrInvalidArgument, "it is a link to %q, which is no file of the archive",
				header.Linkname)
		}
		other.Name = at
		return w.made.add(other)

	case tar.TypeSymlink:
		return w.unpackLink(at, name, header.Linkname)
	}

	return refuse(errdefs.ErrInvalidArgument, "it is neither a file, a folder nor a link")
}

// unpackFile adds a regular file.
func (w *copying) unpackFile(at string, header *tar.Header, from io.Reader) (err error) {
	file, err := w.scratchFile()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	size, err := io.Copy(file, from)
	if err != nil {
		return err
	}

	return w.made.add(w.rights.over(imagebuild.File{
		Name:     at,
		Source:   file.Name(),
		Size:     size,
		ReadOnly: header.FileInfo().Mode().Perm()&0o222 == 0,
	}, header))
}

// unpackFolder adds a folder, with the rights that the archive says.
func (w *copying) unpackFolder(at string, header *tar.Header) error {
	at, err := w.made.folder(at)
	if err != nil || at == "" || !w.linux {
		return err
	}
	w.made.files[at] = w.rights.over(imagebuild.File{Name: at, Kind: fs.ModeDir}, header)
	return nil
}

// unpackLink adds a symbolic link, which has to lead to something below the target.
func (w *copying) unpackLink(at, name, to string) error {
	if w.linux { // there a link leads below the container's root, wherever it seems to lead
		return w.made.add(imagebuild.File{
			Name: at,
			Kind: fs.ModeSymlink,
			Link: to,
		})
	}

	to = strings.ReplaceAll(to, `\`, "/")
	end := path.Join(path.Dir(name), to)
	if path.IsAbs(to) || strings.Contains(to, ":") || end == ".." || strings.HasPrefix(end, "../") {
		return refuse(errdefs.ErrInvalidArgument, "it is a link to %q, which is not in the archive", to)
	}

	return w.made.add(imagebuild.File{
		Name:  at,
		Kind:  fs.ModeSymlink,
		Link:  to,
		ToDir: w.made.isFolder(path.Join(w.target, end)),
	})
}
