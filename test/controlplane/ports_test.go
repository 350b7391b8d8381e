//go:build kernel

package controlplane_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// testOwnPorts creates pods and Services that would take a kubelet's port from it.
func testOwnPorts(t *testing.T, admin *kubeclient.Client) {
	t.Helper()
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	pod := func(change func(*corev1.PodSpec)) error {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "between"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "pause"}}},
		}
		change(&p.Spec)
		_, err := admin.CoreV1().Pods("default").Create(t.Context(), p, dry)
		return err
	}

	on := func(port int32) []corev1.ContainerPort {
		return []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: port, HostPort: port}}
	}

	const refused = "cannot be a port of the node"
	eventually(t, "the policy", func() error {
		err := pod(func(s *corev1.PodSpec) { s.Containers[0].Ports = on(10250) })
		if err == nil || !strings.Contains(err.Error(), refused) {
			return fmt.Errorf("hostPort 10250: %w", err)
		}
		return nil
	})

	for _, tt := range []struct {
		name   string
		change func(*corev1.PodSpec)
		want   bool
	}{
		{"no ports", func(*corev1.PodSpec) {}, true},
		{"another port", func(s *corev1.PodSpec) { s.Containers[0].Ports = on(10251) }, true},
		{"inside only", func(s *corev1.PodSpec) {
			s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 10250}}
		}, true},
		{"an init container's", func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: "i", Image: "pause", Ports: on(10256)}}
		}, false},
		{"a second container's", func(s *corev1.PodSpec) {
			s.Containers = append(s.Containers, corev1.Container{
				Name:  "d",
				Image: "pause",
				Ports: on(10256),
			})
		}, false},
		{"on the host's network", func(s *corev1.PodSpec) {
			s.HostNetwork, s.Containers[0].Ports = true, on(10250)
		}, true},
	} {
		err := pod(tt.change)
		if got := err == nil; got != tt.want || (err != nil && !strings.Contains(err.Error(), refused)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}

	service := func(port int32) error {
		_, err := admin.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "between"},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: port}},
			},
		}, dry)
		return err
	}

	for _, port := range []int32{0, 30080} {
		if err := service(port); err != nil {
			t.Errorf("node port %d: %v", port, err)
		}
	}

	if err := service(10250); err == nil {
		t.Error("node port 10250 is permitted")
	}
}
