package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
)

// exporting returns a machine with a described cluster, of which change says how it is.
func exporting(t *testing.T, change func(*health.Observed)) *machine {
	t.Helper()
	m := newMachine(t)
	m.describe(nil)
	m.observing(change)
	m.calls.Client = func(layout.Paths) (kubeclient.Interface, error) { return fake.NewClientset(), nil }
	m.calls.preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding {
		return []preflight.Finding{{Check: "memory", Problem: "there is little of it"}}
	}
	m.write(filepath.Join(m.paths.Logs(), "etcd.log"), "ready\n")
	return m
}

func TestExportLogs(t *testing.T) {
	m := exporting(t, nil)
	dir := filepath.Join(t.TempDir(), "artifacts")
	m.run("export", "logs", dir).check(t, ExitOK, dir+"\n", "")
	for file, want := range map[string]string{
		"logs/etcd.log": "ready", "status.txt": "Cluster mullion: healthy", "status.json": `"state":"healthy"`,
		"version.txt": "kubernetes v1.", "preflight.txt": "memory: there is little of it", "objects/nodes.yaml": "items:",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v, want %q", file, text, err, want)
		}
	}
	m.run("export", "logs", dir).check(t, ExitOK, dir+"\n", "") // once more into the same folder
}

// TestExportLogsOfDownCluster: a cluster that is not up has logs too, and that is when they are wanted.
func TestExportLogsOfDownCluster(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	m := exporting(t, func(o *health.Observed) {
		o.Supervisor = nil
		o.SupervisorError = "no such file"
		o.APIError = "refused"
	})
	got := m.run("export", "logs")
	dir := strings.TrimSpace(got.out)
	if got.code != ExitOK || !strings.HasPrefix(dir, os.Getenv("TMPDIR")+"/mullion-logs-") {
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
	newMachine(t).run("export", "logs").has(t, ExitNotFound, "mullion: no cluster in \"DATA\"")
	m := exporting(t, nil)
	m.run("export", "logs", "a", "b").has(t, ExitUsage, "mullion: `mullion export logs` takes DIR, got 2 argument(s)")
	m.run("export", "logs", "/proc/no/such").has(t, ExitInternal, "mullion: write to \"/proc/no/such\": mkdir /proc/no: no such file or directory")
	m.run("export", "nothing").has(t, ExitUsage, "mullion: `mullion export` has no command \"nothing\"")
}
