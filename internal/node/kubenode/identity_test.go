package kubenode

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/spec"
)

// authority gives n a cluster's authority, which signs the first certificates of its kubelet, and counts them.
func authority(t *testing.T, n *Node) (made *int) {
	t.Helper()
	bundle, err := pki.Ensure(t.TempDir(), pki.SANs{DNS: []string{"localhost"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(n.CAFile, bundle.CAPEM(), 0o600),
		os.WriteFile(n.BootstrapKubeconfig, []byte(bootstrapText), 0o600)); err != nil {
		t.Fatal(err)
	}

	made = new(int)
	n.FirstCertificate = func() ([]byte, error) {
		*made++
		return bundle.Unkept(pki.Kubelet(n.Name), time.Now())
	}

	return made
}

// TestFirstIdentity: a kubelet that has no certificate gets one before it starts, as the kubelet itself keeps it, with
// the kubeconfig that refers to it. One that has a certificate keeps it, and one that was given half of it by a start
// that was killed gets another.
func TestFirstIdentity(t *testing.T) {
	for system, path := range map[string]string{
		spec.Linux:   "/var/lib/kubelet/pki/kubelet-client-current.pem",
		spec.Windows: `C:\var\lib\kubelet\pki\kubelet-client-current.pem`,
	} {
		t.Run(system, func(t *testing.T) {
			n := sample(t, system)
			made := authority(t, &n)
			dir := filepath.Join(n.Root, KubeletCertDir)
			halfDone := filepath.Join(dir, "kubelet-client-2026-01-01-00-00-00.pem")
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(halfDone, []byte("half"), 0o600)); err != nil {
				t.Fatal(err)
			}

			for range 2 {
				if err := n.writeKubelet(); err != nil {
					t.Fatal(err)
				}
			}

			if *made != 1 {
				t.Errorf("%d certificates were made, want 1", *made)
			}
			cert, err := Identity{Dir: dir}.load()
			if err != nil {
				t.Fatal(err)
			}

			if got := cert.Leaf.Subject.CommonName; got != "system:node:node-1" {
				t.Errorf("the certificate is of %s", got)
			}
			link := filepath.Join(dir, currentCertificate)
			to, err := os.Readlink(link)
			if err != nil || filepath.Base(to) != to || !strings.HasPrefix(to, "kubelet-client-20") {
				t.Errorf("the link leads to %q, %v", to, err)
			}

			if info, err := os.Stat(link); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the certificate's file is %v, %v; it has the key", info, err)
			}

			config, err := clientcmd.LoadFromFile(filepath.Join(n.Root, kubeletKubeconfig))
			if err != nil {
				t.Fatal(err)
			}
			current := config.Contexts[config.CurrentContext]
			if user := config.AuthInfos[current.AuthInfo]; user.ClientCertificate != path || user.ClientKey != path {
				t.Errorf("the kubeconfig refers to %q and %q, want %q", user.ClientCertificate, user.ClientKey, path)
			}

			if got := config.Clusters[current.Cluster].Server; got != n.Server {
				t.Errorf("the kubeconfig has the server %q, want %q", got, n.Server)
			}
		})
	}
}

// TestFirstIdentityKept: a link that the kubelet has made is left alone, wherever it leads, and what is asked for with
// the bootstrap token is not made here.
func TestFirstIdentityKept(t *testing.T) {
	n := sample(t, spec.Linux)
	made := authority(t, &n)
	link := filepath.Join(n.Root, KubeletCertDir, currentCertificate)
	const target = KubeletCertDir + "/kubelet-client-2026-02-02-00-00-00.pem"
	if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}

	if err := n.writeKubelet(); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != target || *made != 0 {
		t.Errorf("the link leads to %q (%v), and %d certificates were made", to, err, *made)
	}

	asks := sample(t, spec.Linux)
	authority(t, &asks)
	asks.FirstCertificate = nil
	if err := asks.writeKubelet(); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{KubeletCertDir, kubeletKubeconfig} {
		if _, err := os.Lstat(filepath.Join(asks.Root, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v; the kubelet makes it", name, err)
		}
	}
}

// TestFirstIdentityFails: an authority that does not sign, and a folder of certificates that leads out of the node, are
// errors; nothing is written outside.
func TestFirstIdentityFails(t *testing.T) {
	n := sample(t, spec.Linux)
	authority(t, &n)
	want := errors.New("no key")
	n.FirstCertificate = func() ([]byte, error) { return nil, want }
	if err := n.writeKubelet(); !errors.Is(err, want) {
		t.Errorf("err = %v, want %v", err, want)
	}

	n = sample(t, spec.Linux)
	authority(t, &n)
	outside, folder := t.TempDir(), filepath.Join(n.Root, KubeletCertDir)
	if err := errors.Join(os.MkdirAll(filepath.Dir(folder), 0o755), os.Symlink(outside, folder)); err != nil {
		t.Fatal(err)
	}
	if err := n.writeKubelet(); err == nil {
		t.Error("written through a link")
	}

	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside are %v, %v", left, err)
	}
}
