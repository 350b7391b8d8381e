// Package bundle owns where the programs of a Windows node come from: folders, also with archives in them, and .zip or
// .tar.gz archives, such as upstream's release archives (kubernetes-node-windows-amd64.tar.gz,
// containerd-…-windows-amd64.tar.gz, cni-plugins-windows-amd64-….tgz). A program is found by its name, in whichever
// folder it lies.
package bundle

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
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

// Bounds of a bundle: how many files are looked at, and how many bytes a program and an archive may have.
const (
	maxFiles   = 100_000
	maxProgram = 1 << 30
	maxArchive = 16 << 30 // of a .tar.gz, unpacked: it has to be read to the end
)

var (
	// ErrMissing says that no bundle has a program.
	ErrMissing = errors.New("the bundle lacks programs")
	// ErrForm says that a file is no bundle or a program no program.
	ErrForm = errors.New("it is not a bundle of Windows programs")
)

// Extract writes the programs of those names into the folder to, which has to be there and empty, from the first bundle
// that has each. Those of required that no bundle has are an error that wraps ErrMissing; those of optional are left
// out. It returns the names of the programs that it wrote.
func Extract(bundles []string, to string, required, optional []string) ([]string, error) {
	x := extraction{to: to, wanted: append(slices.Clone(required), optional...)}
	for _, b := range bundles {
		if err := x.from(b); err != nil {
			return nil, fmt.Errorf("read bundle %s: %w", b, err)
		}
	}

	var missing []string
	for _, name := range required {
		if !slices.Contains(x.written, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrMissing, strings.Join(missing, ", "))
	}

	return x.written, nil
}

type extraction struct {
	to              string
	wanted, written []string
	seen            int
}

// want returns the program that a file of a bundle is, "" if it is none that is wanted and not there yet.
func (x *extraction) want(file string) (string, error) {
	if x.seen++; x.seen > maxFiles {
		return "", fmt.Errorf("%w: more than %d files", ErrForm, maxFiles)
	}
	name := strings.ToLower(path.Base(filepath.ToSlash(file)))
	if !slices.Contains(x.wanted, name) || slices.Contains(x.written, name) {
		return "", nil
	}
	return name, nil
}

func (x *extraction) from(bundle string) error {
	info, err := os.Stat(bundle)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return x.fromFolder(bundle)
	}
	read := x.archive(bundle)
	if read == nil {
		return fmt.Errorf("%w: name a folder, a .zip, a .tar.gz or a .tgz", ErrForm)
	}
	return read(bundle)
}

// archive returns what reads an archive, nil if the file is none by its name.
func (x *extraction) archive(file string) func(string) error {
	name := strings.ToLower(file)
	switch {
	case strings.HasSuffix(name, ".zip"):
		return x.fromZip
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		return x.fromTar
	}
	return nil
}

func (x *extraction) fromFolder(folder string) error {
	return filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if read := x.archive(file); read != nil {
			return read(file)
		}

		name, err := x.want(file)
		if err != nil || name == "" {
			return err
		}
		in, _, err := beneath.OpenPath(file)
		if err != nil {
			return err
		}
		defer in.Close()
		return x.write(name, in)
	})
}

func (x *extraction) fromZip(file string) error {
	r, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	defer r.Close()

	for _, f := range r.File {
		name, err := x.want(f.Name)
		if err != nil {
			return err
		}
		if name == "" || !f.Mode().IsRegular() {
			continue
		}

		in, err := f.Open()
		if err != nil {
			return fmt.Errorf("%s: %w: %w", f.Name, ErrForm, err)
		}
		err = errors.Join(x.write(name, in), in.Close())
		if err != nil {
			return err
		}
	}

	return nil
}

func (x *extraction) fromTar(file string) error {
	in, _, err := beneath.OpenPath(file)
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}

	archive := tar.NewReader(io.LimitReader(plain, maxArchive))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrForm, err)
		}

		name, err := x.want(h.Name)
		if err != nil {
			return err
		}
		if name == "" || h.Typeflag != tar.TypeReg {
			continue
		}

		if err := x.write(name, archive); err != nil {
			return err
		}
	}
}

// write writes a program, which has to begin as a program of Windows does.
func (x *extraction) write(name string, in io.Reader) (err error) {
	magic := make([]byte, 2)
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != "MZ" {
		return fmt.Errorf("%s: %w: it is not a program of Windows", name, ErrForm)
	}
	out, err := os.OpenFile(filepath.Join(x.to, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := out.Write(magic); err != nil {
		return err
	}

	n, err := io.Copy(out, io.LimitReader(in, maxProgram))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if n == maxProgram {
		return fmt.Errorf("%s: %w: it is larger than %d bytes", name, ErrForm, maxProgram)
	}
	x.written = append(x.written, name)
	return nil
}
