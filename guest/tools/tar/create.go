package tar

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	zst "github.com/klauspost/compress/zstd"
)

// sink is an archive that is written. add writes one file: content is nil for all but ordinary files.
type sink interface {
	add(name string, info fs.FileInfo, link string, content io.Reader) error
	Close() error
}

// create makes an archive of the operands.
func (r *run) create() (err error) {
	out := r.Out
	var own os.FileInfo
	if r.file != "-" {
		file, err := os.Create(r.file)
		if err != nil {
			return says("Failed to open '%s'", r.file)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		if own, err = file.Stat(); err != nil {
			return err
		}
		out = file
	}

	s, err := r.sink(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	for _, o := range r.operands {
		if strings.HasPrefix(o.name, "@") {
			return says("%s: archives in archives are not supported", o.name)
		}
		if err := r.pack(s, o, own); err != nil {
			return err
		}
	}

	return nil
}

// pack adds a file, or a folder with all in it. What cannot be read is said, and the rest goes on.
func (r *run) pack(s sink, o operand, own os.FileInfo) error {
	from := o.name
	if o.dir != "" && !rooted(from) {
		from = filepath.Join(o.dir, from)
	}
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		name := slashes(o.name)
		if below, e := filepath.Rel(from, file); e == nil && below != "." {
			name = strings.TrimRight(name, "/") + "/" + filepath.ToSlash(below)
		}
		if err != nil {
			r.fail(slashes(name), says("Cannot stat: %v", bare(err)))
			return nil
		}

		if name = r.relative(name); name == "" {
			name = "."
		}
		if r.excludes(name) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}

		info, err := entry.Info()
		if err != nil {
			r.fail(name, bare(err))
			return nil
		}
		if own != nil && os.SameFile(own, info) {
			r.complain("%s: Can't add archive to itself", name)
			return nil
		}

		if r.verbose {
			fmt.Fprintf(r.Err, "a %s\n", name)
		}
		return r.packOne(s, name, file, info)
	})
}

func (r *run) packOne(s sink, name, file string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return s.add(strings.TrimRight(name, "/")+"/", info, "", nil)
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := os.Readlink(file)
		if err != nil {
			r.fail(name, bare(err))
			return nil
		}
		return s.add(name, info, slashes(link), nil)

	case !info.Mode().IsRegular():
		r.complain("%s: Only files, folders and symbolic links can be archived", name)
		r.failed = true
		return nil
	}

	content, err := os.Open(file)
	if err != nil {
		r.fail(name, bare(err))
		return nil
	}
	defer content.Close()
	return s.add(name, info, "", content)
}

// bare is an error without the name of the file, which the message has already.
func bare(err error) error {
	var inPath *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return says("No such file or directory")
	case errors.Is(err, fs.ErrPermission):
		return says("Permission denied")
	case errors.As(err, &inPath):
		return inPath.Err
	}
	return err
}

func (r *run) sink(out io.Writer) (sink, error) {
	if r.format == formatZip {
		return zipSink{zip.NewWriter(out)}, nil
	}

	s := &tarSink{}
	switch r.compress {
	case gz:
		s.packed = gzip.NewWriter(out)
	case zstd:
		w, err := zst.NewWriter(out)
		if err != nil {
			return nil, err
		}
		s.packed = w

	default:
		s.Writer = tar.NewWriter(out)
		return s, nil
	}

	s.Writer = tar.NewWriter(s.packed)
	return s, nil
}

type tarSink struct {
	*tar.Writer
	packed io.WriteCloser // nil if it is not compressed
}

func (s *tarSink) add(name string, info fs.FileInfo, link string, content io.Reader) error {
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name = name
	h.Uid = 0
	h.Gid = 0
	h.Uname = ""
	h.Gname = ""
	if err := s.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}

	if content == nil {
		return nil
	}
	// A file may grow while it is read, and what is said to be in it has to be there.
	n, err := io.Copy(s, io.LimitReader(content, h.Size))
	if err == nil && n < h.Size {
		return says("%s: File shrank while it was archived", name)
	}

	return err
}

func (s *tarSink) Close() error {
	err := s.Writer.Close()
	if s.packed != nil {
		err = errors.Join(err, s.packed.Close())
	}
	return err
}

type zipSink struct{ *zip.Writer }

func (s zipSink) add(name string, info fs.FileInfo, link string, content io.Reader) error {
	h, err := zip.FileInfoHeader(info)
	if err != nil {
		return err
	}
	h.Name, h.Method = name, zip.Deflate
	if content == nil {
		h.Method, content = zip.Store, strings.NewReader(link)
	}

	w, err := s.CreateHeader(h)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = io.Copy(w, content)
	return err
}
