package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/localstorage"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
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
	for begin := time.Now(); ; { // a busy API server may lose a connection
		err := bootstrap.ApplyStorageClass(ctx, client, localstorage.Class, localstorage.Provisioner)
		if err == nil {
			return s.Controller.Start(ctx)
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(proc.Pace(200*time.Millisecond, time.Since(begin))):
		}
	}
}

// storage is the provisioner of volumes on the nodes' disks, unless the cluster is to do without.
func (c *composer) storage() error {
	if !*c.Spec.Addons.LocalStorage {
		return nil
	}
	client := func() (kubernetes.Interface, error) { return clientFor(c.Paths.AdminKubeconfig()) }
	config := localstorage.Config{Client: client, Place: c.volumes}
	if c.Spec.SeveralMachines() {
		config.Elsewhere = c.volumesElsewhere
	}
	c.add(&localStorage{localstorage.New(config), client}, controlplane.Bootstrap, "api-forwarder")
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
		return "", nil // its machine left, with all that was on it
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

// farVolumes is the component that keeps the volumes of a machine that joined, as the control plane's machine wants
// them.
type farVolumes struct {
	c      *composer
	cancel context.CancelFunc
	ended  <-chan struct{}
}

// Name is the component's name.
func (*farVolumes) Name() string { return "local-storage" }

// Start begins to follow what is wanted.
func (v *farVolumes) Start(ctx context.Context) error {
	client, err := v.c.access.client()
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	v.cancel = cancel
	v.ended, err = machines.VolumeKeeper{
		Part:   v.c.Spec.Join.Part,
		Nodes:  v.c.names(),
		Do:     v.do,
		Failed: func(err error) { v.c.Log.Error("keep volumes", "error", err) },
	}.Keep(run, client)
	return err
}

// do makes or removes the folder of one volume. Names are the provisioner's, and nothing else below the node's folder
// is touched.
func (v *farVolumes) do(node, volume string, task machines.Task) error {
	place, ok := v.c.volumes(node)
	if id, pvc := strings.CutPrefix(volume, "pvc-"); !ok || !pvc || uuid.Validate(id) != nil {
		return fmt.Errorf("volume %q of node %q is none of this machine's", volume, node)
	}
	switch task {
	case machines.Make:
		return place.Make(volume)
	case machines.Remove:
		return place.Remove(volume)
	}
	return fmt.Errorf("%q is nothing that is done with volumes", task)
}

// Stop ends that; volumes stay.
func (v *farVolumes) Stop(context.Context) error {
	if v.cancel != nil {
		v.cancel()
		if v.ended != nil {
			<-v.ended
		}
	}
	return nil
}

// volumes tells where a node's volumes are.
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
