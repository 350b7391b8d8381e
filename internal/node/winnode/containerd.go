package winnode

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/node/pauseimage"
	"mullion.dev/mullion/internal/node/registries"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/spec"
)

// Containerd is the part of a node that is upstream's containerd.exe, and the name of its service.
const Containerd = "containerd"

// The files of containerd.exe on C:, where containerd itself has them on Windows
// (https://github.com/containerd/containerd/blob/v2.4.2/defaults/defaults_windows.go).
const (
	containerdConfig = "/" + containerdDir + "/config.toml"
	certsDir         = "/" + containerdDir + "/certs.d"
	containerdLogDir = "var/log/" + Containerd
	// containerdEnv has the variables by which it finds the HTTP proxy for pulling.
	containerdEnv = "/" + containerdDir + "/environment"
)

// sandboxImage is the image of pods' first containers: the node's pause image, or that of Mullion's making.
func (c Config) sandboxImage() spec.PauseImage { return cmp.Or(c.PauseImage, spec.OwnPauseImage) }

// ContainerdPrograms are the files that a folder with containerd.exe has to have, and that a host gets.
func ContainerdPrograms() []string {
	return []string{"containerd.exe", "ctr.exe", "containerd-shim-runhcs-v1.exe"}
}

// ContainerdUnit returns the unit whose readiness means that containerd.exe answers CRI, and has its images.
func (c Config) ContainerdUnit() component.ID { return c.Unit(Containerd) }

// ContainerdSocket returns the Unix socket of the machine that leads to the host's pipe of CRI, and so to
// containerd.exe where that has it. runDir is the host's Config.RunDir.
func ContainerdSocket(runDir string) string {
	return filepath.Join(agentconfig.PipesDir(runDir), "containerd-containerd.sock")
}

// literal is a TOML string without escapes, in which Windows paths are readable.
func literal(text string) string { return "'" + text + "'" }

// containerdTOML returns the configuration of containerd.exe (version 3:
// https://github.com/containerd/containerd/blob/v2.4.2/docs/cri/config.md). The folders of
// state are those of a Windows Server; what is not named is as upstream has it on Windows, the runtimes among it.
func (c Config) containerdTOML() string {
	binDirs, confDir := []string{podnet.BinDir}, podnet.ConfDir
	if c.Network.NoCNI {
		binDirs, confDir = []string{podnet.InstalledBinDir, podnet.BinDir}, podnet.InstalledConfDir
	}
	for i, dir := range binDirs {
		binDirs[i] = literal(dir)
	}

	return fmt.Sprintf(`version = 3
root = 'C:\ProgramData\containerd\root'
state = 'C:\ProgramData\containerd\state'

[grpc]
  address = %s

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = %q

[plugins.'io.containerd.cri.v1.images'.registry]
  config_path = %s
%s
[plugins.'io.containerd.cri.v1.runtime'.containerd]
  default_runtime_name = "runhcs-wcow-process"

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = [%s]
  conf_dir = %s
`, literal(criPipe), c.sandboxImage(), literal(c.node().Path(certsDir)), registries.AuthTOML(c.Registries, "io.containerd.cri.v1.images"), strings.Join(binDirs, ", "),
		literal(confDir))
}

// writeContainerd writes the files that containerd.exe reads. Those of an earlier start that say how registries are
// reached go. The configuration has credentials.
func (c Config) writeContainerd() error {
	files, err := registries.Files(c.Registries)
	if err != nil {
		return err
	}
	node := c.node()
	if err := node.RemoveAll(certsDir); err != nil {
		return err
	}

	for name, data := range files {
		file := path.Join(certsDir, name)
		if err := node.MkdirAll(path.Dir(file), 0o755); err != nil {
			return err
		}
		if err := node.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}

	for _, dir := range []string{"/" + containerdDir + "/cni/conf", "/" + containerdLogDir} {
		if err := node.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := node.Assign("/"+containerdLogDir, c.Administrators, programLogMode); err != nil {
		return err
	}

	var environ strings.Builder
	for _, variable := range c.PullEnviron {
		environ.WriteString(variable + "\n")
	}
	if err := node.WriteFile(containerdEnv, []byte(environ.String()), 0o600); err != nil { // it may have a password
		return err
	}
	return node.WriteFile(containerdConfig, []byte(c.containerdTOML()), fs.FileMode(0o600))
}

// containerdUnit returns upstream's containerd.exe, which mullion-service.exe keeps as a service.
func (c Config) containerdUnit() component.Component {
	dial := func(ctx context.Context) (net.Conn, error) {
		return unixsocket.Dialer(ContainerdSocket(c.RunDir))(ctx, "", "")
	}

	keep := c.keeper(Containerd)
	keep.Environment = c.node().Path(containerdEnv)
	s := c.kept(keep, func(context.Context) ([]string, error) {
		return []string{
			c.node().Path("/" + containerdDir + "/containerd.exe"),
			"--config", c.node().Path(containerdConfig), "--run-service", "--log-file", keep.Log,
		}, nil
	})
	began := s.Ready
	s.Ready = func(ctx context.Context) error {
		if err := began(ctx); err != nil {
			return err
		}
		return kubenode.RuntimeAnswers(ctx, dial)
	}
	s.ReadyTimeout = 2 * time.Minute

	p := c.service(Containerd, c.Process(Containerd, s, c.writeContainerd), c.inHost)
	p.Complete = c.ensureImages
	if !c.Network.NoCNI {
		p.Health = func(ctx context.Context) error { return kubenode.RuntimeHealth(ctx, dial) }
	}
	return p
}

// inHost reports whether a process is of this host: it is in the host's network namespace.
func (c Config) inHost(l proc.Leftover) bool {
	host, err := os.Stat(c.Netns)
	if err != nil {
		return false
	}
	own, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", l.PID))
	return err == nil && os.SameFile(host, own)
}

// ensureImages puts the images into containerd.exe that nobody pulls: that of pods' first containers, and those that
// stand in for Windows' base images.
func (c Config) ensureImages(ctx context.Context) error {
	store, err := nodeimages.Open(nodeimages.Windows(c.Name, ContainerdSocket(c.RunDir), c.Build.Version.String()))
	if err != nil {
		return err
	}
	defer store.Close()

	if c.sandboxImage() == spec.OwnPauseImage {
		img, err := pauseimage.Make(ctx, c.Programs, c.Build.Name)
		if err == nil {
			err = ensureImage(ctx, store, img)
		}
		if err != nil {
			return err
		}
	}

	for _, refs := range image.StandIns(c.Build) {
		img, err := image.BuildStandIn(ctx, refs)
		if err == nil {
			err = ensureImage(ctx, store, img)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// imageStore is the store of images of a containerd.exe.
type imageStore interface {
	Digest(ctx context.Context, ref string) (string, error)
	Load(ctx context.Context, r io.Reader) ([]string, error)
}

// ensureImage puts an image into a store, unless the store has it under all of its names.
func ensureImage(ctx context.Context, store imageStore, img *imagebuild.Image) error {
	want, err := img.Digest()
	if err != nil {
		return err
	}

	there := true
	for _, ref := range img.Refs {
		has, err := store.Digest(ctx, ref)
		if err != nil && !errdefs.IsNotFound(err) {
			return err
		}
		there = there && has == want
	}
	if there {
		return nil
	}

	r, w := io.Pipe()
	go func() { w.CloseWithError(img.WriteArchive(w)) }()
	defer r.Close()
	_, err = store.Load(ctx, r)
	return err
}
