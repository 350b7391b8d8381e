package kubenode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"mullion.dev/mullion/internal/spec"
)

const bootstrapText = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443", certificate-authority: /somewhere/ca.crt}}]
users: [{name: u, user: {token: abcdef.0123456789abcdef}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// sample is a node of a system, whose files lie in a folder.
func sample(t *testing.T, system string) Node {
	t.Helper()
	dir := t.TempDir()
	return Node{
		Config: Config{
			Name:                "node-1",
			Server:              "https://10.213.0.1:6443",
			CAFile:              filepath.Join(dir, "ca.crt"),
			BootstrapKubeconfig: filepath.Join(dir, "bootstrap.kubeconfig"),
		},
		OS: system,
		File: func(path string) (string, error) {
			return filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(path, "C:"), `\`, "/")), nil
		},
		Tweak: func(*kubeletv1beta1.KubeletConfiguration) {},
	}
}

func TestPath(t *testing.T) {
	for system, want := range map[string]string{
		spec.Linux:   "/var/lib/kubelet/pki",
		spec.Windows: `C:\var\lib\kubelet\pki`,
	} {
		if got := (Node{OS: system}).Path(KubeletCertDir); got != want {
			t.Errorf("on %s %q, want %q", system, got, want)
		}
	}
}

// TestForeignIdentity leaves a kubelet's certificate of another authority behind, as when a data folder's keys were
// made anew.
func TestForeignIdentity(t *testing.T) {
	for _, system := range []string{spec.Linux, spec.Windows} {
		t.Run(system, func(t *testing.T) {
			n := sample(t, system)
			start := func(authority string) {
				t.Helper()
				if err := os.WriteFile(n.CAFile, []byte(authority), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := n.writeKubelet(); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(n.BootstrapKubeconfig, []byte(bootstrapText), 0o600); err != nil {
				t.Fatal(err)
			}
			start("authority one")
			bootstrap := read(t, n, bootstrapKubeconfig)
			for _, want := range []string{
				"server: https://10.213.0.1:6443", "certificate-authority-data: YXV0aG9yaXR5IG9uZQ==",
				"abcdef.0123456789abcdef",
			} {
				if !strings.Contains(bootstrap, want) {
					t.Errorf("bootstrap kubeconfig lacks %q:\n%s", want, bootstrap)
				}
			}
			if strings.Contains(bootstrap, "/somewhere") {
				t.Errorf("bootstrap kubeconfig names a file of the machine:\n%s", bootstrap)
			}

			identity := []string{kubeletKubeconfig, KubeletCertDir + "/" + currentCertificate}
			for _, path := range identity {
				if err := n.WriteFile(path, []byte("certificate"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			start("authority one")
			for _, path := range identity {
				if got := read(t, n, path); got != "certificate" {
					t.Errorf("a restart lost %s: %q", path, got)
				}
			}
			start("authority two")
			for _, path := range []string{kubeletKubeconfig, KubeletCertDir} {
				on, err := n.file(path)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(on); !os.IsNotExist(err) {
					t.Errorf("%s of another authority is still there (%v)", path, err)
				}
			}
		})
	}
}

func read(t *testing.T, n Node, path string) string {
	t.Helper()
	on, err := n.file(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(on)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
