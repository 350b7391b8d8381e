package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/internal/conformance/suite"
)

// testProgram is a stand-in for e2e.test whose processes are this test binary: it runs three specs, and waits
// in the one called "waits" until it is told to end.
const testProgram = `#!/bin/sh
case "$*" in
*--version*) echo v0.0.0-test; exit 0 ;;
*--ginkgo.dry-run*)
  for a; do case $a in --ginkgo.json-report=*) out=${a#*=} ;; esac; done
  echo '[{"SpecReports":[{"LeafNodeType":"It","LeafNodeText":"passes","State":"passed"},{"LeafNodeType":"It","LeafNodeText":"fails","State":"passed"},{"LeafNodeType":"It","LeafNodeText":"waits","State":"passed"},{"LeafNodeType":"It","LeafNodeText":"filtered","State":"skipped"}]}]' > "$out"
  exit 0 ;;
esac
exec "$TEST_BINARY" -test.run '^TestProcess$' -- "$@"
`

// TestProcess is the stand-in's process; it does nothing unless the stand-in has started it.
func TestProcess(t *testing.T) {
	host := ""
	process := ""
	args := strings.Join(os.Args, " ")
	for _, a := range os.Args {
		if v, ok := strings.CutPrefix(a, "--ginkgo.parallel.host="); ok {
			host = v
		}
		if v, ok := strings.CutPrefix(a, "--ginkgo.parallel.process="); ok {
			process = v
		}
	}
	if host == "" {
		t.Skip("only for the stand-in of e2e.test")
	}

	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	post := func(path, body string) {
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, host+path,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}

		_ = resp.Body.Close()
	}
	post("/suite-will-begin", "{}")
	spec := func(name, state, more string) {
		if !strings.Contains(args, "skip="+name+"$") && !strings.Contains(args, "|"+name+"$") {
			post("/did-run", fmt.Sprintf(`{"LeafNodeType":"It","LeafNodeText":%q,"State":%q,"NumAttempts":1%s}`, name,
				state, more))
		}
	}

	if process != "1" {
		return
	}

	spec("passes", "passed", "")
	spec("fails", "failed", `,"Failure":{"Message":"it does"},"CapturedGinkgoWriterOutput":"on win-1"`)
	spec("filtered", "skipped", "")
	if os.Getenv("TEST_WAITS") == "" {
		spec("waits", "passed", "")
		return
	}

	select {
	case <-interrupt:
	case <-time.After(50 * time.Second):
		t.Fatal("no signal has come")
	}

	spec("waits", "interrupted", "")
}

// apiServer answers as much of Kubernetes' API as a run needs.
func apiServer(t *testing.T) (kubeconfig string, gone func()) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
		case "/api/v1/nodes":
			fmt.Fprint(
				w, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"win-1"},"status":{"nodeInfo":{"operatingSystem":"windows"},"conditions":[{"type":"Ready","status":"True"}]}}]}`)
		case "/api/v1/namespaces":
			fmt.Fprint(w, `{"kind":"NamespaceList","apiVersion":"v1","items":[]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(
		"apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\ncurrent-context: c\n", srv.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	return file, srv.Close
}

func testConfig(t *testing.T, environ ...string) (Config, chan result.Spec) {
	t.Helper()
	c, ended, _ := testCluster(t, environ...)
	return c, ended
}

// testCluster is testConfig with a way to end the cluster.
func testCluster(t *testing.T, environ ...string) (Config, chan result.Spec, func()) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "e2e.test")
	if err := os.WriteFile(program, []byte(testProgram), 0o755); err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	kubeconfig, gone := apiServer(t)
	ended := make(chan result.Spec, 100)
	var once sync.Mutex
	return Config{
		Suite: suite.Suite{
			Name:      "test",
			Focus:     ".",
			Processes: 2,
			Attempts:  1,
		},
		Program:    program,
		Kubectl:    "kubectl",
		Kubeconfig: kubeconfig,
		Results:    t.TempDir(),
		Environ:    append(environ, "TEST_BINARY="+binary, "PATH="+os.Getenv("PATH")),
		Progress: func(p Progress) {
			once.Lock()
			defer once.Unlock()
			if p.Spec != nil {
				ended <- *p.Spec
			}
		},
	}, ended, gone
}

// TestRun runs a suite to its end, with a failure.
func TestRun(t *testing.T) {
	c, _ := testConfig(t)
	folder, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Load(folder)
	if err != nil {
		t.Fatal(err)
	}

	counts := result.Count(r.All())
	if counts[result.Passed] != 2 || counts[result.Failed] != 1 || len(r.All()) != 3 || r.Run.End != result.Complete ||
		r.Run.Test != "v0.0.0-test" {
		t.Errorf("%v, %+v", counts, r.Run)
	}

	for _, s := range r.All() {
		if s.State == result.Failed && (s.Message != "it does" || s.Output == "" || len(s.Nodes) != 1) {
			t.Errorf("%+v", s)
		}
	}
}

// TestStopAndResume stops a run while a spec waits, as Ctrl-C does, and takes it up again.
func TestStopAndResume(t *testing.T) {
	c, ended := testConfig(t, "TEST_WAITS=1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		<-ended
		<-ended
		cancel()
	}()

	folder, err := c.Run(ctx)
	if err == nil || !strings.Contains(err.Error(), "stopped by the user") {
		t.Fatalf("error %v", err)
	}
	r, err := result.Load(folder)
	if err != nil {
		t.Fatal(err)
	}

	if r.Run.End != result.Partial || result.Count(r.All())[result.Cut] != 1 || len(r.Done()) != 2 {
		t.Errorf("%s (%s), %v", r.Run.End, r.Run.Reason, result.Count(r.All()))
	}

	c.Resume, c.Environ = folder, c.Environ[1:]
	if again, err := c.Run(t.Context()); err != nil || again != folder {
		t.Fatalf("resume in %q: %v", again, err)
	}
	if r, err = result.Load(folder); err != nil {
		t.Fatal(err)
	}

	counts := result.Count(r.All())
	if r.Run.End != result.Complete || counts[result.Passed] != 2 || counts[result.Failed] != 1 || len(r.Specs) != 4 {
		t.Errorf("%s, %v, %d lines: what was done has run again", r.Run.End, counts, len(r.Specs))
	}
}

// TestEndedEarly checks that a run is partial, with an error, if its processes end without running everything.
func TestEndedEarly(t *testing.T) {
	c, _ := testConfig(t)
	broken := strings.Replace(testProgram, `exec "$TEST_BINARY"`, `exit 1; exec "$TEST_BINARY"`, 1)
	if err := os.WriteFile(c.Program, []byte(broken), 0o755); err != nil {
		t.Fatal(err)
	}
	folder, err := c.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ended early") {
		t.Fatalf("error %v", err)
	}
	if r, err := result.Load(folder); err != nil || r.Run.End != result.Partial ||
		result.Count(r.All())[result.NotRun] != 3 {
		t.Errorf("%+v, %v", r.Run, err)
	}
}

func TestNothingSelected(t *testing.T) {
	c, _ := testConfig(t)
	empty := strings.ReplaceAll(testProgram, `"State":"passed"}`, `"State":"skipped"}`)
	if err := os.WriteFile(c.Program, []byte(empty), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no spec fits") {
		t.Errorf("error %v", err)
	}
}

func TestNoCluster(t *testing.T) {
	c, _ := testConfig(t)
	kubeconfig, gone := apiServer(t)
	gone()
	c.Kubeconfig = kubeconfig
	if folder, err := c.Run(t.Context()); err == nil || folder != "" ||
		!strings.Contains(err.Error(), "ask the cluster") {
		t.Errorf("%q, %v", folder, err)
	}
}

// TestClusterGone ends the cluster while a spec runs: the results so far are stored, and the run is partial and can be
// resumed.
func TestClusterGone(t *testing.T) {
	c, ended, gone := testCluster(t, "TEST_WAITS=1")
	c.limits = &limits{ask: 10 * time.Millisecond, gone: 100 * time.Millisecond}
	go func() {
		<-ended
		<-ended
		gone()
	}()

	folder, err := c.Run(t.Context())
	if !errors.Is(err, errGone) {
		t.Fatalf("error %v", err)
	}
	r, err := result.Load(folder)
	if err != nil {
		t.Fatal(err)
	}

	if r.Run.End != result.Partial || !strings.Contains(r.Run.Reason, "does not answer") || len(r.Done()) != 2 {
		t.Errorf("%s (%s), %v done", r.Run.End, r.Run.Reason, r.Done())
	}
}

// TestNoRoom checks that a run does not begin if there is no room for its results.
func TestNoRoom(t *testing.T) {
	c, _ := testConfig(t)
	c.limits = &limits{
		ask:  time.Minute,
		gone: time.Minute,
		disk: 1 << 62,
	}
	if folder, err := c.Run(t.Context()); err == nil || folder != "" || !strings.Contains(err.Error(), "MB free") {
		t.Errorf("%q, %v", folder, err)
	}
}
