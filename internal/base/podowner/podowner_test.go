package podowner_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/podowner"
)

func TestOf(t *testing.T) {
	yes := true
	for name, tt := range map[string]struct {
		kind, owner, hash, want string
	}{
		"nothing":          {want: "pod ns/p"},
		"deployment":       {"ReplicaSet", "web-5d9c", "5d9c", "deployment ns/web"},
		"a ReplicaSet":     {"ReplicaSet", "web", "", "replicaset ns/web"},
		"a DaemonSet":      {"DaemonSet", "agent", "", "daemonset ns/agent"},
		"a hash elsewhere": {"ReplicaSet", "web", "5d9c", "deployment ns/web"},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns",
			Name:      "p",
			Labels:    map[string]string{},
		}}
		if tt.kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: tt.kind, Name: tt.owner, Controller: &yes}}
		}

		if tt.hash != "" {
			p.Labels["pod-template-hash"] = tt.hash
		}
		if got := podowner.Of(p); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
