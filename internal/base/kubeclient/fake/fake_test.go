package fake_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/base/kubeclient/kubeclienttest"
)

func TestSuite(t *testing.T) { kubeclienttest.Suite(t, fake.NewClientset()) }

// A test may refuse a request, and see what was asked.
func TestReactors(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	client.PrependReactor("delete", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("it stays")
	})
	nodes := client.CoreV1().Nodes()
	if err := nodes.Delete(t.Context(), "n", metav1.DeleteOptions{}); err == nil || err.Error() != "it stays" {
		t.Errorf("got %v", err)
	}

	if got, err := nodes.Get(t.Context(), "n", metav1.GetOptions{}); err != nil || got.Name != "n" {
		t.Errorf("got %v, %v", got, err)
	}

	actions := client.Actions()
	if len(actions) != 2 || !actions[0].Matches("delete", "nodes") || !actions[1].Matches("get", "nodes") {
		t.Errorf("it was asked %v", actions)
	}
	text, err := client.CoreV1().Pods("p").GetLogs("p", &corev1.PodLogOptions{Container: "c"}).DoRaw(t.Context())
	if err != nil || string(text) != fake.Logs {
		t.Errorf("the log is %q, %v", text, err)
	}
}

// Objects that the API cannot have are told by the first request.
func TestUnknownObject(t *testing.T) {
	client := fake.NewClientset(&metav1.Status{})
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("an API was made of what is no object")
	}
}
