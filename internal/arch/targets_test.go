package arch_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// targets returns what `make NAME` may be told: the Makefile's rules, the parts, and those of its patterns.
func targets(t *testing.T) []string {
	t.Helper()
	makefile := strings.ReplaceAll(read(t, filepath.Join(root, "Makefile")), "\\\n", " ")
	parts := regexp.MustCompile(`(?m)^PARTS := (.*)$`).FindStringSubmatch(makefile)
	if parts == nil {
		t.Fatal("the Makefile has no PARTS")
	}

	all := append(strings.Fields(parts[1]), "test-NAME", "conformance-NAME")
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):.*##`).FindAllStringSubmatch(makefile, -1) {
		all = append(all, m[1])
	}

	for _, name := range suites(t) {
		if strings.HasPrefix(name, "conformance-") {
			all = append(all, name)
		}
		all = append(all, "test-"+name)
	}

	return all
}

// suites returns the names that hack/suite.sh lists.
func suites(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack/suite.sh")).Output()
	if err != nil {
		t.Fatal(err)
	}

	var all []string
	for line := range strings.Lines(string(out)) {
		all = append(all, strings.Fields(line)[0])
	}
	return all
}

// mostTargets is how many a person is shown: the parts, the suites of tests, and those of Kubernetes' tests are one
// each.
const mostTargets = 20

func TestTargetsAreFew(t *testing.T) {
	shown := regexp.MustCompile(`(?m)^[^\s#]+:.*##`).FindAllString(read(t, filepath.Join(root, "Makefile")), -1)
	if len(shown) > mostTargets || len(shown) < 10 {
		t.Errorf("make help shows %d targets, at most %d: what is rarely wanted is a script of hack/README.md", len(shown), mostTargets)
	}
}

// TestTargetsAreThere looks for each `make NAME` that documents, messages and scripts tell somebody to run.
func TestTargetsAreThere(t *testing.T) {
	known := targets(t)
	const name = "make ([a-z][a-z0-9.-]*(?:NAME|[a-z0-9]))"
	command := regexp.MustCompile("(?:`|run |run: |sudo )" + name + "|: " + name + "[\"`)]")
	found := 0
	for _, path := range files(t, ".md", ".go", ".sh", ".yml", ".yaml", ".txtar", ".txt", ".json") {
		if strings.Contains(path, "/testdata/fuzz/") || strings.Contains(path, "/guest/powershell/") {
			continue
		}
		for _, m := range command.FindAllStringSubmatch(read(t, path), -1) {
			found++
			if target := m[1] + m[2]; target != "it" && !slices.Contains(known, target) {
				t.Errorf("%s: `make %s` is no target", path, target)
			}
		}
	}

	if found < 100 {
		t.Errorf("found only %d commands", found)
	}
}

// TestHackIsListed looks for each script and program of hack in the page that says what they are behind.
func TestHackIsListed(t *testing.T) {
	page := read(t, filepath.Join(root, "hack/README.md"))
	entries, err := os.ReadDir(filepath.Join(root, "hack"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "README.md" && !strings.Contains(page, "]("+e.Name()+")") {
			t.Errorf("hack/README.md does not say what %s is for", e.Name())
		}
	}
}

// TestSuites runs each suite with everything that it calls replaced: it installs, builds or tests something, and a
// suite that is listed is one that runs.
func TestSuites(t *testing.T) {
	checkout, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := filepath.Join(checkout, "hack/suite.sh")
	stub := "#!/bin/sh\necho \"$(basename \"$0\") $*\" >>" + calls + "\n"
	texts := map[string]string{
		"hack/suite.sh":               read(t, filepath.Join(root, "hack/suite.sh")),
		"bin/go":                      stub + "case \"$*\" in *' -list '*) echo TestOne ;; esac\n",
		"bin/id":                      "#!/bin/sh\necho 0\n", // root
		"dist/mullion_v1_image.tar":   "",
		"dist/kubectl-mullion.tar.gz": "",
	}

	scripts, err := filepath.Glob(filepath.Join(root, "hack/*.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		if name := "hack/" + filepath.Base(s); name != "hack/suite.sh" {
			texts[name] = stub
		}
	}

	for name, text := range texts {
		file := filepath.Join(checkout, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	run := func(t *testing.T, name string) ([]byte, string, error) {
		t.Helper()
		if err := os.WriteFile(calls, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), script, name)
		cmd.Env = []string{"PATH=" + filepath.Join(checkout, "bin") + ":/usr/bin:/bin", "HOME=" + checkout}
		out, err := cmd.CombinedOutput()
		return out, read(t, calls), err
	}

	for _, name := range suites(t) {
		t.Run(name, func(t *testing.T) {
			out, called, err := run(t, name)
			if err != nil || len(bytes.TrimSpace(out)) != 0 || called == "" {
				t.Errorf("%v, called\n%s\n%s", err, called, out)
			}
			t.Logf("it called\n%s", called)
		})
	}

	for name, want := range map[string]string{
		"fuzz":                "fuzz.sh 1m\n",
		"conformance-serial":  "deps.sh \ngo run ./hack/build build sample e2e\nconformance.sh serial\n",
		"conformance-storage": "deps.sh \ngo run ./hack/build build sample e2e csi\nstorage.sh \n",
		"wines":               "deps.sh machines\ngo run ./hack/build build sample\ntry-wine.sh trixie\n",
	} {
		if _, called, _ := run(t, name); called != want {
			t.Errorf("%s called\n%s, want\n%s", name, called, want)
		}
	}

	out, called, err := run(t, "nothing")
	if err == nil || called != "" || !strings.Contains(string(out), "there is no suite nothing") {
		t.Errorf("a suite that is not there: %v, called %q\n%s", err, called, out)
	}
}

// TestSuiteRefuses runs hack/suite.sh with a go and an id of its own: a test by a name that is not there, and tests
// that leave themselves out without root, are no success.
func TestSuiteRefuses(t *testing.T) {
	bin := t.TempDir()
	for name, text := range map[string]string{
		"go": `case "$*" in *" -list ^TestThere"*) echo TestThere ;; esac; echo "ran: $*" >>"$RAN"`,
		"id": `echo "$USER_ID"`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct{ suite, run, user, said string }{
		{"cluster", "TestThere", "0", ""},
		{"cluster", "TestThere/part", "0", ""},
		{"cluster", "TestNowhere", "0", "there is no test ^TestNowhere$ in ./test/e2e\n"},
		{"cluster", "TestThere", "1000", "these tests need root (network namespaces, mounts): run sudo make test-cluster\n"},
		{"overload", "", "1000", "these tests need root (network namespaces, mounts): run sudo make test-overload\n"},
		{"chaos", "", "1000", "these tests need root (network namespaces, mounts): run sudo make test-chaos\n"},
	} {
		ran := filepath.Join(t.TempDir(), "ran")
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "hack/suite.sh"), tt.suite)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "RUN="+tt.run, "USER_ID="+tt.user, "RAN="+ran)
		var said bytes.Buffer
		cmd.Stderr = &said
		err := cmd.Run()
		if (err == nil) != (tt.said == "") || said.String() != tt.said {
			t.Errorf("%+v: %v, %q", tt, err, &said)
		}

		text, _ := os.ReadFile(ran) // nothing, if go was not called
		if tested := strings.Contains(string(text), "-run ^TestThere"); tested != (tt.said == "") {
			t.Errorf("%+v: the tests ran: %t\n%s", tt, tested, text)
		}
		if tt.user != "0" && len(text) > 0 {
			t.Errorf("%+v: something was built first: %s", tt, text)
		}
	}
}
