package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// machine is what a test runs commands on: a data folder, a folder of programs and calls of its own.
type machine struct {
	t     *testing.T
	env   Env
	paths layout.Paths
	calls calls
}

// newMachine is one without a cluster, whose user is root.
func newMachine(t *testing.T) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{t: t, paths: layout.Paths{Data: filepath.Join(dir, "data"), Bin: filepath.Join(dir, "bin")}}
	m.calls.Patience = apiPatience
	m.calls.hold = func(ctx context.Context, _ layout.Paths) (context.Context, *hold.Held, error) {
		return ctx, &hold.Held{}, nil
	}
	m.env.Executable = filepath.Join(m.paths.Bin, "mullion")
	m.env.Environ = []string{"MULLION_DATA_DIR=" + m.paths.Data, "HOME=" + dir}
	return m
}

// write writes a file of the machine.
func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// describe puts a cluster with a Linux node and a Windows node into the data folder; nothing runs it.
func (m *machine) describe(change func(*spec.Cluster)) {
	m.t.Helper()
	c := spec.Default([]string{"ltsc2022"}, false, "").WithDefaults()
	if change != nil {
		change(&c)
	}
	text, err := json.Marshal(c)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(m.paths.Spec(), string(text))
}

// outcome is what a command left.
type outcome struct {
	out, err string
	code     int
}

// run runs a command as main does.
func (m *machine) run(args ...string) outcome { return m.runIn(m.t.Context(), args...) }

func (m *machine) runIn(ctx context.Context, args ...string) outcome {
	m.t.Helper()
	var out, errs bytes.Buffer
	env := m.env
	if env.In == nil {
		env.In = strings.NewReader("")
	}
	env.Out, env.Err, env.Args = &out, &errs, args
	err := (&app{env: env, calls: m.calls}).run(ctx)
	tidy := strings.NewReplacer(m.paths.Data, "DATA", m.paths.Bin, "BIN", filepath.Dir(m.paths.Data), "TMP")
	return outcome{tidy.Replace(out.String()), tidy.Replace(errs.String()), ExitCode(err)}
}

// check compares all that a command left with what it is to leave.
func (r outcome) check(t *testing.T, code int, out, err string) {
	t.Helper()
	want := outcome{out: out, err: err, code: code}
	if diff := cmp.Diff(want, r, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("what was printed, and the exit code:\n%s", diff)
	}
}

// refused compares what a command said that did nothing: what is wrong and what to do.
func (r outcome) refused(t *testing.T, code int, what, remedy string) {
	t.Helper()
	want := "mullion: " + what + "\n"
	if remedy != "" {
		want += "→ " + remedy + "\n"
	}
	r.check(t, code, "", want)
}

// has holds that both texts have lines that begin so.
func (r outcome) has(t *testing.T, code int, lines ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	for _, line := range lines {
		if !strings.Contains("\n"+r.out+"\n"+r.err, "\n"+line) {
			t.Errorf("no line begins with %q in:\n%s%s", line, r.out, r.err)
		}
	}
}
