package cli

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/spec"
)

// answers are what a cluster's socket answers, by the paths of the requests.
type answers map[string]func(view.Ask, io.Writer) error

// said answers a text.
func said(text string) func(view.Ask, io.Writer) error {
	return func(_ view.Ask, to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	}
}

// refuses answers with an error of a kind.
func refuses(kind view.Kind, text string) func(view.Ask, io.Writer) error {
	return func(view.Ask, io.Writer) error { return &view.KindError{Kind: kind, Err: errors.New(text)} }
}

// readBy makes the machine's user one who is not root, and has the cluster's socket answer.
func (m *machine) readBy(all answers) {
	m.t.Helper()
	dir := m.t.TempDir()
	c := view.Config{
		Socket:  filepath.Join(dir, "view.sock"),
		Viewers: filepath.Join(dir, "viewers.json"),
		Log:     slog.New(slog.DiscardHandler),
	}
	if err := view.Note(c.Viewers, []string{fmt.Sprintf("SUDO_UID=%d", os.Getuid())}); err != nil {
		m.t.Fatal(err)
	}

	for path, answer := range all {
		c.Requests = append(c.Requests, view.Request{
			Path:   path,
			Query:  []string{"tail", "follow", "node", "namespace", "pod"},
			Within: 20 * time.Second,
			Most:   1 << 20,
			AtOnce: 4,
			Answer: func(_ context.Context, ask view.Ask, to io.Writer) error { return answer(ask, to) },
		})
	}

	ctx, cancel := context.WithCancel(m.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- view.Serve(ctx, c) }()
	m.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			m.t.Error(err)
		}
	})

	deadline := time.Now().Add(10 * time.Second)
	for {
		if info, err := os.Stat(c.Socket); err == nil && info.Mode().Perm() == 0o666 {
			break
		}
		if time.Now().After(deadline) {
			m.t.Fatal("nobody serves the socket")
		}
	}
	m.env.Euid = 1000
	m.calls.View = func(layout.Paths) view.Client { return view.NewClient(c.Socket) }
}

// jsonOf answers a value.
func jsonOf[T any](v T) func(view.Ask, io.Writer) error {
	write := view.JSON(func(context.Context, view.Ask) (T, error) { return v, nil })
	return func(ask view.Ask, to io.Writer) error { return write(context.Background(), ask, to) }
}

// described returns the answer about the usual cluster.
func described(url string) func(view.Ask, io.Writer) error {
	return jsonOf(view.Cluster{
		Spec:      spec.Default([]string{"ltsc2022"}, false, "").WithDefaults(),
		Server:    url,
		Authority: []byte("ca"),
	})
}

func TestReaderStatus(t *testing.T) {
	m := newMachine(t)
	p := health.Picture{Name: "mullion", State: health.Unhealthy, Findings: []health.Finding{
		{Severity: health.Problem, Object: "node win-1", What: "it is down", Do: "look"},
	}}
	m.readBy(answers{"status": jsonOf(view.Status{Health: p, CgroupParent: "/mullion-x"})})
	m.run("status").has(t, ExitNotReady, "Cluster mullion: unhealthy",
		`mullion: cluster "mullion" is not healthy: 1 problem(s)`)
	if got := m.run("status", "-o", "json"); !strings.Contains(got.out, `"cgroupParent":"/mullion-x"`) {
		t.Errorf("as JSON: %s", got.out)
	}

	m.readBy(answers{"status": refuses(view.Stranger, "user 7 is a stranger")})
	m.env.Args = nil
	m.run("--data-dir", m.paths.Data, "status").refused(t, ExitRequirement,
		"read the cluster in DATA: user 7 is a stranger: sudo BIN/mullion --data-dir DATA status", "")
}

// TestReaderKubeconfig: a person has the own context, unless it is of a cluster that was there before; otherwise what
// the socket gives, and is told so.
func TestReaderKubeconfig(t *testing.T) {
	const url = "https://127.0.0.1:6443"
	m := newMachine(t)
	m.readBy(answers{"cluster": described(url), "kubeconfig": said(clitest.Kubeconfig(url))})
	m.run("kubeconfig").has(t, ExitOK, "apiVersion: v1",
		"mullion: this kubeconfig may only read; `sudo mullion kubeconfig`")

	own := filepath.Join(filepath.Dir(m.paths.Data), "config")
	m.env.Environ = append(m.env.Environ, "KUBECONFIG="+own)
	marked := func(server string) string {
		mark := fmt.Sprintf("extensions: [{name: mullion, extension: {cluster: %q}}]", m.paths.Data)
		return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: other
clusters:
- {name: mine, cluster: {server: %q, certificate-authority-data: Y2E=, %s}}
- {name: other, cluster: {server: "https://other.example"}}
contexts:
- {name: mine, context: {cluster: mine, user: mine, %[2]s}}
- {name: other, context: {cluster: other, user: other}}
users:
- {name: mine, user: {token: own-token, %[2]s}}
- {name: other, user: {token: other-token}}
`, server, mark)
	}

	m.write(own, marked(url))
	got := m.run("kubeconfig")
	if !strings.Contains(got.out, "own-token") || strings.Contains(got.out, "other") || got.err != "" {
		t.Errorf("the own context: %s%s", got.out, got.err)
	}

	m.write(own, marked("https://127.0.0.1:1"))
	if got := m.run("kubeconfig"); strings.Contains(got.out, "own-token") || got.code != ExitOK {
		t.Errorf("a context of an earlier cluster: %s%s", got.out, got.err)
	}
	m.write(own, "some words\n")
	m.run("kubeconfig").has(t, ExitOK, "mullion: this kubeconfig may only read")

	m.readBy(answers{"cluster": refuses(view.Stranger, "a stranger")})
	m.run("kubeconfig").has(t, ExitRequirement, "mullion: read the cluster in DATA: a stranger: sudo ")
	m.write(own, marked(url)) // it needs no socket
	m.run("kubeconfig").has(t, ExitOK, "apiVersion: v1")
}

// TestReaderKubectl gives kubectl a file in memory, and the person's own cache; what needs no cluster works without
// one.
func TestReaderKubectl(t *testing.T) {
	const url = "https://127.0.0.1:6443"
	m := newMachine(t)
	m.write(m.paths.Kubernetes("").Kubectl(), "#!/bin/sh\necho \"$@\"\n")
	var argv, environ []string
	m.env.Exec = func(_ string, args, env []string) error {
		argv, environ = args, env
		return nil
	}

	m.readBy(answers{"cluster": described(url), "kubeconfig": said(clitest.Kubeconfig(url))})
	m.run("kubectl", "get", "pods").check(t, ExitOK, "", "")
	file, ok := strings.CutPrefix(argv[1], "--kubeconfig=/proc/self/fd/")
	if !ok || !cmp.Equal(argv[2:], []string{"get", "pods"}) {
		t.Fatalf("kubectl is run with %q", argv)
	}
	if text, err := os.ReadFile("/proc/self/fd/" + file); err != nil || !strings.Contains(string(text), url) {
		t.Errorf("its kubeconfig: %s, %v", text, err)
	}

	for _, line := range environ {
		if strings.HasPrefix(line, "KUBECACHEDIR=") {
			t.Errorf("a person's kubectl has the cache %q", line)
		}
	}

	none := newMachine(t)
	none.env.Exec, none.env.Euid = m.env.Exec, 1000
	none.calls.View = realCalls().View
	none.write(none.paths.Kubernetes("").Kubectl(), "")
	for _, args := range []string{
		"", "--help", "get -h", "version --client", "version --client=true -o yaml", "completion bash", "config view",
		"help get", "options", "kustomize .", "plugin list",
	} {
		for _, euid := range []int{0, 1000} {
			none.env.Euid = euid
			none.run(append([]string{"kubectl"}, strings.Fields(args)...)...).check(t, ExitOK, "", "")
			if diff := cmp.Diff(append([]string{"kubectl"}, strings.Fields(args)...), argv); diff != "" {
				t.Errorf("kubectl %s (-want +got):\n%s", args, diff)
			}
		}
	}

	for _, args := range []string{"get pods", "version", "explain pods", "exec web -- sh --help"} {
		none.run(append([]string{"kubectl"}, strings.Fields(args)...)...).has(t, ExitNotFound, `mullion: no cluster in "DATA"`)
	}
}

// TestKubectlCompletes asks kubectl, with a cluster and without one.
func TestKubectlCompletes(t *testing.T) {
	m := newMachine(t)
	m.write(m.paths.Kubernetes("").Kubectl(), "#!/bin/sh\nprintf 'pods\\tthe pods\\npodtemplates\\n:4\\n'\necho \"$@\" >&2\n")
	m.calls.View = realCalls().View
	for _, euid := range []int{0, 1000} {
		m.env.Euid = euid
		got := m.run("__complete", "kubectl", "get", "-n", "x", "po")
		if got.code != ExitOK || !strings.HasPrefix(got.out, "pods\tthe pods\npodtemplates\n:4\n") {
			t.Errorf("as %d: exit code %d, %q, %s", euid, got.code, got.out, got.err)
		}
	}

	m.write(m.paths.Kubernetes("").Kubectl(), "#!/bin/sh\necho noise\n")
	if got := m.run("__complete", "kubectl", "get", ""); got.out != ":4\n" {
		t.Errorf("of noise: %q", got.out)
	}
}

func TestReaderPods(t *testing.T) {
	m := newMachine(t)
	m.readBy(answers{
		"explained": func(ask view.Ask, to io.Writer) error {
			_, err := fmt.Fprintf(to, `[{"node": "win-1", "containers": [{"ID": "1", "Name": "%s-%s", "Off": true}]}]`,
				ask.Option("namespace"), ask.Option("pod"))
			return err
		},
	})

	m.run("explain", "web", "-n", "shop").has(t, ExitOK, "container shop-web (1) on win-1")
}

// TestPictureCrossesTheSocket: what a reader is shown of a cluster is what root is shown.
func TestPictureCrossesTheSocket(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.calls.Observe = func(_ context.Context, paths layout.Paths, c spec.Cluster) health.Observed {
		return health.Observed{
			Spec:            c,
			Data:            paths.Data,
			SupervisorError: "it is gone",
			APIError:        "refused",
		}
	}

	r := readerOf(m.env, m.calls)
	r.DataDir = m.paths.Data
	_, look, err := r.Looker()
	if err != nil {
		t.Fatal(err)
	}

	told, err := look(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	for _, output := range []string{"text", "json", "yaml"} {
		m.env.Euid = 0
		want := m.run("status", "-o", output)
		m.readBy(answers{"status": jsonOf(told)})
		if diff := cmp.Diff(want, m.run("status", "-o", output), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s (-root +reader):\n%s", output, diff)
		}
	}
}

// serveAPI returns an API server that answers with no object.
func serveAPI(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"List","apiVersion":"v1","items":[]}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestReaderExportsLogs writes what the socket gives, with what it lacked, and nothing outside of the folder.
func TestReaderExportsLogs(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	url := serveAPI(t)
	m.readBy(answers{
		"cluster":    described(url),
		"kubeconfig": said(clitest.Kubeconfig(url)),
		"status":     jsonOf(view.Status{Health: health.Picture{Name: "mullion", State: health.Healthy}}),
		"files": said(archived(t, map[string]string{
			"logs/etcd.log": "one\n", "missing.txt": "HNS of node win-1: it is down\n",
		})),
	})

	dir := filepath.Join(t.TempDir(), "logs")
	m.run("export", "logs", dir).has(t, ExitOK, dir, "warning: not written: HNS of node win-1: it is down")
	for file, want := range map[string]string{
		"logs/etcd.log": "one", "missing.txt": "it is down", "status.txt": "healthy", "objects/pods.yaml": "items",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}

	m.readBy(answers{
		"cluster": described(url), "kubeconfig": said(clitest.Kubeconfig(url)), "status": jsonOf(view.Status{}),
		"files": said(archived(t, map[string]string{"../../out.log": "x"})),
	})
	if got := m.run("export", "logs", dir); got.code == ExitOK {
		t.Errorf("a name that leads out: %s", got.err)
	}
}

// archived returns a tar archive of files.
func archived(t *testing.T, files map[string]string) string {
	t.Helper()
	var b strings.Builder
	w := tar.NewWriter(&b)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{
			Name: name,
			Mode: 0o600,
			Size: int64(len(text)),
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.String()
}
