// Package podowner names what made a pod, in kubectl's words.
package podowner

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of names the object that made the pod: "deployment default/web". For a ReplicaSet of a Deployment that is the
// Deployment; for a pod that nothing made, the pod itself.
func Of(p *corev1.Pod) string {
	ref := metav1.GetControllerOf(p)
	if ref == nil {
		return "pod " + p.Namespace + "/" + p.Name
	}
	if hash := p.Labels["pod-template-hash"]; ref.Kind == "ReplicaSet" && hash != "" {
		return "deployment " + p.Namespace + "/" + strings.TrimSuffix(ref.Name, "-"+hash)
	}
	return strings.ToLower(ref.Kind) + " " + p.Namespace + "/" + ref.Name
}
