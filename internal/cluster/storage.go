package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/localstorage"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

// storage adds the provisioner of volumes on the nodes' disks, unless the specification turns it off.
func (c *composer) storage() error {
	if !*c.Spec.Addons.LocalStorage {
		return nil
	}
	client := func() (kubeclient.Interface, error) { return clientFor(c.Paths.AdminKubeconfig()) }
	config := localstorage.Config{
		Client: client,
		Place:  c.volumes,
		Log:    c.log,
	}

	if c.Spec.SeveralMachines() {
		config.Elsewhere = c.volumesElsewhere
	}
	provisioner := &parts.LocalStorage{Controller: localstorage.New(config), Client: client}
	c.addOfNodes(provisioner, component.Sole(controlplane.Bootstrap), parts.APIForwarder())
	return nil
}

// volumesElsewhere has another machine make or remove a volume's folder.
func (c *composer) volumesElsewhere(ctx context.Context, node, volume string, remove bool) (string, error) {
	client, err := clientFor(c.Paths.AdminKubeconfig())
	if err != nil {
		return "", err
	}
	known, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && remove {
		return "", nil // its machine has left the cluster, and the volume with it
	}

	if err != nil {
		return "", fmt.Errorf("read node %q of volume %q: %w", node, volume, err)
	}
	folder, task := linuxnode.Volumes, machines.Make
	if known.Labels[corev1.LabelOSStable] == spec.Windows {
		folder = winnode.VolumesPath
	}

	if remove {
		task = machines.Remove
	}
	return folder + volume, machines.Volume(ctx, client, node, volume, task)
}

// volumes returns where a node's volumes are.
func (c *composer) volumes(node string) (localstorage.Place, bool) {
	for _, h := range c.Hosts {
		if h.Name == node {
			return localstorage.Place{
				Root:   wine.Drive(HostPrefix(c.Paths, node)),
				Folder: winnode.VolumesFolder,
				Path:   winnode.VolumesPath,
			}, true
		}
	}

	for _, h := range c.LinuxHosts {
		if h.Name == node {
			root := c.linuxConfig(h).Host().Root
			return localstorage.Place{
				Root:   root,
				Folder: filepath.Clean(strings.TrimPrefix(linuxnode.Volumes, "/")),
				Path:   linuxnode.Volumes,
			}, true
		}
	}

	return localstorage.Place{}, false
}
