package parts

import (
	"errors"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
)

const backend = "flannel.alpha.coreos.com/backend-type"

// flannels returns a node that flannel has, by that backend.
func flannels(name, kind string) *corev1.Node {
	n := nodeAt(name, "192.0.2.50")
	n.Annotations = map[string]string{backend: kind}
	return n
}

// foreign returns the network of a machine with the nodes ours-1 and ours-2, in a cluster with these nodes. as gets the
// names of the nodes whose clients are asked for.
func foreign(t *testing.T, nodes ...runtime.Object) (f *ForeignNetwork, client *fake.Clientset, as *[]string,
	j *journal,
) {
	t.Helper()
	client = fake.NewClientset(nodes...)
	j = &journal{}
	as = &[]string{}
	var mu sync.Mutex
	return &ForeignNetwork{
		Own: []string{"ours-1", "ours-2"},
		Log: j.log(),
		Client: func(node string) (kubeclient.Interface, error) {
			mu.Lock()
			defer mu.Unlock()
			*as = append(*as, node)
			return client, nil
		},
	}, client, as, j
}

// patched returns how often a node was written to.
func patched(client *fake.Clientset, node string) int {
	n := 0
	for _, a := range client.Actions() {
		if p, ok := a.(clienttesting.PatchAction); ok && p.GetName() == node {
			n++
		}
	}
	return n
}

// As soon as a node of flannel's is seen, flannel is told of this machine's nodes: whichever node comes first, once,
// and by each node itself.
func TestFlannelIsTold(t *testing.T) {
	one, two := nodeAt("ours-1", "192.0.2.1"), nodeAt("ours-2", "192.0.2.2")
	f, client, as, j := foreign(t, one, two)
	f.Seen(t.Context(), one)
	if len(client.Actions()) > 0 {
		t.Errorf("in a cluster without flannel: %v", client.Actions())
	}

	f.Seen(t.Context(), flannels("theirs", "host-gw"))
	f.Seen(t.Context(), two)
	for name, address := range map[string]string{"ours-1": "192.0.2.1", "ours-2": "192.0.2.2"} {
		got, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Annotations[backend] != "host-gw" || got.Annotations["flannel.alpha.coreos.com/public-ip"] != address {
			t.Errorf("%s: %v", name, got.Annotations)
		}
		f.Seen(t.Context(), got)
	}

	f.Seen(t.Context(), flannels("theirs-2", "host-gw"))
	if patched(client, "ours-1") != 1 || patched(client, "ours-2") != 1 || !slices.Equal(*as, []string{"ours-1", "ours-2"}) {
		t.Errorf("it is told %d and %d times, by %q", patched(client, "ours-1"), patched(client, "ours-2"), *as)
	}
	if j.count("") > 0 {
		t.Errorf("the log is %s", &j.text)
	}

	f.Seen(t.Context(), one) // somebody took the annotations off
	if patched(client, "ours-1") != 2 {
		t.Error("it is not told again")
	}
}

// Flannel is told of a node once the node has an address.
func TestFlannelIsToldOfAddress(t *testing.T) {
	f, client, _, _ := foreign(t, nodeAt("ours-1", ""))
	f.Seen(t.Context(), flannels("theirs", "host-gw"))
	f.Seen(t.Context(), nodeAt("ours-1", ""))
	if patched(client, "ours-1") != 0 {
		t.Error("it is told of a node without an address")
	}
	f.Seen(t.Context(), nodeAt("ours-1", "192.0.2.1"))
	if patched(client, "ours-1") != 1 {
		t.Error("it is not told of the address")
	}
}

// If flannel cannot be told of a node, that is logged, does not affect other nodes, and is tried again when the next
// node is seen.
func TestFlannelIsToldAgain(t *testing.T) {
	one, two := nodeAt("ours-1", "192.0.2.1"), nodeAt("ours-2", "192.0.2.2")
	f, client, _, j := foreign(t, one, two)
	refused := 0
	client.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.(clienttesting.PatchAction).GetName() == "ours-1" && refused == 0 {
			refused++
			return true, nil, apierrors.NewForbidden(corev1.Resource("nodes"), "ours-1", errors.New("no right"))
		}
		return false, nil, nil
	})
	f.Seen(t.Context(), one)
	f.Seen(t.Context(), two)
	f.Seen(t.Context(), flannels("theirs", "host-gw"))
	if j.count("node=ours-1") != 1 || j.count("no right") != 1 || patched(client, "ours-2") != 1 {
		t.Errorf("the log is %s, and ours-2 is told of %d times", &j.text, patched(client, "ours-2"))
	}

	f.Seen(t.Context(), flannels("theirs", "host-gw"))
	if patched(client, "ours-1") != 2 || patched(client, "ours-2") != 1 || j.count("") != 1 {
		t.Errorf("then ours-1 is told of %d times, and the log is %s", patched(client, "ours-1"), &j.text)
	}
	f.Client = func(string) (kubeclient.Interface, error) { return never() }
	f.Seen(t.Context(), one)
	if j.count(errNoClient.Error()) != 1 {
		t.Errorf("without a certificate the log is %s", &j.text)
	}
}

// A network that pods on this machine cannot reach is logged once for each node, and flannel is told nothing.
func TestForeignNetworkWarnsOnce(t *testing.T) {
	own := nodeAt("ours-1", "192.0.2.1")
	f, client, _, j := foreign(t, own)
	for range 3 {
		f.Seen(t.Context(), own)
		f.Seen(t.Context(), flannels("theirs-1", "vxlan"))
	}
	if j.count("") != 1 || j.count("theirs-1") != 1 || j.count("will not reach each other") != 1 {
		t.Errorf("the log is %s", &j.text)
	}
	f.Seen(t.Context(), flannels("theirs-2", "vxlan"))
	if j.count("theirs-2") != 1 || len(client.Actions()) > 0 {
		t.Errorf("the log is %s, and it did %v", &j.text, client.Actions())
	}
}
