package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
)

// checkout returns a root with the file that marks one, and the module files of upstream's that the tests name.
func checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	return root
}

func builderOf(t *testing.T, root string, out *bytes.Buffer) *builder {
	t.Helper()
	b, err := newBuilder(root, append(os.Environ(), "MULLION_VERSION=v1.2.3"), out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

// TestOldBundle: Kubernetes 1.20 is built of its own module, and only when it is asked for.
func TestOldBundle(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	const old = "v1.20.15"
	steps, err := bundleOf(root, old)
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, s := range steps {
		names = append(names, s.name)
		if !slices.Equal(s.sets, []string{"bundle"}) {
			t.Errorf("%s is in %v", s.name, s.sets)
		}
		ofKubernetes := strings.Contains(s.name, "kube") // and not of its Linux nodes' runtime
		isOld := s.module == oldKubernetes && strings.Contains(s.ldflags, "client-go/pkg/version.gitVersion="+old)
		if ofKubernetes && !isOld {
			t.Errorf("%s: of %s, %s", s.name, s.module, s.ldflags)
		}
	}

	want := []string{"source-" + old, "hyperkube-" + old, "kubelet.exe-" + old, "containerd-" + old, "CNI plugin loopback"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}

	// What the two module files require is the same, apart from where Kubernetes' own source is.
	mods := map[string]string{}
	for _, name := range []string{"go.mod", "linux.mod"} {
		text, err := os.ReadFile(filepath.Join(root, oldKubernetes, name))
		if err != nil {
			t.Fatal(err)
		}
		mods[name] = string(text)
	}

	const source = "k8s.io/kubernetes => ../../../bin/.kubernetes-1.20"
	var lines []string
	for line := range strings.Lines(mods["linux.mod"]) {
		if !strings.Contains(line, source) {
			lines = append(lines, line)
		}
	}
	if strings.TrimSpace(strings.Join(lines, "")) != strings.TrimSpace(mods["go.mod"]) {
		t.Errorf("linux.mod is not go.mod with %q", source)
	}

	if _, err := bundleOf(root, "v1.19.0"); err == nil || !strings.Contains(err.Error(), old) {
		t.Errorf("of a version that is not there: %v", err)
	}
}

// TestTable: names are one step's, what a step needs stands before it, module files are there and have the versions
// that the linker is told.
func TestTable(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}

	b := &builder{
		root:    root,
		bin:     filepath.Join(root, "bin"),
		version: "v1.2.3",
		jobs:    2,
	}

	seen := map[string]bool{}
	for _, s := range table() {
		if seen[s.name] || len(s.sets) == 0 || s.why == "" {
			t.Errorf("%q: not the only one of its name, or without a set or a reason: %+v", s.name, s)
		}
		for _, need := range s.needs {
			if !seen[need] {
				t.Errorf("%s needs %q, which is not before it", s.name, need)
			}
		}

		seen[s.name] = true
		if s.run != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, s.module, "go.mod")); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}

		if ldflags, err := b.expand(s); err != nil || strings.ContainsAny(ldflags, "{}") {
			t.Errorf("%s: %q, %v", s.name, ldflags, err)
		}
	}
}

// TestKubernetesVersion: the version that the programs say is that of their module files.
func TestKubernetesVersion(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"go.mod", linuxModfile} {
		if got, err := versionIn(filepath.Join(root, kubernetes, file), "k8s.io/kubernetes"); err != nil || got != kubernetesVersion {
			t.Errorf("%s has %q, %v; the table %s", file, got, err, kubernetesVersion)
		}
	}
}

func TestChoose(t *testing.T) {
	steps := []step{
		{name: "a", sets: []string{"all"}},
		{name: "b", sets: []string{"some"}, needs: []string{"a"}},
		{name: "c", sets: []string{"all"}, needs: []string{"b"}},
		{name: "d", sets: []string{"other"}},
	}

	for name, test := range map[string]struct {
		names []string
		want  []string
		err   string
	}{
		"step_with_needs": {[]string{"b"}, []string{"a", "b"}, ""},
		"far_needs":       {[]string{"c"}, []string{"a", "b", "c"}, ""},
		"set":             {[]string{"all", "d"}, []string{"a", "b", "c", "d"}, ""},
		"unknown":         {[]string{"a", "nothing"}, nil, `"nothing" is neither a step nor a set`},
		"none":            {nil, nil, "name what to build"},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := choose(steps, test.names)
			var got []string
			for _, s := range chosen {
				got = append(got, s.name)
			}

			if (err == nil) != (test.err == "") || (err != nil && !strings.Contains(err.Error(), test.err)) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUp: what `make up` builds is what a cluster runs, and no more.
func TestUp(t *testing.T) {
	steps, err := choose(table(), []string{"up"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if slices.Contains([]string{"mullion-agent.exe", "crictl.exe", "agnhost", "agnhost.exe", "mullion-vm", "mullion-nat", "kubectl-mullion"}, s.name) {
			t.Errorf("up does not run %s", s.name)
		}
	}
}

// TestNoTrace: the command has no pages of gRPC's traces, for which it would be nine megabytes larger.
func TestNoTrace(t *testing.T) {
	steps, err := choose(table(), []string{"mullion"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if slices.Contains(s.packages, "./cmd/mullion") && !slices.Contains(s.flags, noTrace) {
			t.Errorf("%s is built without %s", s.name, noTrace)
		}
	}
}

// TestUpstream: a module of upstream/cluster has programs of a release, one of upstream/test has none of them.
func TestUpstream(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}

	released, used := map[string]bool{}, map[string]bool{}
	for _, s := range table() {
		used[s.module] = true
		if slices.Contains(s.sets, "build") {
			released[s.module] = true
		}
	}

	for folder, want := range map[string]bool{"upstream/cluster": true, "upstream/test": false} {
		modules, err := filepath.Glob(filepath.Join(root, folder, "*", "go.mod"))
		if err != nil || len(modules) < 5 {
			t.Fatalf("%s has only %q, %v", folder, modules, err)
		}

		for _, file := range modules {
			name := filepath.Join(folder, filepath.Base(filepath.Dir(file)))
			if name == oldKubernetes || name == oldContainerd { // built when a person asks for it (TestOldBundle)
				continue
			}
			if !used[name] || released[name] != want {
				t.Errorf("%s: a step uses it: %v; a release has programs of it: %v, want %v", name, used[name], released[name], want)
			}
		}
	}
}

// TestSides: steps of different systems run side by side, those of one system one after the other, and a step after
// what it needs.
func TestSides(t *testing.T) {
	root := checkout(t, nil)
	var out bytes.Buffer
	b := builderOf(t, root, &out)
	wait := func(file string) []string {
		return []string{"sh", "-c", "for i in $(seq 200); do [ -e " + file + " ] && exit 0; sleep 0.05; done; exit 1"}
	}

	steps := []step{
		{name: "one", system: "linux", run: wait("b")}, // ends only if two, of another system, runs meanwhile
		{name: "after", system: "linux", needs: []string{"last"}, run: []string{"sh", "-c", "[ -e c ]"}},
		{name: "two", system: "windows", run: []string{"touch", "b"}},
		{name: "last", system: "windows", run: []string{"touch", "c"}},
	}
	if err := b.build(t.Context(), steps, 2); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}

	for _, want := range []string{"ok   one ", "ok   after ", "ok   two ", "ok   last "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// TestFails: what a step says is printed when it does not succeed, with what to do; the others end.
func TestFails(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"says_why": {"echo no such thing; exit 3", "no such thing"},
		"download": {
			"echo 'go: downloading k8s.io/api v0.37.1'; echo 'x.go:1: k8s.io/api@v0.37.1: Get \"x\": dial tcp: i/o timeout' >&2; exit 1",
			"k8s.io/api@v0.37.1",
		},
		"disk": {"echo 'write x: no space left on device'; exit 1", "the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			b := builderOf(t, checkout(t, nil), &out)
			err := b.build(t.Context(), []step{
				{name: "broken", system: "linux", run: []string{"sh", "-c", test.script}},
				{name: "other", system: "windows", run: []string{"sleep", "60"}},
			}, 2)
			if err == nil || !strings.Contains(err.Error(), "broken: exit status") {
				t.Fatalf("error %v", err)
			}

			text := out.String() + err.Error()
			if !strings.Contains(text, test.want) || !strings.Contains(text, "FAIL broken") {
				t.Errorf("no %q in:\n%s", test.want, text)
			}
		})
	}
}

// TestInterrupted: a build that is ended ends what it has started, and says nothing of a failure.
func TestInterrupted(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	root := checkout(t, nil)
	var out bytes.Buffer
	b := builderOf(t, root, &out)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for start := time.Now(); time.Since(start) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(root, "begun")); err == nil {
				break
			}
		}
		stop()
	}()

	start := time.Now()
	err := b.build(ctx, []step{{
		name: "long", system: "linux", run: []string{"sh", "-c", "trap 'touch undone; exit 1' INT; touch begun; sleep 60 & wait"},
	}}, 1)
	took := time.Since(start)
	if !errors.Is(err, context.Canceled) || took > 9*time.Second || strings.Contains(out.String(), "FAIL") {
		t.Errorf("after %s: %v\n%s", took, err, out.String())
	}

	if _, err := os.Stat(filepath.Join(root, "undone")); err != nil {
		t.Errorf("the step was not interrupted, so it could undo nothing: %v", err)
	}
}

// TestUpToDate: a step of upstream's is made again if its module, its flags or its program changed, and only then.
func TestUpToDate(t *testing.T) {
	root := checkout(t, map[string]string{"upstream/x/go.mod": "module x\n", "bin/x": "program"})
	var out bytes.Buffer
	b := builderOf(t, root, &out)
	s := step{
		name:     "x",
		module:   "upstream/x",
		packages: []string{"."},
		to:       "x",
		system:   "linux",
	}
	if b.upToDate(s) {
		t.Error("up to date before it was ever made")
	}

	stamp, err := b.stamp(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.record.keep(s.name, made{Stamp: stamp}); err != nil {
		t.Fatal(err)
	}

	b.record = readRecord(b.record.file)
	if !b.upToDate(s) {
		t.Error("not up to date after it was made")
	}

	changed := s
	changed.ldflags = "-s"
	if b.upToDate(changed) {
		t.Error("up to date with other flags")
	}

	if err := os.WriteFile(filepath.Join(root, "upstream/x/go.mod"), []byte("module x\n\ngo 1.26\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b.upToDate(s) {
		t.Error("up to date with another module file")
	}
	if err := os.WriteFile(filepath.Join(root, "upstream/x/go.mod"), []byte("module x\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	if err := os.Remove(filepath.Join(root, "bin/x")); err != nil {
		t.Fatal(err)
	}
	if b.upToDate(s) {
		t.Error("up to date without its program")
	}
	if b.upToDate(step{name: "own", packages: []string{"./cmd/mullion"}}) {
		t.Error("a program of Mullion's own is always given to the go command")
	}
}

// TestRecordOfAnother: a record that cannot be read is as none.
func TestRecordOfAnother(t *testing.T) {
	root := checkout(t, map[string]string{"bin/.build.json": "{not json", "bin/null.json": "null"})
	for _, name := range []string{".build.json", "null.json", "none.json"} {
		r := readRecord(filepath.Join(root, "bin", name))
		if err := r.keep("a", made{Packages: 1}); err != nil || r.made("a").Packages != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStatus: how far a step is, by what the go command prints of it.
func TestStatus(t *testing.T) {
	r := &running{
		step: step{name: "x"},
		cold: made{Packages: 3},
		from: time.Now(),
	}

	check := func(want string) {
		t.Helper()
		if got := r.status(); !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}

	r.line("go: downloading k8s.io/api v0.37.1")
	check("downloading module 1, k8s.io/api@v0.37.1")
	r.line("internal/cpu")
	r.line("k8s.io/api/core/v1")
	check("2 packages compiled, of about 3")
	r.line("mullion.dev/mullion/cmd/mullion")
	check("3 packages compiled, linking")
	r.line("# mullion.dev/mullion/cmd/mullion")
	r.line("cmd/mullion/main.go:1:1: expected 'package'")
	if want := "# mullion.dev/mullion/cmd/mullion\ncmd/mullion/main.go:1:1: expected 'package'\n"; r.text() != want {
		t.Errorf("said %q", r.text())
	}

	r.line(strings.Repeat("long ", lastOutput))
	if len(r.text()) > lastOutput {
		t.Errorf("%d bytes are kept", len(r.text()))
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		line    string
		columns int
		want    string
	}{{"short", 10, "short"}, {"longer", 4, "lon…"}, {"añb…", 4, "añb…"}, {"x", 0, "…"}} {
		if got := cut(test.line, test.columns); got != test.want {
			t.Errorf("cut(%q, %d) = %q", test.line, test.columns, got)
		}
	}
}

// TestColdRecord: the time of a build from empty caches is known of all that make up builds, and of nothing else it is
// guessed.
func TestColdRecord(t *testing.T) {
	steps, err := choose(table(), []string{"up"})
	if err != nil {
		t.Fatal(err)
	}
	r := readRecord(filepath.Join(t.TempDir(), "none"))
	if took := r.timeOf(steps); took < time.Minute {
		t.Errorf("make up took %s", took)
	}
	if took := r.timeOf(append(steps, step{name: "never measured"})); took != 0 {
		t.Errorf("with a step that was never measured it took %s", took)
	}
}

// TestCountStep: a package counts again where its version, its system or what it imports differs, and only then.
func TestCountStep(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	list := func(version string) []byte {
		return []byte("unsafe\t\t\t\t\nerrors\t\t" + dir + "\ta.go \t\n" +
			"x/leaf\tx@" + version + "\t" + dir + "\ta.go \terrors \n" +
			"y\ty@v1.0.0\t" + dir + "\ta.go \tx/leaf \n")
	}

	seen := map[[32]byte]bool{}
	for _, tt := range []struct {
		system, version string
		compiled        int64
	}{{"linux", "v1.0.0", 3}, {"linux", "v1.0.0", 0}, {"linux", "v1.1.0", 2}, {"windows", "v1.1.0", 3}} {
		packages, compiled, size := countStep(step{system: tt.system}, list(tt.version), seen)
		if packages != 3 || compiled != tt.compiled || size != 100*tt.compiled {
			t.Errorf("%s %s: %d packages, %d compiled, %d bytes", tt.system, tt.version, packages, compiled, size)
		}
	}
}
