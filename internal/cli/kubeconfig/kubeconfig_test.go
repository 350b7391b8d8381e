package kubeconfig_test

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cli/kubeconfig"
)

const other = `apiVersion: v1
kind: Config
current-context: work
clusters:
- name: work
  cluster:
    server: https://work.example:6443
    extensions:
    - name: minikube.sigs.k8s.io
      extension:
        provider: minikube.sigs.k8s.io
contexts:
- name: work
  context: {cluster: work, user: me, namespace: shop}
users:
- name: me
  user: {token: secret}
`

func admin(server string) *clientcmdapi.Config {
	return &clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: server, CertificateAuthorityData: []byte("ca")}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {
			ClientCertificateData: []byte("cert"),
			ClientKeyData:         []byte("key"),
		}},
		Contexts:       map[string]*clientcmdapi.Context{"u@c": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "u@c",
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func load(t *testing.T, path string) *clientcmdapi.Config {
	t.Helper()
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// only checks that nothing but the named files is in dir: no lock, no temporary file.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}

	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestMergeAndRemoveKeepTheRest(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	write(t, path, other)
	target := kubeconfig.Target{Paths: []string{path}}

	// Twice, as `up` does; the second time with another port.
	for _, server := range []string{"https://127.0.0.1:1", "https://127.0.0.1:2"} {
		got, err := kubeconfig.Merge(t.Context(), target, "mullion", "/data", admin(server))
		if err != nil || got != path {
			t.Fatalf("got %q, %v", got, err)
		}
	}

	config := load(t, path)
	if config.CurrentContext != "mullion" || config.Clusters["mullion"].Server != "https://127.0.0.1:2" {
		t.Errorf("current context %q, cluster %+v", config.CurrentContext, config.Clusters["mullion"])
	}
	if config.Contexts["work"].Namespace != "shop" || config.AuthInfos["me"].Token != "secret" ||
		len(config.Clusters["work"].Extensions) != 1 {
		t.Errorf("the other context lost something:\n%s", read(t, path))
	}

	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := kubeconfig.Remove(t.Context(), target, "mullion", "/another"); err != nil {
		t.Fatal(err)
	}

	if load(t, path).Contexts["mullion"] == nil {
		t.Error("another cluster's down removed the context")
	}
	if err := kubeconfig.Remove(t.Context(), target, "mullion", "/data"); err != nil {
		t.Fatal(err)
	}

	config = load(t, path)
	if len(config.Clusters) != 1 || len(config.Contexts) != 1 || len(config.AuthInfos) != 1 ||
		config.CurrentContext != "" {
		t.Errorf("after the removal:\n%s", read(t, path))
	}
	only(t, dir, "config")
}

func TestNewFileGoesAway(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "config")
	target := kubeconfig.Target{Paths: []string{path}}
	if _, err := kubeconfig.Merge(t.Context(), target, "mullion", "/data", admin("https://127.0.0.1:1")); err != nil {
		t.Fatal(err)
	}
	if load(t, path).CurrentContext != "mullion" {
		t.Error("the context is not there")
	}

	for range 2 {
		if err := kubeconfig.Remove(t.Context(), target, "mullion", "/data"); err != nil {
			t.Fatal(err)
		}
	}

	only(t, filepath.Dir(path))
}

func TestBadFileIsLeftAlone(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	tests := []struct{ name, text, want string }{
		{"syntax", "apiVersion: v1\nkind: Config\nclusters:\n- name: [a\n", "line "},
		{"type", "apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster: text\n", "line 5"},
		{"list", "apiVersion: v1\nkind: Config\nusers: nobody\n", "line 3"},
		{"not-a-config", "just some words\n", "line 1"},
		{"kind", "apiVersion: v1\nkind: Pod\n", "Pod"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "config")
			write(t, path, tt.text)
			target := kubeconfig.Target{Paths: []string{path}}
			_, err := kubeconfig.Merge(t.Context(), target, "mullion", "/data", admin("https://127.0.0.1:1"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got error %v, want one with %q and the path", err, tt.want)
			}

			if err := kubeconfig.Check(target); err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("check: got error %v, want one with %q and the path", err, tt.want)
			}

			if got := read(t, path); got != tt.text {
				t.Errorf("the file was changed:\n%s", got)
			}
			only(t, dir, "config")
		})
	}
}

func TestForeignEntriesAreNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	write(t, path, other)
	target := kubeconfig.Target{Paths: []string{path}}
	if _, err := kubeconfig.Merge(t.Context(), target, "work", "/data", admin("https://127.0.0.1:1")); err == nil ||
		!strings.Contains(err.Error(), "not Mullion's") {
		t.Fatalf("got %v", err)
	}

	if err := kubeconfig.Remove(t.Context(), target, "work", "/data"); err != nil {
		t.Fatal(err)
	}

	if got := read(t, path); got != other {
		t.Errorf("the file was changed:\n%s", got)
	}
}

func TestWhichFile(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	target, err := kubeconfig.Locate([]string{"KUBECONFIG=" + a + "::" + b, "HOME=/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{a, b}, target.Paths); diff != "" {
		t.Fatalf("paths (-want +got):\n%s", diff)
	}

	if got, err := kubeconfig.Merge(t.Context(), target, "x", "/data", admin("https://127.0.0.1:1")); err != nil ||
		got != b {
		t.Errorf("none exists: wrote %q, %v, want the last", got, err)
	}

	write(t, a, other)
	if got, err := kubeconfig.Merge(t.Context(), target, "x", "/data", admin("https://127.0.0.1:1")); err != nil ||
		got != a {
		t.Errorf("both exist: wrote %q, %v, want the first", got, err)
	}
	if err := kubeconfig.Remove(t.Context(), target, "x", "/data"); err != nil {
		t.Fatal(err)
	}

	only(t, dir, "a")
	target, err = kubeconfig.Locate([]string{"HOME=/home/someone"})
	if err != nil || target.Paths[0] != "/home/someone/.kube/config" || target.Owner != nil {
		t.Errorf("got %+v, %v", target, err)
	}
	if _, err := kubeconfig.Locate(nil); err == nil {
		t.Error("no HOME is no error")
	}
}

func TestUnderSudoTheFileIsThePersons(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("no user nobody")
	}
	target, err := kubeconfig.Locate([]string{"SUDO_USER=nobody", "HOME=/root"})
	if err != nil || target.Owner == nil || target.Paths[0] != filepath.Join(nobody.HomeDir, ".kube/config") {
		t.Fatalf("got %+v, %v", target, err)
	}

	if os.Geteuid() != 0 {
		t.Skip("giving files away needs root")
	}
	path := filepath.Join(t.TempDir(), ".kube", "config")
	target.Paths = []string{path}
	if _, err := kubeconfig.Merge(t.Context(), target, "mullion", "/data", admin("https://127.0.0.1:1")); err != nil {
		t.Fatal(err)
	}

	for _, p := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(p)
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != target.Owner.UID {
			t.Errorf("%s is not nobody's: %v", p, err)
		}
	}

	// Later, as root without sudo, the owner stays.
	target.Owner = nil
	if _, err := kubeconfig.Merge(t.Context(), target, "mullion", "/data", admin("https://127.0.0.1:2")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid == 0 {
		t.Errorf("root took the file: %v", err)
	}
}

func TestSymbolicLinkIsKept(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	write(t, real, other)
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}

	if _, err := kubeconfig.Merge(t.Context(), kubeconfig.Target{Paths: []string{link}}, "mullion", "/data",
		admin("https://127.0.0.1:1")); err != nil {
		t.Fatal(err)
	}

	if got, err := os.Readlink(link); err != nil || got != real {
		t.Errorf("link: %q, %v", got, err)
	}
	if load(t, real).CurrentContext != "mullion" {
		t.Error("the file behind the link was not written")
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	target := kubeconfig.Target{Paths: []string{path}}
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		wg.Go(func() {
			if _, err := kubeconfig.Merge(t.Context(), target, name, "/data",
				admin("https://127.0.0.1:1")); err != nil {
				t.Error(err)
			}
		})
	}

	wg.Wait()
	if got := len(load(t, path).Contexts); got != 6 {
		t.Errorf("got %d contexts, want 6: a merge was lost", got)
	}

	write(t, path+".lock", "")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := kubeconfig.Merge(ctx, target, "g", "/data", admin("https://127.0.0.1:1")); err == nil ||
		!strings.Contains(err.Error(), "config.lock") {
		t.Errorf("a held lock: got %v", err)
	}
}
