//go:build kernel

package controlplane_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/test/built"
)

// old is the version of an old control plane.
const old = "v1.20.15"

// TestOldControlPlane is TestControlPlane with the programs of Kubernetes 1.20, if its bundle has been built, as far as
// that version has what is asked for.
func TestOldControlPlane(t *testing.T) {
	if missing := bundle.At(built.Dir(t), old).Missing(); len(missing) > 0 {
		t.Skipf("%v: make bundle VERSION=%s", missing, old)
	}

	p := newPlaneOf(t, old)
	t.Cleanup(func() { p.stop(t) })
	p.start(t)
	admin := p.client(t, p.config.Kubeconfig(pki.Admin()))

	t.Run("version", func(t *testing.T) {
		if v, err := admin.ServerVersion(t.Context()); err != nil || v.GitVersion != old {
			t.Errorf("version %+v, %v", v, err)
		}
	})
	t.Run("rights", func(t *testing.T) { testRights(t, p, admin) })
	t.Run("runtime-class", func(t *testing.T) {
		const name = "runhcs-wcow-hypervisor"
		if _, err := admin.NodeV1().RuntimeClasses().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("dns", func(t *testing.T) { testDNS(t, p, admin) })
	t.Run("metrics", func(t *testing.T) { testMetrics(t, p, admin) })
	t.Run("gmsa", func(t *testing.T) { testGMSA(t, p, admin) })
	t.Run("join", func(t *testing.T) { testJoin(t, p, admin) })
	t.Run("kill-etcd", func(t *testing.T) { testKill(t, p, admin, controlplane.Etcd) })
	t.Run("kill-kube-apiserver", func(t *testing.T) { testKill(t, p, admin, controlplane.APIServer) })
}
