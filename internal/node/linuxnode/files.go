package linuxnode

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/resolvconf"
	"mullion.dev/mullion/internal/node/kubenode"
)

// etcFiles are what the host has in its /etc.
func (c Config) etcFiles(resolv string) map[string]string {
	return map[string]string{
		"hostname":      c.Name + "\n",
		"hosts":         fmt.Sprintf("127.0.0.1 localhost\n::1 localhost\n%s %s\n", c.Address, c.Name),
		"resolv.conf":   resolv,
		"passwd":        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"group":         "root:x:0:\nnogroup:x:65534:\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
		// By it nft writes "tcp" and not "6" when kube-proxy reads back what is there: else kube-proxy, started again,
		// takes every Service's entry for one of other keys and removes it.
		"protocols": "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6-icmp 58 IPv6-ICMP\nsctp 132 SCTP\n",
		// The same after every reboot, as machine-id(5) wants it; the kubelet reports it.
		"machine-id": fmt.Sprintf("%x\n",
			[16]byte(uuid.NewSHA1(uuid.NameSpaceURL, []byte("mullion:"+c.Marker+"/"+c.Name)))),
	}
}

// Volumes is where on a host volumes of the StorageClass local are.
const Volumes = "/var/lib/mullion/volumes/"

// writeHost writes what the host needs before any program of its runs.
func (c Config) writeHost() error {
	for name, text := range c.etcFiles(resolvconf.Machine().String()) {
		if err := c.writeFile("/etc/"+name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.Host().Path(Volumes), 0o755); err != nil {
		return err
	}
	if err := c.writeFile(containerdConfig, []byte(c.ContainerdTOML()), 0o600); err != nil {
		return err
	}
	return c.writeFile(cniTemplate, []byte(c.CNITemplate()), 0o644)
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
	old, err := os.ReadFile(c.Host().Path(caFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(old, ca) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(c.Host().Path(kubeletKubeconfig)), os.RemoveAll(c.Host().Path(kubeletCertDir)))
}

// writeProxy writes kube-proxy's kubeconfig.
func (c Config) writeProxy() error {
	if c.ProxyKubeconfig == "" {
		return nil
	}
	data, err := os.ReadFile(c.ProxyKubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig of kube-proxy: %w", err)
	}
	return c.writeFile(proxyKubeconfig, data, 0o600)
}

// writeFile replaces a file of the host, given by its path there, whole or not at all.
func (c Config) writeFile(path string, data []byte, mode fs.FileMode) error {
	on := c.Host().Path(path)
	if err := os.MkdirAll(filepath.Dir(on), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(on, data, mode); err != nil {
		return fmt.Errorf("write file of host %q: %w", c.Name, err)
	}
	return nil
}
