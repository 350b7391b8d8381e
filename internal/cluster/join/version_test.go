package join

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/version"

	ourversion "mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/spec"
)

// serves makes an API server say a version.
func (a *api) serves(v string) {
	a.Info = version.Info{GitVersion: v}
}

func TestCheckVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		server, node string
		want         error
		says         string
	}{
		"same":          {"v1.36.3", "v1.36.0", nil, ""},
		"oldest":        {"v1.36.3", "v1.33.9", nil, ""},
		"distribution":  {"v1.35.4+k3s1", "v1.35.8", nil, ""},
		"without-v":     {"1.36", "v1.36.0", nil, ""},
		"own-build":     {"v1.37.0-alpha.1.7+0a1b2c3d4e5f67", "v1.37.0-alpha.1.7+0a1b2c3d4e5f67", nil, ""},
		"too-old":       {"v1.36.3", "v1.32.9", ErrVersion, "v1.32.9 is more than 3 minor versions older"},
		"newer":         {"v1.36.3", "v1.37.0-alpha.1", ErrVersion, "is newer than the control plane, which is v1.36.3"},
		"ours-is-newer": {"v1.10.1", "", ErrVersion, ourversion.Kubernetes + " is newer"},
		"other-major":   {"v2.36.0", "v1.36.0", ErrVersion, "is newer"},
		"no-version":    {"latest", "v1.36.0", nil, `read the API server's version "latest"`},
		"nothing":       {"", "v1.36.0", nil, `read the API server's version ""`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.serves(tt.server)
			j, _, _ := joins(t, a)
			j.Nodes = []spec.Node{{KubernetesVersion: tt.node}}
			err := j.checkVersion(t.Context())
			if tt.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}

			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			says(t, err, tt.says)
		})
	}
}

// Nodes that name a version have that of the data folder, whatever the cluster's own is, if both go together.
func TestJoinWithOwnVersion(t *testing.T) {
	const own = "v1.35.8"
	for name, tt := range map[string]struct {
		server, node string
		want         error
	}{
		"fits":      {"v1.36.9", own, nil},
		"newer":     {"v1.34.1", own, ErrVersion},
		"not-there": {"v1.36.9", "v1.35.9", bundle.ErrNotThere},
	} {
		t.Run(name, func(t *testing.T) {
			far := published()
			far.KubernetesVersion = "v1.36.9" // there is no bundle of it here
			a := newClusterOf(t, far)
			a.serves(tt.server)
			j, r, _ := joins(t, a)
			j.Nodes[0].KubernetesVersion = tt.node
			if err := os.MkdirAll(filepath.Join(j.Paths.Data, "kubernetes", own), 0o755); err != nil {
				t.Fatal(err)
			}

			c, err := j.join(t.Context())
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}

			if tt.want != nil {
				if len(r.did) > 0 || len(claims(t, a)) > 0 {
					t.Errorf("the machine did %q, the claims are %q", r.did, claims(t, a))
				}
			} else if c.Nodes[0].KubernetesVersion != own || c.KubernetesVersion != "v1.36.9" {
				t.Errorf("it joined as %+v", c)
			}
		})
	}
}

// In a cluster of kubeadm's the nodes' own version counts, and without one that of Mullion's kubelet.
func TestForeignJoinWithOwnVersion(t *testing.T) {
	for _, tt := range []struct {
		server, node string
		want         error
	}{
		{"v1.35.2", "v1.35.8", nil},
		{"v1.35.2", "", ErrVersion},
		{"v1.35.2", "v1.31.0", ErrVersion},
	} {
		a := ofKubeadm(t)
		a.serves(tt.server)
		j, r, _ := foreignJoin(t, a)
		j.Nodes[0].KubernetesVersion = tt.node
		c, err := j.finish(t.Context())
		if !errors.Is(err, tt.want) {
			t.Errorf("%s in %s: got %v, want %v", tt.node, tt.server, err, tt.want)
		}

		if (tt.want != nil && len(r.did) > 0) || (tt.want == nil && c.Nodes[0].KubernetesVersion != tt.node) {
			t.Errorf("%s in %s: the machine did %q, nodes %+v", tt.node, tt.server, r.did, c.Nodes)
		}
	}
}
