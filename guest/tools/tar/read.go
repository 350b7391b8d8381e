package tar

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	zst "github.com/klauspost/compress/zstd"
)

// entry is a file in an archive that is read.
type entry struct {
	name, link string // names with slashes
	hard       bool   // link is the name of another file of the archive
	mode       fs.FileMode
	size       int64
	when       time.Time
	owner      string
	content    func() (io.ReadCloser, error)
}

// source is an archive that is read; after the last entry the error is io.EOF.
type source interface {
	next() (entry, error)
}

const errFormat = message("Error opening archive: Unrecognized archive format")

// maxWindow is the memory that a zstd archive may ask for.
const maxWindow = 128 << 20

// read lists or unpacks an archive.
func (r *run) read() error {
	in := r.In
	if r.file != "-" {
		file, err := os.Open(r.file)
		if err != nil {
			return says("Error opening archive: Failed to open '%s'", r.file)
		}
		defer file.Close()
		in = file
	}

	s, done, err := open(in)
	if err != nil {
		return err
	}
	defer done()

	take := r.list
	if r.mode == modeExtract && !r.stdout {
		u, err := r.unpacker()
		if err != nil {
			return err
		}
		defer u.close()
		take = u.take
	} else if r.mode == modeExtract {
		take = r.write
	}

	asked := make([]bool, len(r.operands))
	for {
		e, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return says("Error reading archive: %v", err)
		}

		if !r.wanted(e.name, asked) {
			continue
		}
		if err := take(e); err != nil {
			r.fail(e.name, err)
		}
	}

	for i, o := range r.operands {
		if !asked[i] {
			r.complain("%s: Not found in archive", o.name)
			r.failed = true
		}
	}

	return nil
}

// open finds out how an archive is made. done frees what reading it took.
func open(in io.Reader) (s source, done func(), err error) {
	const magic = 262 // where a tar archive says so, and the length of what it says
	b := bufio.NewReaderSize(in, 64<<10)
	head, err := b.Peek(magic)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, says("Error opening archive: %v", err)
	}

	done = func() {}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return openZip(b)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, errFormat
		}
		return &tarSource{tar.NewReader(z)}, done, nil

	case bytes.HasPrefix(head, []byte("BZh")):
		return &tarSource{tar.NewReader(bzip2.NewReader(b))}, done, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zst.NewReader(b, zst.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, errFormat
		}
		return &tarSource{tar.NewReader(z)}, z.Close, nil

	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return nil, nil, says("Error opening archive: xz archives are not supported")
	case (len(head) == magic && bytes.HasPrefix(head[257:], []byte("ustar"))) || old(head):
		return &tarSource{tar.NewReader(b)}, done, nil
	}

	return nil, nil, errFormat
}

// old reports whether an archive is empty, or is of the kind before ustar, which says nothing of itself.
func old(head []byte) bool {
	if len(head) == 0 || len(bytes.Trim(head, "\x00")) == 0 {
		return true
	}
	const mode, size = 100, 124 // octal numbers
	return len(head) > size+12 && len(bytes.Trim(head[mode:mode+8], " \x0001234567")) == 0 &&
		len(bytes.Trim(head[size:size+12], " \x0001234567")) == 0
}

type tarSource struct{ *tar.Reader }

func (s *tarSource) next() (entry, error) {
	for {
		h, err := s.Next()
		if err != nil && (!errors.Is(err, tar.ErrInsecurePath) || h == nil) { // what takes it looks at the name
			return entry{}, err
		}
		e := entry{
			name: slashes(h.Name), link: slashes(h.Linkname), mode: h.FileInfo().Mode(), size: h.Size, when: h.ModTime,
			owner:   fmt.Sprintf("%-6s %-6s", name(h.Uname, h.Uid), name(h.Gname, h.Gid)),
			content: func() (io.ReadCloser, error) { return io.NopCloser(s), nil },
		}

		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeLink:
			e.hard = true
		}

		return e, nil
	}
}

func name(text string, number int) string {
	if text != "" {
		return text
	}
	return fmt.Sprint(number)
}

// openZip reads a zip archive, whose table of contents is at its end, from a copy.
func openZip(in io.Reader) (source, func(), error) {
	copied, err := os.CreateTemp("", "tar")
	if err != nil {
		return nil, nil, err
	}
	done := func() {
		_ = copied.Close()
		_ = os.Remove(copied.Name()) // nothing is left to say it to
	}

	size, err := io.Copy(copied, in)
	if err == nil {
		var z *zip.Reader
		if z, err = zip.NewReader(copied, size); err == nil || (errors.Is(err, zip.ErrInsecurePath) && z != nil) {
			return &zipSource{z.File}, done, nil
		}
	}
	done()
	return nil, nil, says("Error opening archive: %v", err)
}

type zipSource struct{ files []*zip.File }

// maxLink is the longest target of a symbolic link in a zip archive, in bytes.
const maxLink = 32 << 10

func (s *zipSource) next() (entry, error) {
	if len(s.files) == 0 {
		return entry{}, io.EOF
	}

	f := s.files[0]
	s.files = s.files[1:]
	e := entry{
		name: slashes(f.Name), mode: f.Mode(), size: int64(f.UncompressedSize64), when: f.Modified,
		owner: fmt.Sprintf("%-6s %-6s", "0", "0"), content: f.Open,
	}
	if strings.HasSuffix(e.name, "/") {
		e.mode |= fs.ModeDir
	}

	if e.mode&fs.ModeSymlink == 0 {
		return e, nil
	}
	in, err := f.Open()
	if err != nil {
		return e, err
	}
	defer in.Close()
	target, err := io.ReadAll(io.LimitReader(in, maxLink))
	e.link = slashes(string(target))

	return e, err
}

// list prints a line for an entry.
func (r *run) list(e entry) error {
	line := e.name
	if r.verbose {
		when := e.when.Local().Format("Jan _2 15:04")
		if age := time.Since(e.when); age > 183*24*time.Hour || age < -183*24*time.Hour {
			when = e.when.Local().Format("Jan _2  2006")
		}

		line = fmt.Sprintf("%s  0 %s %10d %s %s", letters(e), e.owner, e.size, when, line)
		switch {
		case e.hard:
			line += " link to " + e.link
		case e.link != "":
			line += " -> " + e.link
		}
	}

	_, err := fmt.Fprintln(r.Out, line)
	return err
}

// letters returns a mode as ls writes it.
func letters(e entry) string {
	kind := "-"
	switch {
	case e.hard:
		kind = "h"
	case e.mode.IsDir():
		kind = "d"
	case e.mode&fs.ModeSymlink != 0:
		kind = "l"
	}
	return kind + e.mode.Perm().String()[1:]
}

// write writes an entry's content to standard output.
func (r *run) write(e entry) error {
	if !e.mode.IsRegular() || e.hard {
		return nil
	}
	in, err := e.content()
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(r.Out, in)
	return err
}
