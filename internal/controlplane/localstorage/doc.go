// Package localstorage makes the volumes of the StorageClass "local": for each claim a folder on the node that the
// scheduler chose for the claim's first pod. Annotations, finalizer and events are those of
// sig-storage-lib-external-provisioner, on which Kubernetes' out-of-tree provisioners are built, so that a volume of
// either is one of the other. As with Rancher's local-path-provisioner, which k3s and kind have, a volume is of the
// kind hostPath and tied to its node. The package owns the folders; it does not mount them, and does not enforce the
// requested size.
//
//	claim ─▶ scheduler chooses a node ─▶ folder on that node ─▶ PersistentVolume ─▶ pod
package localstorage

import (
	"context"
	"log/slog"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// Provisioner is the provisioner's name in the StorageClass.
const Provisioner = "mullion.dev/local"

// Class is the name of the StorageClass, which is the default one.
const Class = "local"

// Place is the folder of a node's volumes. Each volume is a folder in it, named after its PersistentVolume.
type Place struct {
	// Root is a folder of this machine. Folder is a folder below it that exists while the node does. Links in it cannot
	// lead out of Root.
	Root, Folder string
	// Path is the path of Folder on the node, with a separator at its end.
	Path string
}

// Config is what the provisioner depends on.
type Config struct {
	// Client returns a client for the cluster's API, once it answers.
	Client func() (kubeclient.Interface, error)
	// Place returns where a node's volumes are, and false for a node that is not on this machine.
	Place func(node string) (Place, bool)
	// Elsewhere makes or removes the folder of a volume on another machine's node, and returns its path on the node, or
	// "" if the node, and with it the folder, no longer exists. nil: there are no other machines.
	Elsewhere func(ctx context.Context, node, volume string, remove bool) (path string, err error)
	// Log gets what is tried again; may be nil.
	Log *slog.Logger
}
