package fault_test

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/diagnose"
	"mullion.dev/mullion/internal/diagnose/fault"
)

var values = fault.Values{
	WindowsNode:  "win-1",
	LinuxNode:    "linux-1",
	WindowsImage: "w:v1",
	LinuxImage:   "l:v1",
}

func nodes() []*corev1.Node {
	return []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "win-1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "linux-1"}},
	}
}

func cluster() *fake.Clientset {
	c := fake.NewClientset()
	for _, n := range nodes() {
		_ = c.Tracker().Add(n)
	}
	return c
}

func names() []string {
	var all []string
	for _, f := range fault.All() {
		all = append(all, f.ID)
	}
	slices.Sort(all)
	return all
}

// TestAll: every fault is a probe's, says what it does, can be made, is known afterwards, and leaves nothing.
func TestAll(t *testing.T) {
	probes := map[string]bool{}
	for _, p := range diagnose.Probes() {
		probes[p.ID] = true
	}

	for _, f := range fault.All() {
		if !probes[f.ID] || f.Does == "" || f.Title == "" {
			t.Errorf("%+v", f)
		}
	}

	c := cluster()
	if err := fault.Make(t.Context(), c, names(), values); err != nil {
		t.Fatal(err)
	}
	if made, err := fault.Made(t.Context(), c); err != nil || !slices.Equal(made, names()) {
		t.Errorf("made %v, %v", made, err)
	}

	if err := fault.Make(t.Context(), c, names(), values); err != nil { // a second time changes nothing
		t.Error(err)
	}
	one := []string{"pod-pings"}
	if undone, err := fault.Undo(t.Context(), c, one); err != nil || !slices.Equal(undone, one) {
		t.Errorf("undone %v, %v", undone, err)
	}

	made, err := fault.Made(t.Context(), c)
	if err != nil || slices.Contains(made, "pod-pings") || len(made) != len(names())-1 {
		t.Errorf("made %v, %v", made, err)
	}
	if _, err := fault.Undo(t.Context(), c, nil); err != nil {
		t.Error(err)
	}

	if made, err := fault.Made(t.Context(), c); err != nil || len(made) > 0 {
		t.Errorf("left %v, %v", made, err)
	}
	if _, err := c.CoreV1().Namespaces().Get(t.Context(), fault.Namespace, metav1.GetOptions{}); err == nil {
		t.Error("the namespace is left")
	}

	n, err := c.CoreV1().Nodes().Get(t.Context(), "win-1", metav1.GetOptions{})
	if err != nil || len(n.Annotations) > 0 {
		t.Errorf("annotations %v, %v", n.Annotations, err)
	}
}

// TestOthersObjectsStay: an object of flannel's own is neither replaced nor removed.
func TestOthersObjectsStay(t *testing.T) {
	c := cluster()
	own := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-flannel-windows-cfg", Namespace: "kube-system"},
		Data:       map[string]string{"cni-conf.json": "theirs"},
	}

	_ = c.Tracker().Add(own)
	err := fault.Make(t.Context(), c, []string{"outbound-exceptions"}, values)
	if _, taken := errors.AsType[*fault.TakenError](err); !taken {
		t.Errorf("%v", err)
	}
	if _, err := fault.Undo(t.Context(), c, nil); err != nil {
		t.Error(err)
	}

	left, err := c.CoreV1().ConfigMaps("kube-system").Get(t.Context(), own.Name, metav1.GetOptions{})
	if err != nil || left.Data["cni-conf.json"] != "theirs" {
		t.Errorf("%v, %v", left, err)
	}
}

// TestJudgedFirst: nothing is made if one of the faults cannot be.
func TestJudgedFirst(t *testing.T) {
	c := cluster()
	for name, tt := range map[string]struct {
		ids    []string
		values fault.Values
	}{
		"unknown":     {[]string{"pod-pings", "nonsense"}, values},
		"no Linux":    {[]string{"pod-pings", "pod-wrong-system"}, fault.Values{WindowsNode: "win-1"}},
		"not Windows": {[]string{"pod-pings"}, fault.Values{LinuxNode: "linux-1"}},
	} {
		if err := fault.Make(t.Context(), c, tt.ids, tt.values); err == nil {
			t.Errorf("%s: made", name)
		}
		if made, err := fault.Made(t.Context(), c); err != nil || len(made) > 0 {
			t.Errorf("%s: made %v, %v", name, made, err)
		}
	}

	if _, err := fault.Undo(t.Context(), c, []string{"nonsense"}); err == nil {
		t.Error("nonsense is undone")
	}
}
