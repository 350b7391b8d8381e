package export

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// AddFile adds a regular file to an archive under a name, readable for its owner alone.
func AddFile(to *tar.Writer, file, name string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}

	header := &tar.Header{
		Name:     name,
		Mode:     0o600,
		Size:     info.Size(),
		ModTime:  info.ModTime(),
		Typeflag: tar.TypeReg,
	}

	if err := to.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	return err
}

// Archive writes the files of dir as a compressed tar archive, below a folder of that name.
func Archive(ctx context.Context, out io.Writer, dir, below string) error {
	compressed := gzip.NewWriter(out)
	files := tar.NewWriter(compressed)
	var names []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}

	slices.Sort(names)
	for _, name := range names {
		inside, err := filepath.Rel(dir, name)
		err = errors.Join(err, ctx.Err())
		if err == nil {
			err = AddFile(files, name, path.Join(below, filepath.ToSlash(inside)))
		}
		if err != nil {
			return err
		}
	}

	return errors.Join(files.Close(), compressed.Close())
}
