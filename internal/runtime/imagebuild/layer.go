package imagebuild

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"mullion.dev/mullion/internal/base/beneath"
)

// The PAX records of a Windows layer, and the file type bits that hcsshim sets in its modes
// (https://github.com/microsoft/go-winio/blob/v0.6.2/backuptar/tar.go). Layers of Windows carry no permission bits.
const (
	paxFileAttr     = "MSWINDOWS.fileattr"
	paxRawSD        = "MSWINDOWS.rawsd"
	paxCreationTime = "LIBARCHIVE.creationtime"

	modeDir  = 0o040000
	modeFile = 0o100000
	modeLink = 0o120000
)

// Win32 file attributes (https://learn.microsoft.com/windows/win32/fileio/file-attribute-constants).
const (
	attrReadOnly     = 0x1
	attrDirectory    = 0x10
	attrArchive      = 0x20
	attrReparsePoint = 0x400
)

// WriteWindowsLayer writes a Windows layer, a tar archive: the folders Files and Hives, hives by their names, then
// files below Files, a folder before what is in it. All have one time.
func WriteWindowsLayer(ctx context.Context, w io.Writer, files []File, hives map[string][]byte, at time.Time) error {
	at = whole(at)
	tw := tar.NewWriter(w)
	for _, name := range []string{"Files", "Hives"} {
		if err := tw.WriteHeader(header(name, File{Kind: fs.ModeDir}, at, false)); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(hives)) {
		if err := writeHive(tw, name, hives[name], at); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}

	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writeFile(tw, f, at); err != nil {
			return fmt.Errorf("write %q: %w", f.Name, err)
		}
	}

	if err := tw.Close(); err != nil {
		return fmt.Errorf("end layer: %w", err)
	}

	return nil
}

func writeHive(tw *tar.Writer, name string, hive []byte, at time.Time) error {
	f := File{Data: hive, Size: int64(len(hive))}
	if err := tw.WriteHeader(header("Hives/"+name, f, at, false)); err != nil {
		return err
	}
	return f.copy(tw)
}

func writeFile(tw *tar.Writer, f File, at time.Time) error {
	if err := tw.WriteHeader(header("Files/"+f.Name, f, at, true)); err != nil {
		return err
	}
	if f.Kind != 0 {
		return nil
	}
	return f.copy(tw)
}

// Open opens the file on this machine that has the bytes.
func (f File) Open() (*os.File, error) {
	if f.In != nil {
		file, _, err := beneath.Open(f.In, f.Source)
		return file, err
	}
	file, _, err := beneath.OpenPath(f.Source)
	return file, err
}

// copy copies a file's bytes into the archive. It is an error if the file's size has changed since it was listed, or
// its bytes have since they were summed up.
func (f File) copy(tw *tar.Writer) error {
	if f.Source == "" {
		_, err := tw.Write(f.Data)
		return err
	}

	src, err := f.Open()
	if err != nil {
		return err
	}
	defer src.Close()

	return f.CopyTo(tw, src)
}

// CopyTo copies a file's bytes from where it has been opened. Other ones than were summed up are an error.
func (f File) CopyTo(to io.Writer, from io.Reader) error {
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, hash), from); err != nil {
		return err
	}
	if len(f.Sum) > 0 && !bytes.Equal(f.Sum, hash.Sum(nil)) {
		return errChanged
	}
	return nil
}

// SumUp reads a regular file, unless that was done before, and notes the sum of its bytes.
func (f *File) SumUp() error {
	if f.Kind != 0 || len(f.Sum) > 0 {
		return nil
	}

	hash := sha256.New()
	if f.Source == "" {
		hash.Write(f.Data)
		f.Sum = hash.Sum(nil)
		return nil
	}

	src, err := f.Open()
	if err != nil {
		return err
	}
	defer src.Close()

	size, err := io.Copy(hash, io.LimitReader(src, f.Size+1))
	if err == nil && size != f.Size {
		err = errChanged
	}
	if err != nil {
		return fmt.Errorf("read %q: %w", f.Name, err)
	}
	f.Sum = hash.Sum(nil)
	return nil
}

// errChanged says that somebody writes to a file while it becomes part of an image.
var errChanged = errors.New("the file is being changed while the image is built")

func header(name string, f File, at time.Time, secured bool) *tar.Header {
	h := &tar.Header{
		Format:     tar.FormatPAX,
		Name:       name,
		ModTime:    at,
		PAXRecords: map[string]string{paxCreationTime: fmt.Sprintf("%d.0", at.Unix())},
	}

	attr := 0
	switch f.Kind {
	case fs.ModeDir:
		h.Typeflag = tar.TypeDir
		h.Mode = modeDir
		attr = attrDirectory

	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		h.Mode = modeLink
		attr = attrReparsePoint
		h.Linkname = f.Link
		if f.ToDir {
			h.Mode, attr = modeDir|modeLink, attrReparsePoint|attrDirectory
		}

	default:
		h.Typeflag = tar.TypeReg
		h.Mode = modeFile
		attr = attrArchive
		h.Size = f.Size
		if f.ReadOnly {
			attr |= attrReadOnly
		}
	}

	h.PAXRecords[paxFileAttr] = strconv.Itoa(attr)
	if secured {
		h.PAXRecords[paxRawSD] = base64.StdEncoding.EncodeToString(securityDescriptor(f.Kind == fs.ModeDir))
	}

	return h
}
