package export

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

const token = "abcdef.0123456789abcdef"

// jwt has the form of a service account's token.
var jwt = "eyJhbGciOiJSUzI1NiIsImtpZCI6" + ".eyJpc3MiOiJrdWJlcm5ldGVz." + "c2lnbmF0dXJlLW9mLWl0"

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestGather(t *testing.T) {
	data := t.TempDir()
	paths := layout.Paths{Data: data, Bin: t.TempDir()}
	put(t, filepath.Join(paths.Logs(), "supervisor.log"), "up\njoin with "+token+" now\n")
	put(t, filepath.Join(paths.Logs(), "kubelet", "win-1.log"), "Bearer "+jwt+" by http://person:proxysecret@proxy:1/ and https://plain.example/a:b@c\n")
	put(t, filepath.Join(paths.Node("win-1"), "prefix/Files/var/log/pods/default_web_1/web/0.log"), "hello\n")
	put(t, filepath.Join(paths.Node("win-1"), "hns/state.json"), "{}")
	put(t, filepath.Join(paths.Node("linux-1"), "root/var/log/pods/default_db_1/db/0.log"), "from Linux\n")

	// what must not be there
	put(t, paths.AdminKubeconfig(), "client-key-data: abc")
	put(t, filepath.Join(data, "pki/ca.key"), "PRIVATE KEY")
	secret := filepath.Join(t.TempDir(), "shadow")
	put(t, secret, "root:hash")
	planted := filepath.Join(paths.Node("win-1"), "prefix/Files/var/log/pods")
	for link, target := range map[string]string{
		filepath.Join(planted, "evil.log"): secret, filepath.Join(planted, "evil"): filepath.Dir(secret),
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}

	if err := syscall.Mkfifo(filepath.Join(planted, "waits.log"), 0o600); err != nil {
		t.Fatal(err)
	}

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "default",
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "hunter2", "team": "red"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}},
		}}},
	}

	dir := filepath.Join(t.TempDir(), "new", "folder")
	missing, err := Gather(t.Context(), dir, Options{
		Paths: &paths,
		Cluster: spec.Cluster{Nodes: []spec.Node{
			{Name: "win-1", OS: spec.Windows}, {Name: "linux-1", OS: spec.Linux}, {Name: "linux-2", OS: spec.Linux},
		}},
		Client: fake.NewClientset(pod),
		Texts:  map[string][]byte{"version.txt": []byte("mullion v1\n")},
	})
	if err != nil || len(missing) > 0 {
		t.Fatalf("gather: %v, missing %v", err, missing)
	}

	for file, want := range map[string]string{
		"version.txt":                              "mullion v1",
		"machine.txt":                              "== /proc/version",
		"logs/supervisor.log":                      "up\njoin with <token removed> now\n",
		"logs/kubelet/win-1.log":                   "Bearer <token removed> by http://<user removed>@proxy:1/ and https://plain.example/a:b@c\n",
		"nodes/win-1/hns/state.json":               "{}",
		"nodes/win-1/pods/default_web_1/web/0.log": "hello\n",
		"nodes/linux-1/pods/default_db_1/db/0.log": "from Linux\n",
		"objects/pods.yaml":                        "name: PASSWORD\n        value: <7 bytes removed>",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v, want %q", file, text, err, want)
		}
	}

	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			t.Errorf("%s is no file but %s", path, d.Type())
			return nil
		}

		text, err := os.ReadFile(path)
		for _, word := range []string{
			"hunter2", "PRIVATE", "client-key", "root:hash", token, jwt, "proxysecret", "managedFields",
		} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s has %q", path, word)
			}
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(filepath.Join(dir, "missing.txt")); err == nil {
		t.Error("something is said to be missing")
	}
}

// TestGatherEndsOfFiles: of a long file the end is kept.
func TestGatherEndsOfFiles(t *testing.T) {
	paths := layout.Paths{Data: t.TempDir(), Bin: t.TempDir()}
	put(t, filepath.Join(paths.Logs(), "long.log"), strings.Repeat("x", mostOfFile)+"\nthe end\n")
	dir := t.TempDir()
	if _, err := Gather(t.Context(), dir, Options{Paths: &paths}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "logs", "long.log"))
	if err != nil || len(text) != mostOfFile || !strings.HasSuffix(string(text), "x\nthe end\n") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// TestGatherWithoutPermission: what cannot be read is named, and the rest is there.
func TestGatherWithoutPermission(t *testing.T) {
	paths := layout.Paths{Data: t.TempDir(), Bin: t.TempDir()}
	put(t, paths.Logs(), "a file where a folder should be")
	dir := t.TempDir()
	missing, err := Gather(t.Context(), dir, Options{Paths: &paths})
	if err != nil || len(missing) != 1 || !strings.Contains(missing[0].Error(), "logs of the cluster's parts") {
		t.Fatalf("missing %v, %v", missing, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "missing.txt")); err != nil || len(text) == 0 {
		t.Errorf("missing.txt: %q, %v", text, err)
	}
	if _, err := Gather(t.Context(), "/proc/no", Options{Paths: &paths}); err == nil {
		t.Error("a folder that cannot be made is no error")
	}
}
