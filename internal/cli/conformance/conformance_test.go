package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/internal/conformance/runner"
)

func newMachine(t *testing.T) *clitest.Machine {
	t.Helper()
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command {
		return []*cobra.Command{New(r, func() (string, error) { return m.Paths.Kubernetes("").Kubectl(), nil })}
	}
	return m
}

// ran writes a run of the suite smoke into a folder of results, and gives its own folder.
func ran(t *testing.T, results, id string, end result.End, states ...result.State) string {
	t.Helper()
	run := result.Run{
		ID:        id,
		Suite:     "smoke",
		Server:    "v1.36.3",
		Test:      "v1.36.3",
		Processes: 1,
		End:       end,
		Emulated:  true,
	}

	run.Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, s := range states {
		run.Planned = append(run.Planned, "[sig-node] spec "+string(s))
	}

	f, err := result.Create(results, run)
	if err != nil {
		t.Fatal(err)
	}

	for i, s := range states {
		one := result.Spec{
			Number:  i + 1,
			Name:    run.Planned[i],
			State:   s,
			Seconds: 1.5,
			Start:   run.Start,
		}

		if s == result.Failed {
			one.Message = "it was not to be"
		}
		if err := f.Add(one, "", ""); err != nil {
			t.Fatal(err)
		}
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	return f.Path
}

func TestConformanceReport(t *testing.T) {
	m := newMachine(t)
	results := filepath.Join(filepath.Dir(m.Paths.Data), "results")
	m.Run("conformance", "report", "--results", results).Refused(t, exit.NotFound,
		`no run of suite "smoke" in "TMP/results"`,
		"`mullion conformance run` makes one; --results names another folder")
	ran(t, results, "20260101T000000Z", result.Complete, result.Passed)
	folder := ran(t, results, "20260102T000000Z", result.Complete, result.Passed, result.Failed, result.Skipped)
	got := m.Run("conformance", "report", "smoke", "--results", results)
	page := "TMP/results/smoke/20260102T000000Z/index.html"
	got.Check(t, exit.OK, "\n3 specs: 1 failed 1 passed 1 skipped\n  1 failed: unknown\n"+page+"\n", "")
	if _, err := os.Stat(filepath.Join(folder, "index.html")); err != nil {
		t.Error(err)
	}

	m.Run("conformance", "report", "a", "b").Refused(t, exit.Usage,
		"`mullion conformance report` takes one suite, got 2 arguments", "`mullion conformance suites` lists them")
}

// TestConformanceEnd holds what the exit code says of a run: its specs, or that there is none, or a part of one.
func TestConformanceEnd(t *testing.T) {
	needs := &runner.Error{Err: errors.New("no Windows node"), Remedy: "add one"}
	for _, tt := range []struct {
		name   string
		states []result.State // none: there is no run
		err    error
		code   int
		text   string
		remedy string
	}{
		{name: "all-pass", states: []result.State{result.Passed, result.Skipped}},
		{name: "one-fails", states: []result.State{result.Failed}, code: exit.Different},
		{name: "flaky-is-no-failure", states: []result.State{result.Flaky}},
		{name: "not-begun", err: needs, code: exit.Requirement, text: "no Windows node", remedy: "add one"},
		{name: "not-begun-for-another-reason", err: errors.New("the moon"), code: exit.Internal, text: "the moon"},
		{
			name:   "cut-short",
			states: []result.State{result.Passed},
			err:    errors.New("interrupted"),
			code:   exit.Internal,
			text:   "the run is partial: interrupted",
			remedy: "`mullion conformance run smoke --resume` continues it",
		},
		{
			name:   "nothing-fits",
			states: []result.State{result.Passed},
			err:    needs,
			code:   exit.Requirement,
			text:   "no Windows node",
			remedy: "add one",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			results, folder := t.TempDir(), ""
			if len(tt.states) > 0 {
				folder = ran(t, results, "20260102T000000Z", result.Complete, tt.states...)
			}

			var out strings.Builder
			a := &commands{Reader: clitest.New(t).Reader(invoke.Env{Out: &out})}
			err := a.end(folder, "smoke", results, tt.err)
			remedy := ""
			if own, ok := errors.AsType[*exit.Error](err); ok {
				remedy = own.Remedy
			}

			if exit.Code(err) != tt.code || (tt.text != "" && err.Error() != tt.text) || remedy != tt.remedy {
				t.Errorf("exit code %d, %v, %q", exit.Code(err), err, remedy)
			}
			if page := strings.Contains(out.String(), "index.html"); page != (folder != "") {
				t.Errorf("named a page: %v:\n%s", page, out.String())
			}
		})
	}
}

func TestResume(t *testing.T) {
	m := newMachine(t)
	results := filepath.Join(filepath.Dir(m.Paths.Data), "results")
	run := []string{"conformance", "run", "--resume", "--kubeconfig", "other", "--results", results}
	m.Run(run...).Refused(t, exit.NotFound, `no run of suite "smoke" in "TMP/results" to continue`,
		"leave out --resume, or name the folder of the results with --results")
	ran(t, results, "20260101T000000Z", result.Complete, result.Passed)
	m.Run(run...).Refused(t, exit.Usage, `run 20260101T000000Z of suite "smoke" is complete`,
		"leave out --resume to run the suite again")
	partial := ran(t, results, "20260102T000000Z", result.Partial, result.Passed)
	if got, err := resumable(results, "smoke"); got != partial || err != nil {
		t.Errorf("goes on with %s, %v; want %s", got, err, partial)
	}
}

func TestConformanceRefusals(t *testing.T) {
	m := newMachine(t)
	m.Run("conformance", "run", "--repo-list", "none.yaml").Refused(t, exit.Usage, "--repo-list: open none.yaml: no such file or directory",
		"name a file of YAML, for example with the line: promoterE2eRegistry: registry.example.com/e2e-test-images")
	m.Run("conformance", "run", "all").Has(t, exit.Usage, "mullion: ", "→ `mullion conformance suites` describes each of them")
	for _, flag := range []string{"--nodes=0", "--flake-attempts=-1"} {
		m.Run("conformance", "run", flag).Refused(t, exit.Usage, "--nodes and --flake-attempts want at least 1",
			"see `mullion conformance run --help`")
	}

	m.Run("conformance", "list").Refused(t, exit.Requirement, `no e2e tests at "BIN/e2e/e2e.test"`,
		"install the package mullion-e2e; in a checkout, `make e2e` builds them; or name an e2e.test with --e2e-test")
	m.Run("conformance", "run").Has(t, exit.NotFound, `mullion: no cluster in "DATA"`)
	m.Run("conformance", "critest").Refused(t, exit.Requirement,
		"stat BIN/e2e/windows/critest.exe: no such file or directory",
		"`make critest` builds it; --critest names another critest.exe")
	m.Describe(nil)
	m.Run("conformance", "images").Has(t, exit.Requirement, "mullion: ",
		"→ install the package mullion-e2e; in a checkout, `make e2e` builds the tests and the programs of their images")
	m.Env.Euid = 1000
	m.Run("conformance", "run").Has(t, exit.Requirement, "mullion: this needs root, as it loads the tests' images into the nodes' stores, unless --kubeconfig names another")
}

// TestConformanceSelection holds that flags replace a suite's expressions, and that the suite is another one then.
func TestConformanceSelection(t *testing.T) {
	m := newMachine(t)
	program := filepath.Join(m.Paths.Bin, "e2e", "e2e.test")
	const script = `#!/bin/sh
for a in "$@"; do case $a in
	--ginkgo.json-report=*) echo '[{"SpecReports": []}]' > "${a#*=}" ;;
	--ginkgo.focus=*|--ginkgo.skip=*|--storage.testdriver=*) echo "$a" >> "$0.asked" ;;
esac; done
`

	m.Write(program, script)
	driver := filepath.Join(m.Paths.Bin, "driver.yaml")
	m.Run("conformance", "list", "--storage-driver", driver).Refused(t, exit.Usage, "--storage-driver: stat BIN/driver.yaml: no such file or directory",
		"name a file as test/e2e/testdata/csidriver/e2e.yaml")
	m.Write(driver, "DriverInfo: {Name: some}\n")
	got := m.Run("conformance", "list", "windows", "--focus", "Secrets", "--skip", "Slow", "--storage-driver", driver)
	asked, err := os.ReadFile(program + ".asked")
	if err != nil {
		t.Fatalf("%v: %s", err, got.Err)
	}

	if diff := cmp.Diff("--ginkgo.focus=Secrets\n--storage.testdriver="+driver+"\n--ginkgo.skip=Slow\n", string(asked)); diff != "" {
		t.Error(diff)
	}
}

func TestConformanceProgress(t *testing.T) {
	steps := []runner.Progress{
		{Text: "ask the cluster"},
		{Spec: &result.Spec{
			Name:    "good",
			State:   result.Passed,
			Seconds: 1.25,
		}, Done: 9, Total: 20},
		{
			Spec: &result.Spec{
				Name:    "bad",
				State:   result.Failed,
				Seconds: 61,
				Message: "first line\nsecond",
			},
			Done:   10,
			Total:  20,
			Failed: 1,
			Left:   4 * time.Minute,
		},
	}

	const good, bad = "ok         9/20    1.2s  good\n", "FAIL      10/20   61.0s  bad\n"
	const message = "                         first line\n"
	for terminal, want := range map[bool]string{
		false: "…    ask the cluster\n" + good + bad + message + "…    10/20, 1 failed, 3s, about 4m0s left\n",
		true: "\r\033[K…    ask the cluster\n\r\033[K" + good + "9/20, 0 failed, 2s\r\033[K" + bad + "\r\033[K" + message +
			"10/20, 1 failed, 3s, about 4m0s left",
	} {
		var out strings.Builder
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		a := &commands{Reader: clitest.New(t).Reader(invoke.Env{Out: &out, Terminal: terminal})}
		tell := a.progress(func() time.Time { return now })
		for _, step := range steps {
			now = now.Add(time.Second)
			tell(step)
		}

		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("terminal %v: %s", terminal, diff)
		}
	}
}

func TestWithRepoList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "repos.yaml")
	if err := os.WriteFile(file, []byte("promoterE2eRegistry: registry.example.com/e2e\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	environ := []string{"HOME=/root"}
	for list, want := range map[string]string{
		"": "", file: "KUBE_TEST_REPO_LIST=" + file,
		"https://example.com/repos.yaml": "KUBE_TEST_REPO_LIST=https://example.com/repos.yaml",
	} {
		got, err := withRepoList(environ, list)
		if err != nil || (want == "" && len(got) != 1) || (want != "" && (len(got) != 2 || got[1] != want)) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}

	if err := os.WriteFile(file, []byte("- a list\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := withRepoList(environ, file); err == nil {
		t.Errorf("a file that is no list of registries: %v", got)
	}
}
