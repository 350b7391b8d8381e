package winnode

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/node/pauseimage"
	"mullion.dev/mullion/internal/spec"
)

// program is one of upstream's programs, a file of the machine, and its place on C:.
type program struct{ file, place string }

// Folders of containerd on Windows: its own (wine.ContainerdDir), where SIG Windows' tools put crictl.exe too, and that
// of CNI plugins, in which package podnet looks for them.
const (
	containerdDir = "Program Files/containerd"
	cniBin        = containerdDir + "/cni/bin"
)

// programs returns upstream's programs on the host. It has crictl.exe if that has been built: a person wants it, and no
// part of a cluster. A bare host likewise has kubeadm.exe and kubectl.exe.
func (c Config) programs() []program {
	if c.Docker != "" {
		return []program{{filepath.Join(c.Docker, dockerProgram), dockerFolder + dockerProgram}}
	}
	all := []program{{filepath.Join(c.Kubernetes, "kubelet.exe"), "k/kubelet.exe"}}
	if !c.NoProxy || c.Bare {
		all = append(all, program{filepath.Join(c.Kubernetes, "kube-proxy.exe"), "k/kube-proxy.exe"})
	}

	for _, name := range []string{"kubeadm.exe", "kubectl.exe"} {
		if file := filepath.Join(c.Kubernetes, name); c.Bare && exists(file) {
			all = append(all, program{file, "k/" + name})
		}
	}

	if file := filepath.Join(c.Programs, "crictl.exe"); exists(file) {
		all = append(all, program{file, containerdDir + "/crictl.exe"})
	}
	for _, name := range ContainerdPrograms() {
		if c.Containerd != "" {
			all = append(all, program{filepath.Join(c.Containerd, name), containerdDir + "/" + name})
		}
	}
	if !c.Network.NoCNI {
		for _, plugin := range []string{"win-bridge.exe", "win-overlay.exe", "host-local.exe"} {
			all = append(all, program{filepath.Join(c.Programs, plugin), cniBin + "/" + plugin})
		}
	}

	return all
}

// programsLayer makes the folder with upstream's programs that lies below every host's own, and returns it. Files are
// hard links where that is possible, so that no node has a copy of 200 MB. New programs make a new folder: hosts that
// run keep theirs.
func (c Config) programsLayer() (string, error) {
	if err := c.checkPause(); err != nil {
		return "", err
	}
	h := sha256.New()
	for _, p := range c.programs() {
		info, err := os.Stat(p.file)
		if err != nil {
			return "", fmt.Errorf("find upstream's programs: %w; build them with `make upstream`", err)
		}
		fmt.Fprintf(h, "%s %d %d\n", p.place, info.Size(), info.ModTime().UnixNano())
	}

	dir := filepath.Join(c.ProgramsDir, hex.EncodeToString(h.Sum(nil))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(c.ProgramsDir, 0o755); err != nil {
		return "", err
	}

	tmp, err := os.MkdirTemp(c.ProgramsDir, ".new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)

	for _, p := range c.programs() {
		to := filepath.Join(tmp, "Files", p.place)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := linkOrCopy(p.file, to); err != nil {
			return "", fmt.Errorf("put %s into the layer of programs: %w", p.place, err)
		}
	}

	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	err = os.Rename(tmp, dir)
	if err != nil && (errors.Is(err, fs.ErrExist) || exists(dir)) {
		return dir, nil // another host of this cluster was quicker
	}
	return dir, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func linkOrCopy(from, to string) error {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if os.Link(real, to) == nil {
		return nil
	}

	in, err := os.Open(real)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}

	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// checkPause says which program of the pause image is not there, if the node's pods are to have that: the agent would
// not start.
func (c Config) checkPause() error {
	if c.PauseImage != spec.OwnPauseImage {
		return nil
	}
	return pauseimage.Check(c.Programs)
}
