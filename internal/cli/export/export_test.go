package export

import (
	"archive/tar"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/spec"
)

// machine is one with these commands.
type machine struct {
	*clitest.Machine

	lacks []preflight.Finding
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command {
		return []*cobra.Command{New(r, Calls{
			Status: func(w io.Writer, s view.Status, _ layout.Paths, output string) error {
				if output == "json" {
					return json.NewEncoder(w).Encode(s)
				}
				return s.Health.Text(w)
			},
			Lacks: func(context.Context, layout.Paths, spec.Cluster) []preflight.Finding { return m.lacks },
		}).Command()}
	}
	return m
}

// exporting returns a machine with a described cluster, of which change says how it is.
func exporting(t *testing.T, change func(*health.Observed)) *machine {
	t.Helper()
	m := newMachine(t)
	m.Describe(nil)
	m.Observing(change)
	m.Sources.Client = func(layout.Paths) (kubeclient.Interface, error) { return fake.NewClientset(), nil }
	m.lacks = []preflight.Finding{{Check: "memory", Problem: "there is little of it"}}
	m.Write(filepath.Join(m.Paths.Logs(), "etcd.log"), "ready\n")
	return m
}

func TestExportLogs(t *testing.T) {
	m := exporting(t, nil)
	dir := filepath.Join(t.TempDir(), "artifacts")
	m.Run("export", "logs", dir).Check(t, exit.OK, dir+"\n", "")
	for file, want := range map[string]string{
		"logs/etcd.log": "ready", "status.txt": "Cluster mullion: healthy", "status.json": `"state":"healthy"`,
		"version.txt": "kubernetes v1.", "preflight.txt": "memory: there is little of it", "objects/nodes.yaml": "items:",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v, want %q", file, text, err, want)
		}
	}
	m.Run("export", "logs", dir).Check(t, exit.OK, dir+"\n", "") // once more into the same folder
}

// TestExportLogsOfDownCluster: a cluster that is not up has logs too, and that is when they are wanted.
func TestExportLogsOfDownCluster(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	m := exporting(t, func(o *health.Observed) {
		o.Supervisor = nil
		o.SupervisorError = "no such file"
		o.APIError = "refused"
	})

	got := m.Run("export", "logs")
	dir := strings.TrimSpace(got.Out)
	if got.Code != exit.OK || !strings.HasPrefix(dir, os.Getenv("TMPDIR")+"/mullion-logs-") {
		t.Fatalf("%+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "logs", "etcd.log")); err != nil {
		t.Error(err)
	}

	if _, err := os.Stat(filepath.Join(dir, "objects")); err == nil {
		t.Error("there are objects of an API server that does not answer")
	}
}

func TestExportLogsRefused(t *testing.T) {
	newMachine(t).Run("export", "logs").Has(t, exit.NotFound, "mullion: no cluster in \"DATA\"")
	m := exporting(t, nil)
	m.Run("export", "logs", "a", "b").Has(t, exit.Usage, "mullion: `mullion export logs` takes DIR, got 2 argument(s)")
	m.Run("export", "logs", "/proc/no/such").Has(t, exit.Internal, "mullion: write to \"/proc/no/such\": mkdir /proc/no: no such file or directory")
	m.Run("export", "nothing").Has(t, exit.Usage, "mullion: `mullion export` has no command \"nothing\"")
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
	url := serveAPI(t)
	m.ReadBy(clitest.Answers{
		"cluster":    clitest.Cluster(url),
		"kubeconfig": clitest.Said(clitest.Kubeconfig(url)),
		"status":     clitest.JSON(view.Status{Health: health.Picture{Name: "mullion", State: health.Healthy}}),
		"files": clitest.Said(archived(t, map[string]string{
			"logs/etcd.log": "one\n", "missing.txt": "HNS of node win-1: it is down\n",
		})),
	})

	dir := filepath.Join(t.TempDir(), "logs")
	m.Run("export", "logs", dir).Has(t, exit.OK, dir, "warning: not written: HNS of node win-1: it is down")
	for file, want := range map[string]string{
		"logs/etcd.log": "one", "missing.txt": "it is down", "status.txt": "healthy", "objects/pods.yaml": "items",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}

	m.ReadBy(clitest.Answers{
		"cluster": clitest.Cluster(url), "kubeconfig": clitest.Said(clitest.Kubeconfig(url)), "status": clitest.JSON(view.Status{}),
		"files": clitest.Said(archived(t, map[string]string{"../../out.log": "x"})),
	})
	if got := m.Run("export", "logs", dir); got.Code == exit.OK {
		t.Errorf("a name that leads out: %s", got.Err)
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
