package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/internal/conformance/runner"
)

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

	run.Start = seenAt
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
	results := filepath.Join(filepath.Dir(m.paths.Data), "results")
	m.run("conformance", "report", "--results", results).refused(t, ExitNotFound,
		`no run of suite "smoke" in "TMP/results"`,
		"`mullion conformance run` makes one; --results names another folder")
	ran(t, results, "20260101T000000Z", result.Complete, result.Passed)
	folder := ran(t, results, "20260102T000000Z", result.Complete, result.Passed, result.Failed, result.Skipped)
	got := m.run("conformance", "report", "smoke", "--results", results)
	page := "TMP/results/smoke/20260102T000000Z/index.html"
	got.check(t, ExitOK, "\n3 specs: 1 failed 1 passed 1 skipped\n  1 failed: unknown\n"+page+"\n", "")
	if _, err := os.Stat(filepath.Join(folder, "index.html")); err != nil {
		t.Error(err)
	}
	m.run("conformance", "report", "a", "b").refused(t, ExitUsage,
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
		{name: "one-fails", states: []result.State{result.Failed}, code: ExitDifferent},
		{name: "flaky-is-no-failure", states: []result.State{result.Flaky}},
		{name: "not-begun", err: needs, code: ExitRequirement, text: "no Windows node", remedy: "add one"},
		{name: "not-begun-for-another-reason", err: errors.New("the moon"), code: ExitInternal, text: "the moon"},
		{
			name:   "cut-short",
			states: []result.State{result.Passed},
			err:    errors.New("interrupted"),
			code:   ExitInternal,
			text:   "the run is partial: interrupted",
			remedy: "`mullion conformance run smoke --resume` continues it",
		},
		{
			name:   "nothing-fits",
			states: []result.State{result.Passed},
			err:    needs,
			code:   ExitRequirement,
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
			err := (&app{Reader: readerOf(Env{Out: &out}, calls{})}).conformanceEnd(folder, "smoke", results, tt.err)
			remedy := ""
			if own, ok := errors.AsType[*Error](err); ok {
				remedy = own.Remedy
			}

			if ExitCode(err) != tt.code || (tt.text != "" && err.Error() != tt.text) || remedy != tt.remedy {
				t.Errorf("exit code %d, %v, %q", ExitCode(err), err, remedy)
			}
			if page := strings.Contains(out.String(), "index.html"); page != (folder != "") {
				t.Errorf("named a page: %v:\n%s", page, out.String())
			}
		})
	}
}

func TestResume(t *testing.T) {
	m := newMachine(t)
	results := filepath.Join(filepath.Dir(m.paths.Data), "results")
	run := []string{"conformance", "run", "--resume", "--kubeconfig", "other", "--results", results}
	m.run(run...).refused(t, ExitNotFound, `no run of suite "smoke" in "TMP/results" to continue`,
		"leave out --resume, or name the folder of the results with --results")
	ran(t, results, "20260101T000000Z", result.Complete, result.Passed)
	m.run(run...).refused(t, ExitUsage, `run 20260101T000000Z of suite "smoke" is complete`,
		"leave out --resume to run the suite again")
	partial := ran(t, results, "20260102T000000Z", result.Partial, result.Passed)
	if got, err := resumable(results, "smoke"); got != partial || err != nil {
		t.Errorf("goes on with %s, %v; want %s", got, err, partial)
	}
}

func TestConformanceRefusals(t *testing.T) {
	m := newMachine(t)
	m.run("conformance", "run", "--repo-list", "none.yaml").refused(t, ExitUsage, "--repo-list: open none.yaml: no such file or directory",
		"name a file of YAML, for example with the line: promoterE2eRegistry: registry.example.com/e2e-test-images")
	m.run("conformance", "run", "all").has(t, ExitUsage, "mullion: ", "→ `mullion conformance suites` describes each of them")
	for _, flag := range []string{"--nodes=0", "--flake-attempts=-1"} {
		m.run("conformance", "run", flag).refused(t, ExitUsage, "--nodes and --flake-attempts want at least 1",
			"see `mullion conformance run --help`")
	}

	m.run("conformance", "list").refused(t, ExitRequirement, `no e2e tests at "BIN/e2e/e2e.test"`,
		"install the package mullion-e2e; in a checkout, `make e2e` builds them; or name an e2e.test with --e2e-test")
	m.run("conformance", "run").has(t, ExitNotFound, `mullion: no cluster in "DATA"`)
	m.run("conformance", "critest").refused(t, ExitRequirement,
		"stat BIN/e2e/windows/critest.exe: no such file or directory",
		"`make critest` builds it; --critest names another critest.exe")
	m.describe(nil)
	m.run("conformance", "images").has(t, ExitRequirement, "mullion: ",
		"→ install the package mullion-e2e; in a checkout, `make e2e` builds the tests and the programs of their images")
	m.env.Euid = 1000
	m.run("conformance", "run").has(t, ExitRequirement, "mullion: this needs root, as it loads the tests' images into the nodes' stores, unless --kubeconfig names another")
}

// TestConformanceSelection holds that flags replace a suite's expressions, and that the suite is another one then.
func TestConformanceSelection(t *testing.T) {
	m := newMachine(t)
	program := filepath.Join(m.paths.Bin, "e2e", "e2e.test")
	const script = `#!/bin/sh
for a in "$@"; do case $a in
	--ginkgo.json-report=*) echo '[{"SpecReports": []}]' > "${a#*=}" ;;
	--ginkgo.focus=*|--ginkgo.skip=*|--storage.testdriver=*) echo "$a" >> "$0.asked" ;;
esac; done
`

	m.write(program, script)
	driver := filepath.Join(m.paths.Bin, "driver.yaml")
	m.run("conformance", "list", "--storage-driver", driver).refused(t, ExitUsage, "--storage-driver: stat BIN/driver.yaml: no such file or directory",
		"name a file as test/e2e/testdata/csidriver/e2e.yaml")
	m.write(driver, "DriverInfo: {Name: some}\n")
	got := m.run("conformance", "list", "windows", "--focus", "Secrets", "--skip", "Slow", "--storage-driver", driver)
	asked, err := os.ReadFile(program + ".asked")
	if err != nil {
		t.Fatalf("%v: %s", err, got.err)
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
		now := seenAt
		tell := (&app{Reader: readerOf(Env{Out: &out, Terminal: terminal}, calls{})}).conformanceProgress(func() time.Time { return now })
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
