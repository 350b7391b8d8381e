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

	if got := c.Endpoint(); got.IsValid() {
		t.Errorf("without bare Linux hosts their endpoint is %s", got)
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

// A bare Linux host is kept apart from where nodes believe what is in a packet.
func TestBareLinux(t *testing.T) {
	const nodes = "nodes:\n- {os: linux, bare: true, count: 2}\n"
	c, err := spec.Load(strings.NewReader(head + nodes))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Bare(), " "); got != "linux-1 linux-2" {
		t.Errorf("the bare hosts are %q", got)
	}

	if got := c.Endpoint().String(); got != "10.213.0.10" {
		t.Errorf("their endpoint is %s", got)
	}

	for text, want := range map[string]string{
		"networking: {mode: overlay}\n": "networking.mode: pods of the bare Linux host linux-1 could send into the overlay",
		"networking: {advertiseAddress: 192.0.2.1, apiServerAddress: 192.0.2.1, apiServerPort: 6443, podSubnet: 10.244.0.0/16}\n": "could send into the tunnel",
	} {
		_, err := spec.Load(strings.NewReader(head + text + nodes))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v, want %q", text, err, want)
		}
	}
}
