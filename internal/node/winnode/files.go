package winnode

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"mullion.dev/mullion/internal/base/resolvconf"
	"mullion.dev/mullion/internal/windows/wine"
)

// etcFiles returns what the host sees in its /etc. Wine takes the Windows user name from passwd and resolves names
// through glibc, which reads the others.
func (c Config) etcFiles() map[string]string {
	files := c.Etc()
	files["passwd"] = wine.HostUser + ":x:0:0::/:/\n"
	files["group"] = "Administrators:x:0:\n"
	return files
}

// writeEtc writes the host's /etc files. Each is bound by itself, so an existing file is overwritten in place.
func (c Config) writeEtc() error {
	if err := os.MkdirAll(filepath.Join(c.Dir, "etc"), 0o755); err != nil {
		return err
	}
	for name, text := range c.etcFiles() {
		if err := os.WriteFile(c.etc(name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// VolumesFolder is the folder on a host's C: that has the volumes of the StorageClass local; VolumesPath is its path on
// the host.
const (
	VolumesFolder = "var/lib/mullion/volumes"
	VolumesPath   = `C:\var\lib\mullion\volumes\`
)

// driveDirs returns the folders on C: that upstream's programs expect, or from which containers get mounts.
func driveDirs() []string {
	return []string{
		"etc/kubernetes/pki", "var/lib/kubelet/pki", "var/lib/cni", "ProgramData/Mullion", VolumesFolder,
		"var/log/kubelet", "var/log/kube-proxy",
		"Program Files/containerd/cni/conf", "Windows/System32/drivers/etc",
	}
}

// privateDirs returns the folders on C: that hold what only the node may know: its keys and kubeconfigs, the secrets of
// its pods, the token of HNS. The host's programs make files with umask 0, because containers of other uids read and
// change what the kubelet writes into a volume. Containers see volumes through mounts, so the modes of the folders
// above a volume do not matter to them.
func privateDirs() []string {
	return []string{"etc/kubernetes", "var/lib/kubelet", "var/lib/kubelet/pki", "ProgramData/Mullion"}
}

// On Windows a host's file that a container mounts has for it the rights that the file's list gives to
// BUILTIN\Administrators, if the container runs as ContainerAdministrator, or to BUILTIN\Users
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/util/filesystem/util_windows.go, Chmod). So a file's
// group stands for Administrators here, and Linux' others for Users. The host's C: is an overlay, which cannot be
// mounted with other ids.

const (
	// logsMode lets Administrators write below C:\var\log, where agents keep how far they have read, and Users
	// read. What is made there is of the same group. The kubelet makes the folders pods and containers there
	// itself, and sets lists of access rights that Users are not in, from the versions on that mend CVE-2024-5321.
	logsMode = fs.ModeSetgid | 0o775
	// programLogMode lets Administrators read the logs of the node's own programs, and nobody else: they may tell more
	// than a pod should know.
	programLogMode = fs.ModeSetgid | 0o750
)

// logDirs returns the folders on C: with logs.
func logDirs() map[string]fs.FileMode {
	return map[string]fs.FileMode{
		"var/log": logsMode, "var/log/kubelet": programLogMode, "var/log/kube-proxy": programLogMode,
	}
}

// olderLogDirs are folders with logs that a host made by an older Mullion has, of no group.
func olderLogDirs() []string { return []string{"var/log/pods", "var/log/containers"} }

// openLogs gives the folders with logs to the administrators of containers.
func (c Config) openLogs() error {
	for dir, mode := range logDirs() {
		if err := c.node().Assign("/"+dir, c.Administrators, mode); err != nil {
			return err
		}
	}
	for _, dir := range olderLogDirs() {
		if err := c.node().Assign("/"+dir, c.Administrators, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// writeDrive writes the files on C: that the host needs before the kubelet starts.
func (c Config) writeDrive() error {
	dirs := driveDirs()
	if c.Network.NoCNI {
		// where others install one: podnet.InstalledConfDir, InstalledBinDir
		dirs = append(dirs, "etc/cni/net.d", "opt/cni/bin")
	}

	node := c.node()
	for _, dir := range dirs {
		if err := node.MkdirAll("/"+dir, 0o755); err != nil {
			return err
		}
	}

	for _, dir := range privateDirs() {
		if err := node.Chmod("/"+dir, 0o700); err != nil {
			return err
		}
	}

	if err := c.openLogs(); err != nil {
		return err
	}
	files := map[string]string{"/Windows/System32/drivers/etc/hosts": c.Hosts()}
	if !c.Bare {
		files[resolvConf] = resolvconf.Machine().String()
	}

	for name, text := range files {
		if err := node.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}

	if err := c.ensureCrictl(); err != nil {
		return err
	}
	if err := c.writeProcessors(); err != nil {
		return err
	}
	return c.ensureToken()
}

// crictlFile is crictl's configuration for the host's user
// (https://github.com/kubernetes-sigs/cri-tools/blob/v1.36.0/cmd/crictl/main_windows.go).
const crictlFile = "/Users/" + wine.HostUser + "/.crictl/crictl.yaml"

// ensureCrictl tells crictl of the runtime's endpoint, unless a person has told it another.
func (c Config) ensureCrictl() error {
	if _, err := c.node().ReadFile(crictlFile); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.node().MkdirAll(path.Dir(crictlFile), 0o755); err != nil {
		return err
	}
	text := "runtime-endpoint: " + CRIEndpoint + "\nimage-endpoint: " + CRIEndpoint + "\n"
	return c.node().WriteFile(crictlFile, []byte(text), 0o644)
}

// writeProcessors tells the host's programs which processors the host shows, if those are others than the machine's.
func (c Config) writeProcessors() error {
	text := c.Processors.File()
	if text == "" {
		return c.node().RemoveAll(processorsFile)
	}
	return c.node().WriteFile(processorsFile, []byte(text), 0o644)
}

// ensureToken makes the HNS token once; programs that hold it go on using it when the server restarts.
func (c Config) ensureToken() error {
	if data, err := c.node().ReadFile(tokenFile); err == nil && len(data) > 0 {
		return nil
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	return c.node().WriteFile(tokenFile, []byte(hex.EncodeToString(secret)), 0o600)
}
