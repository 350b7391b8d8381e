package enforcer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
)

// In a cluster that does not carry policies out, each one gets an event.
func TestNotice(t *testing.T) {
	old := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "old"}}
	client := fake.NewClientset(old)
	events, err := client.CoreV1().Events("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()

	n := &Notice{Client: func() (kubeclient.Interface, error) { return client, nil }, Why: "nothing does"}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	expect := func(name string) {
		t.Helper()
		select {
		case got := <-events.ResultChan():
			e, ok := got.Object.(*corev1.Event)
			if !ok || e.InvolvedObject.Name != name || e.InvolvedObject.Namespace != "shop" || e.Namespace != "shop" ||
				e.Reason != ReasonNotCarriedOut || e.Type != corev1.EventTypeWarning || e.Message != "nothing does" {
				t.Errorf("got %+v, want an event about %s", got.Object, name)
			}
		case <-t.Context().Done():
			t.Fatalf("no event about %s", name)
		}
	}

	expect("old")
	young := old.DeepCopy()
	young.Name = "young"
	policies := client.NetworkingV1().NetworkPolicies("shop")
	if _, err := policies.Create(t.Context(), young, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	expect("young")
	if err := n.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestIs(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	mirror := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: "1", Annotations: map[string]string{"kubernetes.io/config.hash": "2"},
	}}

	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		uid  string
		want bool
	}{
		{"the pod", pod, "1", true},
		{"another of that name", pod, "2", false},
		{"none", pod, "", false},
		{"a static pod's mirror", mirror, "2", true},
		{"another static pod's", mirror, "3", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := calledBy(tc.pod, tc.uid); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
