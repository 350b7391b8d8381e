package spec_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

// A bare host is a node of the description without a kubelet, so fields for the kubelet are refused, with their lines.
func TestBare(t *testing.T) {
	c, err := spec.Load(strings.NewReader(head + "nodes:\n- {}\n- {bare: true, count: 2, processors: {sockets: 2}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Bare(), " "); got != "win-2 win-3" {
		t.Errorf("the bare hosts are %q", got)
	}
	for field, value := range map[string]string{
		"kubernetesVersion": "v1.36.3", "taint": "true", "labels": "{a: b}", "systemReserved": "{cpu: 1}",
		"kubeReserved": "{cpu: 1}", "kubeletConfiguration": "{maxPods: 3}",
		"kubeletExtraArgs": "[{name: v, value: '4'}]", "kubeProxyExtraArgs": "[{name: v, value: '4'}]",
	} {
		_, err := spec.Load(strings.NewReader(head + "nodes:\n- bare: true\n  " + field + ": " + value + "\n"))
		want := "line 5: nodes[0]." + field + ": is for a node with a kubelet, and a bare host has none"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", field, err, want)
		}
	}
}
