// Package localstorage makes the volumes of the StorageClass "local": for a claim a folder on the node that the
// scheduler chose for its first pod. The controller is the one that Kubernetes' out-of-tree provisioners are built on
// (sig-storage-lib-external-provisioner), and what it makes is what Rancher's local-path-provisioner makes, which k3s
// and kind have: a volume of the kind hostPath that is tied to its node. This package is its provisioner. It owns the
// folders; it does not mount them, and does not hold them to the size that was asked for.
//
//	claim ─▶ scheduler chooses a node ─▶ folder on that node ─▶ PersistentVolume ─▶ pod
package localstorage

import (
	"context"

	"k8s.io/client-go/kubernetes"
)

// Provisioner is what the StorageClass names.
const Provisioner = "mullion.dev/local"

// Class is the StorageClass, which is the default one.
const Class = "local"

// Place is where a node's volumes are: each is a folder there, named as its PersistentVolume.
type Place struct {
	// Root is a folder of this machine, Folder one below it that is there while the node is: links in it lead nowhere
	// outside of Root.
	Root, Folder string
	// Path is what the node calls Folder, with a separator at its end.
	Path string
}

// Config is what the provisioner depends on.
type Config struct {
	// Client gives a client for the cluster's API, once it answers.
	Client func() (kubernetes.Interface, error)
	// Place tells where a node's volumes are, false for a node that is not of this machine.
	Place func(node string) (Place, bool)
	// Elsewhere makes or removes the folder of a volume of a node that is not of this machine, and says what the node
	// calls it; "": the node is no more, and the folder neither. nil: there are no such nodes.
	Elsewhere func(ctx context.Context, node, volume string, remove bool) (path string, err error)
}
