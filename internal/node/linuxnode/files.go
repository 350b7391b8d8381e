package linuxnode

import (
	"context"
	"fmt"

	"mullion.dev/mullion/internal/node/registries"
)

// etcFiles returns what the host has in its /etc.
func (c Config) etcFiles() map[string]string {
	files := c.Etc()
	files["hostname"] = c.Name + "\n"
	files["passwd"] = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
	files["group"] = "root:x:0:\nnogroup:x:65534:\n"
	// Because of this file nft writes "tcp" and not "6" when kube-proxy reads its tables back. Otherwise a restarted
	// kube-proxy does not recognize the entries of its Services and removes them.
	files["protocols"] = "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6-icmp 58 IPv6-ICMP\nsctp 132 SCTP\n"
	// The same after every reboot, as machine-id(5) wants it; the kubelet reports it.
	files["machine-id"] = fmt.Sprintf("%x\n", [16]byte(c.UUID()))
	return files
}

// Volumes is where on a host volumes of the StorageClass local are.
const Volumes = "/var/lib/mullion/volumes/"

// writeHost writes what the host needs before any program of its runs.
func (c Config) writeHost(ctx context.Context) error {
	node := c.node()
	for name, text := range c.etcFiles() {
		if err := node.WriteFile("/etc/"+name, []byte(text), 0o644); err != nil {
			return err
		}
	}

	if err := node.MkdirAll(Volumes, 0o755); err != nil {
		return err
	}
	if err := node.WriteFile(containerdConfig, []byte(c.ContainerdTOML()), 0o600); err != nil {
		return err
	}

	files, err := registries.Files(c.Registries)
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := node.WriteFile(registriesDir+"/"+name, data, 0o644); err != nil {
			return err
		}
	}

	spec, err := containerSpec(ctx)
	if err != nil {
		return err
	}
	if err := node.WriteFile(baseSpec, spec, 0o600); err != nil {
		return err
	}

	if c.Bare {
		return node.WriteFile(servicesDir+"/systemctl",
			[]byte("#!/bin/sh\nexec "+programsDir+"/mullion-node systemctl \"$@\"\n"), 0o755)
	}
	return node.WriteFile(cniTemplate, []byte(c.CNITemplate()), 0o644)
}
