// Package clitest owns what tests of mullion's commands run them on: a machine with a data folder, and a cluster that
// is described there or answers on a socket. It is for tests alone.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/spec"
)

// Machine is what a test runs commands on: a data folder, a folder of programs and sources of its own.
type Machine struct {
	T       *testing.T
	Env     invoke.Env
	Paths   layout.Paths
	Sources reader.Sources
	// Commands makes the commands that are there.
	Commands func(*reader.Reader) []*cobra.Command
	// Root makes the whole command line in place of Commands; it may be nil.
	Root func(*reader.Reader) *cobra.Command
}

// New returns a machine without a cluster, whose user is root.
func New(t *testing.T) *Machine {
	t.Helper()
	dir := t.TempDir()
	m := &Machine{T: t, Paths: layout.Paths{Data: filepath.Join(dir, "data"), Bin: filepath.Join(dir, "bin")}}
	m.Sources.Patience = reader.Patience
	m.Env.Executable = filepath.Join(m.Paths.Bin, "mullion")
	m.Env.Environ = []string{
		"MULLION_DATA_DIR=" + m.Paths.Data, "HOME=" + dir,
		"MULLION_CACHE_DIR=" + filepath.Join(dir, "cache"),
	}
	return m
}

// Write writes a file of the machine.
func (m *Machine) Write(path, text string) {
	m.T.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		m.T.Fatal(err)
	}
}

// Describe puts a cluster with a Linux node and a Windows node into the data folder; nothing runs it.
func (m *Machine) Describe(change func(*spec.Cluster)) {
	m.T.Helper()
	c := spec.Default([]string{"ltsc2022"}, false, "").WithDefaults()
	if change != nil {
		change(&c)
	}
	text, err := json.Marshal(c)
	if err != nil {
		m.T.Fatal(err)
	}
	m.Write(m.Paths.Spec(), string(text))
}

// Joined makes the cluster another machine's.
func Joined(c *spec.Cluster) {
	c.Join = &spec.Join{
		Server:  "https://192.0.2.10:6443",
		Part:    3,
		Address: "192.0.2.13",
	}
	c.Networking.AdvertiseAddress, c.Networking.UnderlaySubnet = "192.0.2.10", "10.213.0.0/16"
	c.Networking.APIServerAddress = "192.0.2.10"
}

// Several lets other machines join.
func Several(c *spec.Cluster) {
	*c = spec.Default([]string{"ltsc2022"}, false, "192.0.2.10").WithDefaults()
}

// Host writes the description of the Windows node's host, which says that it is or was there.
func (m *Machine) Host() {
	const node = "win-1"
	m.T.Helper()
	text, err := json.Marshal(winhost.Host{Name: node, Netns: filepath.Join(m.Paths.Data, "no-namespace")})
	if err != nil {
		m.T.Fatal(err)
	}
	m.Write(filepath.Join(m.Paths.Node(node), "host.json"), string(text))
}

// Reader returns how commands read this machine's cluster.
func (m *Machine) Reader(env invoke.Env) *reader.Reader {
	call := &invoke.Call{
		Env:     env,
		DataDir: m.Paths.Data,
		Lock: func(ctx context.Context, _ layout.Paths) (context.Context, *hold.Held, error) {
			return ctx, &hold.Held{}, nil
		},
	}

	return &reader.Reader{Call: call, Sources: m.Sources}
}

// Run runs a command as main does.
func (m *Machine) Run(args ...string) Outcome { return m.RunIn(m.T.Context(), args...) }

// RunIn runs a command that ends with ctx.
func (m *Machine) RunIn(ctx context.Context, args ...string) Outcome {
	m.T.Helper()
	var out, errs bytes.Buffer
	env := m.Env
	if env.In == nil {
		env.In = strings.NewReader("")
	}
	env.Args = args
	env.Out, env.Err = &out, &errs
	err := m.Execute(ctx, env)
	tidy := strings.NewReplacer(m.Paths.Data, "DATA", m.Paths.Bin, "BIN", filepath.Dir(m.Paths.Data), "TMP")
	return Outcome{tidy.Replace(out.String()), tidy.Replace(errs.String()), exit.Code(err)}
}

// Execute runs the command of an environment.
func (m *Machine) Execute(ctx context.Context, env invoke.Env) error {
	r := m.Reader(env)
	if m.Root != nil {
		return frame.Run(ctx, r.Call, m.Root(r))
	}
	root := frame.Root(r.Call) //nolint:contextcheck // cobra hands the context to each command
	root.AddCommand(m.Commands(r)...)
	return frame.Run(ctx, r.Call, root)
}

// Outcome is what a command left.
type Outcome struct {
	Out, Err string
	Code     int
}

// Check compares all that a command left with what it is to leave.
func (r Outcome) Check(t *testing.T, code int, out, err string) {
	t.Helper()
	want := Outcome{
		Out:  out,
		Err:  err,
		Code: code,
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("what was printed, and the exit code:\n%s", diff)
	}
}

// Refused compares what a command said that did nothing: what is wrong and what to do.
func (r Outcome) Refused(t *testing.T, code int, what, remedy string) {
	t.Helper()
	want := "mullion: " + what + "\n"
	if remedy != "" {
		want += "→ " + remedy + "\n"
	}
	r.Check(t, code, "", want)
}

// Has holds that both texts have lines that begin so.
func (r Outcome) Has(t *testing.T, code int, lines ...string) {
	t.Helper()
	if r.Code != code {
		t.Errorf("exit code %d, want %d", r.Code, code)
	}
	for _, line := range lines {
		if !strings.Contains("\n"+r.Out+"\n"+r.Err, "\n"+line) {
			t.Errorf("no line begins with %q in:\n%s%s", line, r.Out, r.Err)
		}
	}
}
