// Package kubeimages owns the images of which kubeadm makes a control plane: it builds them from the programs of a
// bundle and those beside mullion, under the names that the kubeadm of that version asks for. It owns no store.
package kubeimages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/elflibs"
	"mullion.dev/mullion/internal/base/filecopy"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// Maker makes the images of one version of Kubernetes.
type Maker struct {
	// Server is the folder of Kubernetes' programs for Linux, with kubeadm. Etcd is that program, which may lie
	// elsewhere.
	Server, Etcd string
	// CoreDNS and Pause are programs beside mullion.
	CoreDNS, Pause string
	// Version is that of Kubernetes, for example v1.37.1.
	Version string
}

// NotBuiltError says that a program for an image is not there.
type NotBuiltError struct {
	Program string
	Err     error
}

func (e *NotBuiltError) Error() string {
	return fmt.Sprintf("find the program %s: %v", e.Program, e.Err)
}

// Unwrap gives what kept the program from being read.
func (e *NotBuiltError) Unwrap() error { return e.Err }

const (
	// listPatience is how long kubeadm has to print what it knows by itself.
	listPatience = time.Minute
	// programs is where the pods that kubeadm makes look for their programs.
	programs = "usr/local/bin"
)

// Build makes the images. Those that kubeadm starts by a program's name are one, with a tag for each.
func (m Maker) Build(ctx context.Context) ([]*imagebuild.Image, error) {
	names, err := m.names(ctx)
	if err != nil {
		return nil, err
	}

	var all []*imagebuild.Image
	var kubernetes []string
	for _, ref := range names {
		var dir, user string
		switch program(ref) {
		case "coredns":
			dir = m.CoreDNS
		case "pause":
			dir, user = m.Pause, "65535:65535"
		default:
			kubernetes = append(kubernetes, ref)
			continue
		}

		if _, err := os.Stat(dir); err != nil {
			return nil, &NotBuiltError{dir, err}
		}

		img, err := imagebuild.Build(ctx, imagebuild.Options{
			Dir: dir,
			Spec: imagebuild.Spec{
				OS:   imagebuild.Linux,
				Tags: []string{ref},
				User: user,
			},
		})
		if err != nil {
			return nil, err
		}

		all = append(all, img)
	}

	img, err := m.kubernetes(ctx, kubernetes)
	if err != nil {
		return nil, err
	}
	return append(all, img), nil
}

// program returns the last part of a reference's name, which is that of the image's program.
func program(ref string) string {
	name, _, _ := strings.Cut(path.Base(ref), ":")
	return name
}

// names returns the references that kubeadm asks for.
func (m Maker) names(ctx context.Context) ([]string, error) {
	kubeadm := filepath.Join(m.Server, "kubeadm")
	if _, err := os.Stat(kubeadm); err != nil {
		return nil, &NotBuiltError{kubeadm, err}
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()

	cmd := exec.CommandContext(ctx, kubeadm, "config", "images", "list", "--kubernetes-version", m.Version)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/"}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s for the images of Kubernetes %s: %w", kubeadm, m.Version, err)
	}

	names := strings.Fields(string(out))
	if !slices.ContainsFunc(names, func(ref string) bool { return program(ref) == "kube-apiserver" }) {
		return nil, fmt.Errorf("ask %s for the images of Kubernetes %s: it names %q, without kube-apiserver", kubeadm,
			m.Version, names)
	}

	return names, nil
}

// kubernetes makes the image of Kubernetes' programs and etcd. kube-proxy runs nft, so the machine's is there too.
func (m Maker) kubernetes(ctx context.Context, refs []string) (*imagebuild.Image, error) {
	dir, err := os.MkdirTemp("", "mullion-kubeadm-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in the folder for what is left

	for _, ref := range refs {
		name := program(ref)
		from := filepath.Join(m.Server, name)
		if name == "etcd" {
			from = m.Etcd
		}
		if err := place(dir, from, name); err != nil {
			return nil, err
		}
	}

	if err := placeNft(dir); err != nil {
		return nil, err
	}
	return imagebuild.Build(ctx, imagebuild.Options{Dir: dir, Spec: imagebuild.Spec{
		OS:   imagebuild.Linux,
		Tags: refs,
		Env:  []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}})
}

// place copies a program below dir. One program that is several, by the names that it is called as, is there once.
func place(dir, from, name string) error {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return &NotBuiltError{from, err}
	}
	to := filepath.Join(dir, programs)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}

	base := filepath.Base(real)
	if _, err := os.Stat(filepath.Join(to, base)); errors.Is(err, os.ErrNotExist) {
		if _, err := filecopy.New(real, filepath.Join(to, base), 0o777); err != nil {
			return fmt.Errorf("copy %s: %w", real, err)
		}
	}
	if base == name {
		return nil
	}

	return os.Symlink(base, filepath.Join(to, name))
}

// placeNft copies the machine's nft with its libraries, and the file by which it writes protocols by their names, as
// kube-proxy reads them.
func placeNft(dir string) error {
	nft, err := exec.LookPath("nft")
	if err != nil {
		nft = "/usr/sbin/nft" // a PATH without the administrator's programs
	}
	if nft, err = filepath.EvalSymlinks(nft); err != nil {
		return &NotBuiltError{"nft", err}
	}

	libs, err := elflibs.Closure([]string{nft}, nil, nil, nil)
	if err != nil {
		return err
	}

	for _, from := range append(libs, nft) {
		to := filepath.Join(dir, from)
		if from == nft {
			to = filepath.Join(dir, "usr/sbin/nft")
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}

		if _, err := filecopy.New(from, to, 0o777); err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
	}

	for _, name := range []string{"lib", "lib64"} { // the loader is named by such a path
		to, err := os.Readlink("/" + name)
		if err != nil {
			continue // a folder, of which the libraries have brought what they need
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			return err
		}
	}

	if err := os.MkdirAll(filepath.Join(dir, "etc"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "etc/protocols"),
		[]byte("ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6-icmp 58 IPv6-ICMP\nsctp 132 SCTP\n"), 0o644)
}
