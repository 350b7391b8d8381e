package kubenode

import (
	"strings"
	"testing"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"mullion.dev/mullion/internal/spec"
)

// A field that the kubelet does not know, or a value of another type, is told before anything starts.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fields map[string]any
		flags  []spec.Arg
		proxy  bool
		want   string // what the error must contain, "" for none
	}{
		{name: "none"},
		{name: "known", fields: map[string]any{"maxPods": 20, "shutdownGracePeriod": "10s"}},
		{name: "unknown", fields: map[string]any{"maxPodz": 20}, want: `kubeletConfiguration of node "n"`},
		{name: "type", fields: map[string]any{"maxPods": "many"}, want: "maxPods"},
		{name: "flags", flags: []spec.Arg{{Name: "v", Value: "4"}}, proxy: true},
		{name: "no-proxy", flags: []spec.Arg{{Name: "v", Value: "4"}}, want: "runs no kube-proxy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := Node{
				Config: Config{
					Name:               "n",
					Kubelet:            tt.fields,
					KubeProxyExtraArgs: tt.flags,
				},
				Tweak: func(*kubeletv1beta1.KubeletConfiguration) {},
			}

			err := n.Check(tt.proxy)
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Check = %v, want %q", err, tt.want)
			}
		})
	}
}
