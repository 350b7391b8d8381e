package programs

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/check/images"
)

// Bounds of one layer.
const (
	maxEntries = 2_000_000
	maxFile    = 2 << 30 // bytes of one program
)

// windows is the folder of Windows itself.
const windows = "windows"

// ReadFolder adds the programs of a folder of the machine, or one program.
func (s *Set) ReadFolder(ctx context.Context, folder string) error {
	add := func(name, file string) error {
		f, _, err := beneath.OpenPath(file)
		if err != nil {
			return err
		}
		defer f.Close()
		return s.Add(name, f)
	}

	info, err := os.Stat(folder)
	if err != nil {
		return err
	}

	if !info.IsDir() {
		base := filepath.Base(folder)
		config := strings.TrimSuffix(folder, filepath.Ext(folder)) + ".runtimeconfig.json"
		if _, err := os.Stat(config); err == nil {
			if err := add(filepath.Base(config), config); err != nil {
				return err
			}
		}
		return add(base, folder)
	}

	return filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return errors.Join(err, ctx.Err())
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		return errors.Join(add(filepath.ToSlash(name), file), ctx.Err())
	})
}

// ReadImage adds the programs of an image's layers, but for those of Windows itself, which Mullion does not take
// from an image.
func (s *Set) ReadImage(ctx context.Context, image *images.Layers) error {
	spool, err := os.CreateTemp("", "mullion-check-")
	if err != nil {
		return fmt.Errorf("make a file for programs: %w", err)
	}
	defer os.Remove(spool.Name())
	defer spool.Close()

	for n := range image.Count {
		r, err := image.Layer(n)
		if err != nil {
			return fmt.Errorf("open layer %d: %w", n+1, err)
		}
		err = errors.Join(s.layer(ctx, r, spool), r.Close())
		if err != nil {
			return fmt.Errorf("read layer %d: %w", n+1, err)
		}
	}

	return nil
}

// layer adds what a layer has, and removes what it removes.
func (s *Set) layer(ctx context.Context, r io.Reader, spool *os.File) error {
	before := map[string]*program{}
	whole := false // it holds Windows itself
	t := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}

		if n >= maxEntries {
			return fmt.Errorf("it has more than %d entries", maxEntries)
		}
		name, ok := onDrive(h.Name)
		if !ok {
			continue
		}

		k := key(name)
		if strings.HasPrefix(k, "/"+windows+"/") {
			before[k] = s.files[k]
			whole = whole || k == "/windows/system32/ntdll.dll"
		}
		if err := s.entry(h, name, t, spool); err != nil {
			return fmt.Errorf("entry %.200q: %w", h.Name, err)
		}

		if err := ctx.Err(); err != nil {
			return err
		}
	}

	for k, old := range before {
		if whole && old == nil {
			delete(s.files, k)
		} else if whole {
			s.files[k] = old
		}
	}

	_, err := io.Copy(io.Discard, r) // to its end, where its digest is compared
	return err
}

// onDrive turns the name of a layer's entry into a path on C:. ok is false for what is no file of it.
func onDrive(name string) (onC string, ok bool) {
	name = strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
	top, rest, _ := strings.Cut(name, "/")
	return rest, strings.EqualFold(top, "Files") && rest != ""
}

// entry adds or removes one file.
func (s *Set) entry(h *tar.Header, name string, r io.Reader, spool *os.File) error {
	const removed, all = ".wh.", ".wh..wh..opq"
	dir, base := path.Split(name)
	switch {
	case base == all:
		s.RemoveBelow(dir)
	case strings.HasPrefix(base, removed):
		s.Remove(dir + strings.TrimPrefix(base, removed))
	case h.Typeflag == tar.TypeLink:
		if old, ok := onDrive(h.Linkname); ok {
			s.Link(name, old)
		}

	case h.Typeflag == tar.TypeReg:
		return s.spooled(name, r, spool)
	case h.Typeflag != tar.TypeDir:
		s.Remove(name)
	}

	return nil
}

// spooled adds a file of a stream, by way of a file if it may be a program.
func (s *Set) spooled(name string, r io.Reader, spool *os.File) error {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(head) != "MZ" {
		return s.Add(name, strings.NewReader("")) // it may be a configuration, and it takes the place of what was there
	}

	if err := spool.Truncate(0); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if n, err := io.Copy(spool, io.LimitReader(b, maxFile+1)); err != nil || n > maxFile {
		return errors.Join(err, tooLong(n))
	}

	return s.Add(name, spool)
}

func tooLong(n int64) error {
	if n <= maxFile {
		return nil
	}
	return fmt.Errorf("it is longer than %d GiB", maxFile>>30)
}
