package spec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzLoad reads descriptions of clusters. One that is accepted is written and read again as the same, and its defaults
// can be filled in.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: a\nnodes: [{os: linux}, {windowsVersion: ltsc2022}]\n",
		"apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nnetworking: {mode: overlay, podSubnet: '10.244.0.0/16,fd00::/56'}\n",
		"kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes:\n- role: worker\n",
		"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nnetworking: {serviceSubnet: 10.96.0.0/12}\n",
		"apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nnodes: [{kubeletConfiguration: {maxPods: 1e2, evictionHard: {a: ~}}, kubeletExtraArgs: [{name: v}]}]\n",
		"a: &a [*a]", "nodes: [{labels: {a: b}, systemReserved: {memory: 1Gi}}]", "---\n---\n", "\xff", "{", "- -",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		c, err := Load(strings.NewReader(text))
		if err != nil {
			return
		}
		_ = c.WithDefaults()
		written, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("%q is read and cannot be written: %v", text, err)
		}

		again, err := Load(strings.NewReader(string(written)))
		if err != nil {
			t.Fatalf("%q is read, and written as %s: %v", text, written, err)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q, written as %s, is (-first +again):\n%s", text, written, diff)
		}
	})
}
