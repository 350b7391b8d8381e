package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
	"github.com/klauspost/pgzip"
)

// tarball writes a parcel as FOLDER.tar.gz, with one folder of that name.
func (r release) tarball(p parcel) (file string, err error) {
	file = filepath.Join(r.dist, p.folder+".tar.gz")
	return file, r.create(file, func(w io.Writer) error {
		z := pgzip.NewWriter(w)
		t := tar.NewWriter(z)
		for _, e := range p.entries {
			if err := r.addTo(t, p.folder, e); err != nil {
				return err
			}
		}
		return errors.Join(t.Close(), z.Close())
	})
}

func (r release) addTo(t *tar.Writer, folder string, e entry) error {
	h := &tar.Header{
		Name:    path.Join(folder, e.path),
		ModTime: r.time,
		Format:  tar.FormatGNU,
	}

	if e.link != "" {
		h.Typeflag = tar.TypeSymlink
		h.Linkname = e.link
		h.Mode = 0o777
		return t.WriteHeader(h)
	}

	f, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}

	h.Typeflag = tar.TypeReg
	h.Mode = int64(e.mode)
	h.Size = info.Size()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// deb writes a parcel as a Debian package.
func (r release) deb(p parcel) (file string, err error) {
	info := r.info(p)
	info.Section, info.Priority = "admin", "optional"
	if info.Depends, err = p.debian(); err != nil {
		return "", err
	}
	info.Deb = nfpm.Deb{Compression: "zstd"}
	return r.pack("deb", deb.Default, info)
}

// rpm writes a parcel as an RPM package.
func (r release) rpm(p parcel) (file string, err error) {
	info := r.info(p)
	if info.Depends, err = p.redHat(); err != nil {
		return "", err
	}
	summary, _, _ := strings.Cut(p.description, "\n")
	info.RPM = nfpm.RPM{
		Compression: "zstd",
		BuildHost:   "localhost",
		Summary:     summary,
	}
	return r.pack("rpm", rpm.DefaultRPM, info)
}

// info returns what both packages have. They are installed below /usr.
func (r release) info(p parcel) *nfpm.Info {
	info := &nfpm.Info{
		Name:            p.name,
		Arch:            "amd64",
		Platform:        "linux",
		Version:         p.version,
		Maintainer:      "The Mullion authors",
		Description:     p.description,
		License:         p.licence,
		DisableGlobbing: true,
		MTime:           r.time,
	}

	for _, e := range p.entries {
		c := &files.Content{Source: e.source, Destination: "/usr/" + e.path, Type: files.TypeFile, FileInfo: &files.ContentFileInfo{
			Owner: "root", Group: "root", Mode: e.mode, MTime: r.time,
		}}
		if e.link != "" {
			c.Source = e.link
			c.Type = files.TypeSymlink
			c.FileInfo.Mode = 0o777
		}
		info.Contents = append(info.Contents, c)
	}

	return info
}

func (r release) pack(format string, packager nfpm.Packager, info *nfpm.Info) (string, error) {
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return "", err
	}
	file := filepath.Join(r.dist, packager.ConventionalFileName(info))
	return file, r.create(file, func(w io.Writer) error { return packager.Package(info, w) })
}

// create writes a file whole, or not at all.
func (r release) create(file string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(r.dist, ".made-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("write %q: %w", file, err)
	}
	return os.Rename(f.Name(), file)
}

// checksums writes them as sha256sum does.
func checksums(file string, of []string) error {
	var text strings.Builder
	for _, name := range of {
		sum, err := sha256Of(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, filepath.Base(name))
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}
