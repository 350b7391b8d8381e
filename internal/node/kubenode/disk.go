package kubenode

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// Room on the disk below which a kubelet gives its node the condition DiskPressure, and below which it evicts at once.
// They are amounts, not upstream's 10% and 15%: the disk is the machine's, and a large one that is 90% full has room
// for years. The lower one leaves etcd what it needs: its log grows in files of 64 MiB.
const (
	diskPressure = "256Mi"
	diskFull     = "100Mi"
)

// diskThresholds has the kubelet evict by the room on the machine's disk. Below the first threshold nothing is placed
// on the node any more, and a person has two minutes to make room before pods have to go.
func diskThresholds(k *kubeletv1beta1.KubeletConfiguration) {
	never := int32(100)
	// the kubelet removes images only under disk pressure, and never those that cannot be pulled again: they are pinned
	k.ImageGCHighThresholdPercent = &never
	k.EvictionHard = map[string]string{"nodefs.available": diskFull, "imagefs.available": diskFull}
	k.EvictionSoft = map[string]string{"nodefs.available": diskPressure, "imagefs.available": diskPressure}
	k.EvictionSoftGracePeriod = map[string]string{"nodefs.available": "2m", "imagefs.available": "2m"}
	k.EvictionMaxPodGracePeriod = 30
	k.EvictionPressureTransitionPeriod = metav1.Duration{Duration: time.Minute}
}
