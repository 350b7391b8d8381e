package spec_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

// A node with a containerd of its own is a Windows node with a kubelet, whose pods a CNI plugin can connect; else the
// error says why not, and at which line.
func TestRuntime(t *testing.T) {
	c, err := spec.Load(strings.NewReader(head + "nodes:\n- {}\n- {runtime: containerd, windowsVersion: ltsc2019}\n- {os: linux}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Nodes[0].OwnContainerd() || !c.Nodes[1].OwnContainerd() || c.Nodes[2].OwnContainerd() {
		t.Errorf("%+v", c.Nodes)
	}

	const dual = "networking:\n  podSubnet: 10.244.0.0/16,fd00:244::/48\n" +
		"  serviceSubnet: 10.96.0.0/16,fd00:96::/112\n  underlaySubnet: 10.213.0.0/24,fd00:213::/64\n"
	for text, want := range map[string]string{
		"nodes: [{runtime: docker}]":                                 `nodes[0].runtime: "docker" is not "containerd"`,
		"nodes:\n- os: linux\n  runtime: containerd":                 "line 5: nodes[0].runtime: is for a Windows node",
		"nodes: [{bare: true, runtime: containerd}]":                 "a bare host has none",
		"nodes: [{windowsVersion: '1803', runtime: containerd}]":     "which 1803 does not have",
		"networking: {mode: nat}\nnodes: [{runtime: containerd}]":    "there is none for mode nat",
		dual + "nodes: [{runtime: containerd}]":                      "gives a pod one address",
		"kubernetesVersion: v1.25.3\nnodes: [{runtime: containerd}]": "before Kubernetes 1.26",
	} {
		_, err := spec.Load(strings.NewReader(head + text + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
