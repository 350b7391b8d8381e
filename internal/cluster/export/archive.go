package export

import (
	"archive/tar"
	"io"
	"os"
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
	header := &tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime(), Typeflag: tar.TypeReg}
	if err := to.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	return err
}
