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

// sample returns a node of a system, whose files lie in a folder.
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
		OS:   system,
		Root: dir,
		File: func(path string) (string, error) {
			return filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(path, "C:"), `\`, "/")), nil
		},
		Tweak: func(*kubeletv1beta1.KubeletConfiguration) {},
	}
}

// What is written for a node stays beneath its root, though pods put links there that lead to the machine's files.
func TestStaysBeneathTheRoot(t *testing.T) {
	for _, system := range []string{spec.Linux, spec.Windows} {
		n := sample(t, system)
		victim := t.TempDir()
		kept := filepath.Join(victim, "ca.crt")
		if err := os.WriteFile(kept, []byte("the machine's"), 0o600); err != nil {
			t.Fatal(err)
		}

		etc := filepath.Join(n.Root, "etc")
		if err := os.MkdirAll(etc, 0o755); err != nil {
			t.Fatal(err)
		}

		up := strings.Repeat("../", strings.Count(etc, "/"))
		for _, to := range []string{victim, up + victim[1:]} {
			folder := filepath.Join(etc, "kubernetes")
			if err := os.Symlink(to, folder); err != nil {
				t.Fatal(err)
			}
			if err := n.WriteFile("/etc/kubernetes/ca.crt", []byte("the node's"), 0o600); err == nil {
				t.Errorf("%s: written through the link to %s", system, to)
			}

			if _, err := n.ReadFile("/etc/kubernetes/ca.crt"); err == nil {
				t.Errorf("%s: read through the link to %s", system, to)
			}
			if err := n.RemoveAll("/etc/kubernetes/ca.crt"); err == nil {
				t.Errorf("%s: removed through the link to %s", system, to)
			}
			if err := n.Chmod("/etc/kubernetes", 0o777); err == nil {
				t.Errorf("%s: a mode given through the link to %s", system, to)
			}

			if err := n.MkdirAll("/etc/kubernetes/new", 0o755); err == nil {
				t.Errorf("%s: made a folder through the link to %s", system, to)
			}
			if err := n.RemoveAll("/etc/kubernetes"); err != nil { // the link itself is the node's
				t.Error(err)
			}
		}

		if err := os.Symlink(kept, filepath.Join(etc, "hosts")); err != nil {
			t.Fatal(err)
		}
		if err := n.WriteFile("/etc/hosts", []byte("the node's"), 0o644); err != nil {
			t.Errorf("%s: in the place of a link: %v", system, err)
		}
		if got, err := n.ReadFile("/etc/hosts"); err != nil || string(got) != "the node's" {
			t.Errorf("%s: read %q, %v", system, got, err)
		}

		left, err := os.ReadDir(victim)
		if text, readErr := os.ReadFile(kept); err != nil || len(left) != 1 || readErr != nil ||
			string(text) != "the machine's" {
			t.Errorf("%s: the machine's folder has %v, its file %q (%v, %v)", system, left, text, err, readErr)
		}
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
