package main

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
	"github.com/klauspost/pgzip"
)

// tarball writes mullion-VERSION-linux-amd64.tar.gz, with one folder of that name.
func (r release) tarball(entries []entry) (file string, err error) {
	folder := "mullion-" + r.number() + "-linux-amd64"
	file = filepath.Join(r.dist, folder+".tar.gz")
	return file, r.create(file, func(w io.Writer) error {
		z := pgzip.NewWriter(w)
		t := tar.NewWriter(z)
		for _, e := range entries {
			if err := r.addTo(t, folder, e); err != nil {
				return err
			}
		}
		return errors.Join(t.Close(), z.Close())
	})
}

func (r release) addTo(t *tar.Writer, folder string, e entry) error {
	h := &tar.Header{Name: path.Join(folder, e.path), ModTime: r.time, Format: tar.FormatGNU}
	if e.link != "" {
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.link, 0o777
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
	h.Typeflag, h.Mode, h.Size = tar.TypeReg, int64(e.mode), info.Size()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// description is the packages'. Its first line stands alone in lists.
const description = `Windows nodes for Kubernetes on a Linux machine without Windows
mullion up brings up a cluster with upstream's control plane, Linux nodes, and Windows nodes on which upstream's own
kubelet.exe, kube-proxy.exe and CNI plugins run under Wine.`

// deb writes the Debian package. It depends on what hack/deps.sh installs for a machine that only runs Mullion.
func (r release) deb(entries []entry) (string, error) {
	list, err := exec.Command(filepath.Join(r.root, "hack/deps.sh"), "list").Output()
	if err != nil {
		return "", fmt.Errorf("hack/deps.sh list: %w", err)
	}
	info := r.info(entries)
	info.Section, info.Priority = "admin", "optional"
	info.Depends = strings.Fields(string(list))
	info.Deb = nfpm.Deb{Compression: "zstd"}
	return r.pack("deb", deb.Default, info)
}

// rpm writes the RPM package, whose dependencies have Fedora's names.
func (r release) rpm(entries []entry) (string, error) {
	info := r.info(entries)
	info.Depends = []string{"wine-core", "nftables", "iproute", "iputils", "util-linux"}
	info.RPM = nfpm.RPM{Compression: "zstd", BuildHost: "localhost", Summary: strings.SplitN(description, "\n", 2)[0]}
	return r.pack("rpm", rpm.DefaultRPM, info)
}

// info is what both packages have. They are installed below /usr.
func (r release) info(entries []entry) *nfpm.Info {
	info := &nfpm.Info{
		Name:            "mullion",
		Arch:            "amd64",
		Platform:        "linux",
		Version:         r.version,
		Maintainer:      "The Mullion authors",
		Description:     description,
		License:         "Apache-2.0",
		DisableGlobbing: true,
		MTime:           r.time,
	}
	for _, e := range entries {
		c := &files.Content{Source: e.source, Destination: "/usr/" + e.path, Type: files.TypeFile, FileInfo: &files.ContentFileInfo{
			Owner: "root", Group: "root", Mode: e.mode, MTime: r.time,
		}}
		if e.link != "" {
			c.Source, c.Type, c.FileInfo.Mode = e.link, files.TypeSymlink, 0o777
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
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", h.Sum(nil), filepath.Base(name))
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// moduleCache is the folder of the modules.
func moduleCache() (string, error) {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMODCACHE: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
