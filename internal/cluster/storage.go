package cluster

import (
	"context"
	"path/filepath"
	"strings"

	"k8s.io/client-go/kubernetes"

	"mullion.dev/mullion/internal/bootstrap"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/linuxnode"
	"mullion.dev/mullion/internal/localstorage"
	"mullion.dev/mullion/internal/wine"
	"mullion.dev/mullion/internal/winnode"
)

// localStorage is the provisioner with the StorageClass that names it.
type localStorage struct {
	*localstorage.Controller
	client func() (kubernetes.Interface, error)
}

// Start puts the StorageClass in place and starts the provisioner.
func (s *localStorage) Start(ctx context.Context) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	if err := bootstrap.ApplyStorageClass(ctx, client, localstorage.Class, localstorage.Provisioner); err != nil {
		return err
	}
	return s.Controller.Start(ctx)
}

// storage is the provisioner of volumes on the nodes' disks, unless the cluster is to do without.
func (c *composer) storage() error {
	if !*c.Spec.Addons.LocalStorage {
		return nil
	}
	client := func() (kubernetes.Interface, error) { return clientFor(c.Paths.AdminKubeconfig()) }
	c.add(&localStorage{localstorage.New(localstorage.Config{Client: client, Place: c.volumes}), client}, controlplane.Bootstrap, "api-forwarder")
	return nil
}

// volumes tells where a node's volumes are.
func (c *composer) volumes(node string) (localstorage.Place, bool) {
	for _, h := range c.Hosts {
		if h.Name == node {
			return localstorage.Place{Root: wine.Drive(HostPrefix(c.Paths, node)), Folder: winnode.VolumesFolder, Path: winnode.VolumesPath}, true
		}
	}
	for _, h := range c.LinuxHosts {
		if h.Name == node {
			root := c.linuxConfig(h).Host().Root
			return localstorage.Place{Root: root, Folder: filepath.Clean(strings.TrimPrefix(linuxnode.Volumes, "/")), Path: linuxnode.Volumes}, true
		}
	}
	return localstorage.Place{}, false
}
