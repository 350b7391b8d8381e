//go:build kernel

package enforcer

import (
	"log/slog"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/policy"
	"mullion.dev/mullion/internal/network/policy/cover"
)

func pod(name, node, ip string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": name},
	}}
	p.Spec.NodeName = node
	if ip != "" {
		p.Status.PodIPs = []corev1.PodIP{{IP: ip}}
	}
	return p
}

// table returns the text of the namespace's table.
func table(t *testing.T, ns string) string {
	t.Helper()
	var out []byte
	err := netns.Do(ns, func() error {
		var err error
		out, err = exec.Command("nft", "list", "table", "inet", policy.Table).CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func eventually(t *testing.T, ns string, what func(text string) bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !what(table(t, ns)) {
		if time.Now().After(deadline) {
			t.Fatalf("the table is\n%s", table(t, ns))
		}
		<-time.After(10 * time.Millisecond)
	}
}

// A pod's policies are carried out when the answer about its addresses comes, before the API tells them; a new process
// knows them from the table.
func TestCover(t *testing.T) {
	ns := netnstest.New(t, "node")
	socket := filepath.Join(t.TempDir(), "policy.sock")
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "deny"}}
	client := fake.NewClientset(deny, pod("web", "one", ""), pod("far", "two", "10.0.9.9"))
	start := func() *Enforcer {
		e := New(Config{
			Client: func() (kubeclient.Interface, error) { return client, nil },
			Nodes:  []Node{{"one", ns, socket}},
			Log:    slog.New(slog.DiscardHandler),
		})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}

		return e
	}

	e := start()
	if text := table(t, ns); strings.Contains(text, "10.0.") {
		t.Errorf("the table is\n%s", text)
	}

	of := cover.Pod{
		Namespace: "default", Name: "web", UID: "uid-web", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")},
	}
	if err := cover.Ask(t.Context(), socket, of); err != nil {
		t.Fatal(err)
	}
	if text := table(t, ns); !strings.Contains(text, `10.0.0.1 comment "uid-web" : jump `) {
		t.Errorf("the pod is not covered:\n%s", text)
	}

	for _, bad := range []struct {
		name, uid string
		addrs     []netip.Addr
		want      string
	}{
		{"far", "uid-far", of.Addresses, "is on node"},
		{"web", "uid-other", of.Addresses, "has the UID"},
		{"web", "uid-web", nil, "has a namespace, "},
	} {
		pod := cover.Pod{
			Namespace: "default",
			Name:      bad.name,
			UID:       bad.uid,
			Addresses: bad.addrs,
		}
		if err := cover.Ask(t.Context(), socket, pod); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%+v: %v, want %q", pod, err, bad.want)
		}
	}

	unknown := cover.Pod{
		Namespace: "default",
		Name:      "crictl",
		UID:       "x",
		Addresses: of.Addresses[:1],
	}
	if err := cover.Ask(t.Context(), socket, unknown); err != nil {
		t.Errorf("a pod that the API does not know: %v", err)
	}

	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := table(t, ns); !strings.Contains(text, "10.0.0.1 ") {
		t.Errorf("without the process the table is\n%s", text)
	}

	e = start()
	if text := table(t, ns); !strings.Contains(text, "10.0.0.1 ") {
		t.Errorf("the new process forgets the pod:\n%s", text)
	}
	if err := e.Probe(t.Context()); err != nil {
		t.Error(err)
	}

	err := netns.Do(ns, func() error { return exec.Command("nft", "flush", "ruleset").Run() })
	if err != nil {
		t.Fatal(err)
	}

	deadline := time.Now().Add(3 * repairEvery)
	for repaired := false; !repaired; {
		_ = netns.Do(ns, func() error {
			out, _ := exec.Command("nft", "list", "ruleset").Output()
			repaired = strings.Contains(string(out), "10.0.0.1 ")
			return nil
		})
		if time.Now().After(deadline) {
			t.Fatal("the table is not repaired")
		}
		<-time.After(50 * time.Millisecond)
	}

	ctx := t.Context()
	if err := client.NetworkingV1().NetworkPolicies("default").Delete(ctx, "deny", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	eventually(t, ns, func(text string) bool {
		return !strings.Contains(text, "10.0.0.1") && strings.Contains(text, "hook forward")
	})
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
