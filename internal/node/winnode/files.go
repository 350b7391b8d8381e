package winnode

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/resolvconf"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/windows/wine"
)

// etcFiles are what the host sees in its /etc. Wine takes the Windows user name from passwd and resolves names through
// glibc, which reads the others.
func (c Config) etcFiles(resolver string) map[string]string {
	return map[string]string{
		"passwd":        wine.HostUser + ":x:0:0::/:/\n",
		"group":         "Administrators:x:0:\n",
		"hosts":         c.hosts(),
		"resolv.conf":   resolver,
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
	}
}

func (c Config) hosts() string {
	return fmt.Sprintf("127.0.0.1 localhost\n::1 localhost\n%s %s\n", c.Address, c.Name)
}

// writeEtc writes the host's /etc files. They are bound one by one, so a file that is there is written in place.
func (c Config) writeEtc() error {
	if err := os.MkdirAll(filepath.Join(c.Dir, "etc"), 0o755); err != nil {
		return err
	}
	for name, text := range c.etcFiles(resolvconf.Machine().String()) {
		if err := os.WriteFile(c.etc(name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// VolumesFolder is where on a host's C: volumes of the StorageClass local are, VolumesPath what the host calls it.
const (
	VolumesFolder = "var/lib/mullion/volumes"
	VolumesPath   = `C:\var\lib\mullion\volumes\`
)

// driveDirs are the folders on C: that upstream's programs expect, or that are mounted from.
func driveDirs() []string {
	return []string{
		"etc/kubernetes/pki", "var/lib/kubelet/pki", "var/log/pods", "var/log/containers", "var/lib/cni",
		"ProgramData/Mullion", VolumesFolder,
		"Program Files/containerd/cni/conf", "Windows/System32/drivers/etc",
	}
}

// writeDrive writes what the host needs on its C: before the kubelet is known.
func (c Config) writeDrive() error {
	dirs := driveDirs()
	if c.Network.NoCNI {
		// where others install one: podnet.InstalledConfDir, InstalledBinDir
		dirs = append(dirs, "etc/cni/net.d", "opt/cni/bin")
	}
	for _, dir := range dirs {
		path, err := wine.UnixPath(c.drive(), dir)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		resolvConf:                              resolvconf.Machine().String(),
		`C:\Windows\System32\drivers\etc\hosts`: c.hosts(),
	} {
		if err := c.writeFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return c.ensureToken()
}

// ensureToken makes the HNS token once; programs that hold it go on using it when the server restarts.
func (c Config) ensureToken() error {
	if data, err := os.ReadFile(c.TokenFile()); err == nil && len(data) > 0 {
		return nil
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	return c.writeFile(`C:\ProgramData\Mullion\hns.token`, []byte(hex.EncodeToString(secret)), 0o600)
}

// writeKubelet writes the kubelet's configuration and, until it has a certificate of its own, the bootstrap kubeconfig.
func (c Config) writeKubelet() error {
	config, err := c.KubeletYAML()
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(c.CAFile)
	if err != nil {
		return fmt.Errorf("read the cluster's authority: %w", err)
	}
	if err := c.dropForeignIdentity(ca); err != nil {
		return err
	}
	bootstrap, err := kubenode.BootstrapKubeconfig(c.BootstrapKubeconfig, c.Server, ca)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		path string
		data []byte
		mode fs.FileMode
	}{{kubeletConfig, config, 0o644}, {caFile, ca, 0o644}, {bootstrapKubeconfig, bootstrap, 0o600}} {
		if err := c.writeFile(f.path, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// dropForeignIdentity removes what the kubelet has of another cluster's authority: with it the kubelet would
// never ask for a new certificate.
func (c Config) dropForeignIdentity(ca []byte) error {
	path, err := wine.UnixPath(c.drive(), caFile)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(old, ca) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range []string{kubeletKubeconfig, kubeletCertDir} {
		path, err := wine.UnixPath(c.drive(), name)
		if err != nil {
			return err
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file on the host's C:, given by its Windows path, whole or not at all.
func (c Config) writeFile(winPath string, data []byte, mode fs.FileMode) error {
	path, err := wine.UnixPath(c.drive(), winPath)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(path, data, mode); err != nil {
		return fmt.Errorf("write file of host %q: %w", c.Name, err)
	}
	return nil
}
