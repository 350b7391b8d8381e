package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// defaultClass marks the StorageClass of claims that name none:
// https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// ApplyStorageClass puts the default StorageClass in place: volumes are made on the node of a claim's first pod, and
// are deleted with the claim. If an administrator makes another class the default and removes the mark from this one,
// it stays removed.
func ApplyStorageClass(ctx context.Context, client kubeclient.Interface, name, provisioner string) error {
	reclaim := corev1.PersistentVolumeReclaimDelete
	binding := storagev1.VolumeBindingWaitForFirstConsumer
	expansion := false
	class := &storagev1.StorageClass{
		ObjectMeta:           named(name, ""),
		Provisioner:          provisioner,
		ReclaimPolicy:        &reclaim,
		VolumeBindingMode:    &binding,
		AllowVolumeExpansion: &expansion,
	}

	have, err := client.StorageV1().StorageClasses().Get(ctx, name, metav1.GetOptions{})
	if err != nil || have.Annotations[defaultClass] != "false" {
		class.Annotations = map[string]string{defaultClass: "true"}
	}

	if _, err := client.StorageV1().StorageClasses().Apply(ctx, class, metav1.ApplyOptions{
		FieldManager: fieldManager,
		Force:        true,
	}); err != nil {
		return fmt.Errorf("apply storage class %q: %w", name, err)
	}

	return nil
}
