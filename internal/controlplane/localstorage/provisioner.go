package localstorage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/beneath"
)

// request asks for a volume.
type request struct {
	StorageClass     *storagev1.StorageClass
	PVC              *corev1.PersistentVolumeClaim
	PVName           string
	SelectedNodeName string // "" if the scheduler has chosen none
}

// provisioner makes and removes volumes for the controller.
type provisioner struct {
	place     func(node string) (Place, bool)
	elsewhere func(ctx context.Context, node, volume string, remove bool) (path string, err error)
}

// elsewhereTimeout is how long another machine may take to make or remove a folder before the controller tries again.
const elsewhereTimeout = 15 * time.Second

// Provision makes the folder and describes the volume. It may be called again for the same volume.
func (p provisioner) Provision(ctx context.Context, o request) (*corev1.PersistentVolume, error) {
	if err := check(o); err != nil {
		return nil, err
	}
	at, err := p.make(ctx, o.SelectedNodeName, o.PVName)
	if err != nil {
		return nil, err
	}

	kind := corev1.HostPathDirectoryOrCreate
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage],
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: at, Type: &kind},
			},
			NodeAffinity: affinity(o.SelectedNodeName),
		},
	}, nil
}

// check returns an error if such a volume cannot be what the claim asks for.
func check(o request) error {
	switch {
	case o.SelectedNodeName == "":
		return fmt.Errorf("no node has been chosen: the StorageClass %q needs volumeBindingMode WaitForFirstConsumer",
			o.StorageClass.Name)
	case o.PVC.Spec.VolumeMode != nil && *o.PVC.Spec.VolumeMode == corev1.PersistentVolumeBlock:
		return fmt.Errorf("%s does not support block volume provisioning: a volume is a folder", Provisioner)
	case o.PVC.Spec.Selector != nil:
		return errors.New("spec.selector is not supported: each claim gets a new volume")
	case len(o.StorageClass.Parameters) > 0:
		return fmt.Errorf("the StorageClass %q has parameters; this provisioner knows none", o.StorageClass.Name)
	}

	for _, mode := range o.PVC.Spec.AccessModes {
		if !slices.Contains([]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod}, mode) {
			return fmt.Errorf(
				"access mode %s is not supported: a local volume is on one node; ask for ReadWriteOnce or ReadWriteOncePod", mode)
		}
	}

	return nil
}

// Delete removes the folder of a volume; one that is gone is no error.
func (p provisioner) Delete(ctx context.Context, volume *corev1.PersistentVolume) error {
	node, err := nodeOf(volume)
	if err != nil {
		return err
	}

	place, ok := p.place(node)
	if !ok {
		return p.removeElsewhere(ctx, node, volume)
	}
	if source := volume.Spec.HostPath; source == nil || source.Path != place.Path+volume.Name {
		return fmt.Errorf("remove volume %q: it is not where this provisioner puts volumes of node %q", volume.Name,
			node)
	}

	return place.Remove(volume.Name)
}

// make makes a volume's folder on its node, and returns its path there.
func (p provisioner) make(ctx context.Context, node, volume string) (string, error) {
	if place, ok := p.place(node); ok {
		return place.Path + volume, place.Make(volume)
	}
	if p.elsewhere == nil {
		return "", fmt.Errorf(
			"node %q is not a node of this machine: make a PersistentVolume of the kind local there, by hand", node)
	}

	ctx, cancel := context.WithTimeout(ctx, elsewhereTimeout)
	defer cancel()
	at, err := p.elsewhere(ctx, node, volume, false)
	if err == nil && at == "" {
		err = fmt.Errorf("make volume %q: node %q is no more", volume, node)
	}
	return at, err
}

// removeElsewhere removes the folder of a volume on another machine, which knows only its own volumes' names.
func (p provisioner) removeElsewhere(ctx context.Context, node string, volume *corev1.PersistentVolume) error {
	if p.elsewhere == nil {
		return fmt.Errorf("remove volume %q: node %q is not a node of this machine", volume.Name, node)
	}
	ctx, cancel := context.WithTimeout(ctx, elsewhereTimeout)
	defer cancel()
	_, err := p.elsewhere(ctx, node, volume.Name, true)
	return err
}

// affinity ties a volume to its node.
func affinity(node string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key:      corev1.LabelHostname,
			Operator: corev1.NodeSelectorOpIn,
			Values:   []string{node},
		}},
	}}}}
}

// nodeOf returns the node that affinity tied a volume to.
func nodeOf(volume *corev1.PersistentVolume) (string, error) {
	if a := volume.Spec.NodeAffinity; a != nil && a.Required != nil {
		for _, term := range a.Required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				if e.Key == corev1.LabelHostname && e.Operator == corev1.NodeSelectorOpIn && len(e.Values) == 1 {
					return e.Values[0], nil
				}
			}
		}
	}
	return "", fmt.Errorf("remove volume %q: it is tied to no node", volume.Name)
}

// Make makes a volume's folder. Every user may write to it, because the pod's user is not known here.
func (p Place) Make(volume string) error {
	root, err := p.open()
	if err != nil {
		return err
	}
	defer root.Close()

	name := path.Join(p.Folder, volume)
	if err := root.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make folder of volume %q: %w", volume, err)
	}
	if err := root.Chmod(name, 0o777); err != nil { // whatever the umask is
		return fmt.Errorf("open folder of volume %q: %w", volume, err)
	}

	return nil
}

// Remove removes a volume's folder; one that is gone is no error.
func (p Place) Remove(volume string) error {
	root, err := p.open()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := beneath.RemoveAll(root, path.Join(p.Folder, volume)); err != nil {
		return fmt.Errorf("remove folder of volume %q: %w", volume, err)
	}
	return nil
}

// open opens the place, if the node's disk is there: Folder is on it.
func (p Place) open() (*os.Root, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, fmt.Errorf("open the node's disk: %w", err)
	}
	if _, err := root.Stat(p.Folder); err != nil {
		return nil, errors.Join(fmt.Errorf("open the node's folder of volumes: %w", err), root.Close())
	}
	return root, nil
}
