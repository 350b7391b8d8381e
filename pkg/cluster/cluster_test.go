package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine has a program in mullion's place, which notes what it is asked for, and does what a script says.
type machine struct {
	t        *testing.T
	dir      string
	provider *Provider
	said     []string
}

// script is the beginning of the program: it notes its arguments, and keeps the configuration.
const script = `#!/bin/sh
dir=%q
echo "$*" >> "$dir/asked"
case "$*" in
*" up -f "*) shift 4; cp "$1" "$dir/config" ;;
esac
`

func newMachine(t *testing.T, does string) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root runs the program without sudo")
	}
	m := &machine{t: t, dir: t.TempDir()}
	program := filepath.Join(m.dir, "mullion")
	if err := os.WriteFile(program, fmt.Appendf(nil, script+does, m.dir), 0o755); err != nil {
		t.Fatal(err)
	}

	m.provider = NewProvider(
		ProviderWithProgram(program),
		ProviderWithFolder(filepath.Join(m.dir, "clusters")),
		ProviderWithLogger(func(format string, args ...any) { m.said = append(m.said, fmt.Sprintf(format, args...)) }),
	)

	return m
}

// asked returns the command lines so far, without the paths of this test.
func (m *machine) asked() []string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "asked"))
	if err != nil {
		m.t.Fatal(err)
	}
	tidy := strings.NewReplacer(m.dir, "DIR")
	return strings.Split(strings.TrimSpace(tidy.Replace(string(text))), "\n")
}

// has makes the folder of a cluster.
func (m *machine) has(name string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Join(m.dir, "clusters", name), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func TestCreate(t *testing.T) {
	m := newMachine(t, `
echo '{"type":"unit","unit":"kubelet","node":"win-1","state":"ready","seconds":1.5}'
echo 'no event'
printf '{"type":"warning","message":"little memory"}'
`)

	err := m.provider.Create("shop", CreateWithWindowsVersions("ltsc2022", "ltsc2019"), CreateWithKubernetesVersion("1.35"),
		CreateWithKubeconfigPath("/k"), CreateWithWaitForReady(time.Minute), CreateWithRetain(true))
	if err != nil {
		t.Fatal(err)
	}

	asked := m.asked()
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "--data-dir DIR/clusters/shop up -f ") ||
		!strings.HasSuffix(asked[0], " -o json --wait 1m0s --retain --kubeconfig /k") {
		t.Errorf("it was asked for %q", asked)
	}
	if !slices.Contains(m.said, "kubelet win-1 is ready after 1.5 s ") {
		t.Errorf("it said %q", m.said)
	}

	text, err := os.ReadFile(filepath.Join(m.dir, "config"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"apiVersion":"mullion.dev/v1alpha1","kind":"Cluster","kubernetesVersion":"1.35","name":"shop","networking":` +
		`{"podSubnet":"10.130.0.0/16","serviceSubnet":"10.131.0.0/16","underlaySubnet":"10.213.100.0/24"},"nodes":[{"os":"linux"},` +
		`{"os":"windows","windowsVersion":"ltsc2022"},{"os":"windows","windowsVersion":"ltsc2019"}]}`

	if string(text) != want {
		t.Errorf("the configuration is %s, want %s", text, want)
	}
}

// TestCreateFindsSubnets: those that something else has are left to it.
func TestCreateFindsSubnets(t *testing.T) {
	m := newMachine(t, `grep -q 10.213.102 "$dir/config" || { echo "taken" >&2; exit 4; }
`)
	if err := m.provider.Create("", CreateWithKubeconfigPath("none")); err != nil {
		t.Fatal(err)
	}
	if asked := m.asked(); len(asked) != 3 || !strings.Contains(asked[0], "DIR/clusters/mullion up") {
		t.Errorf("it was asked for %q", asked)
	}

	m = newMachine(t, "exit 4\n")
	var failed *Error
	if err := m.provider.Create("x"); !errors.As(err, &failed) || failed.Code != 4 {
		t.Errorf("the error is %v", err)
	}
	if asked := m.asked(); len(asked) != mostClusters {
		t.Errorf("it was asked %d times", len(asked))
	}
}

// TestCreateFails has the program's own words, and does not try again.
func TestCreateFails(t *testing.T) {
	m := newMachine(t, `echo "mullion: Wine is missing" >&2; echo "→ apt install wine" >&2; exit 3
`)
	err := m.provider.Create("x")
	var failed *Error
	if !errors.As(err, &failed) || failed.Code != 3 || !strings.Contains(err.Error(), "apt install wine") ||
		!strings.HasPrefix(err.Error(), `create cluster "x": `) {
		t.Errorf("the error is %v", err)
	}

	if asked := m.asked(); len(asked) != 1 {
		t.Errorf("it was asked for %q", asked)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "clusters")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the empty folder of clusters is left (%v)", err)
	}

	m.has("other")
	if err := m.provider.Create("x"); !errors.As(err, &failed) {
		t.Errorf("the error is %v", err)
	}
	if all, err := m.provider.List(); err != nil || !slices.Equal(all, []string{"other"}) {
		t.Errorf("there are %q (%v)", all, err)
	}
}

func TestCreateIsRefused(t *testing.T) {
	m := newMachine(t, "")
	m.has("there")
	config := CreateWithRawConfig([]byte("x"))
	for name, tt := range map[string]struct {
		name    string
		options []CreateOption
		why     string
	}{
		"a-path":            {"../x", nil, "no name of a cluster"},
		"large-letters":     {"Shop", nil, "no name of a cluster"},
		"long":              {strings.Repeat("a", 43), nil, "no name of a cluster"},
		"there":             {"there", nil, "already is a cluster"},
		"two-configs":       {"x", []CreateOption{config, CreateWithConfigFile("y")}, "several configurations"},
		"config-and-option": {"x", []CreateOption{config, CreateWithWindowsVersions("ltsc2022")}, "beside a configuration"},
		"no-windows":        {"x", []CreateOption{CreateWithWindowsVersions()}, "no version of Windows"},
		"no-time":           {"x", []CreateOption{CreateWithWaitForReady(0)}, "is not to wait"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := m.provider.Create(tt.name, tt.options...); err == nil || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("the error is %v, want one with %q", err, tt.why)
			}
		})
	}

	if _, err := os.Stat(filepath.Join(m.dir, "asked")); err == nil {
		t.Errorf("it was asked for %q", m.asked())
	}
}

// TestCreateEnds with its context, and lets the program put things back.
func TestCreateEnds(t *testing.T) {
	m := newMachine(t, `trap 'echo removed >> "$dir/asked"; exit 1' TERM; touch "$dir/runs"; while :; do sleep 0.1; done
`)
	if err := m.createUntilItRuns(); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if asked := m.asked(); asked[len(asked)-1] != "removed" {
		t.Errorf("the program was not told: %q", asked)
	}
}

// TestCreateEndsUnderSudo: a sudo is root's, so by its own hand nobody else ends it.
func TestCreateEndsUnderSudo(t *testing.T) {
	// This one runs what it is given, and keeps the process groups of those who signal.
	const sudo = `#!/bin/sh
shift 2
case "$1" in
sh) read -r _ _ _ _ group _ < /proc/self/stat; [ "$group" = "$$" ] && echo signalled >> %[1]q/asked; %[2]s ;;
esac
exec "$@"
`

	const runs = `echo "$$" > "$dir/pid"
trap 'echo removed >> "$dir/asked"; exit 1' TERM
touch "$dir/runs"
i=0
while [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done
`

	for name, tt := range map[string]struct {
		kill, last, why string
	}{
		"told":    {":", "removed", ""},
		"refused": {"echo why >&2; exit 1", "signalled", "mullion goes on: tell it to end: exit status 1: why"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, runs)
			bin := filepath.Join(m.dir, "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(bin, "sudo"), fmt.Appendf(nil, sudo, m.dir, tt.kill), 0o755); err != nil {
				t.Fatal(err)
			}

			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			m.provider.root = false

			begin := time.Now()
			err := m.createUntilItRuns()
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("the error is %v", err)
			}
			if strings.Contains(err.Error(), "goes on") != (tt.why != "") || time.Since(begin) > 8*time.Second {
				t.Errorf("the error after %v is %v", time.Since(begin), err)
			}

			if asked := m.asked(); asked[len(asked)-1] != tt.last || !slices.Contains(asked, "signalled") {
				t.Errorf("there was %q", asked)
			}
			m.end()
		})
	}
}

// createUntilItRuns ends the context of Create as soon as the program runs.
func (m *machine) createUntilItRuns() error {
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(m.dir, "runs")); err == nil {
				cancel()
			}
			<-time.After(10 * time.Millisecond)
		}
	}()
	return m.provider.Create("x", CreateWithContext(ctx))
}

// end ends the program, if it still runs.
func (m *machine) end() {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "pid"))
	if err != nil {
		m.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		m.t.Fatal(err)
	}

	for begin := time.Now(); syscall.Kill(pid, syscall.SIGTERM) == nil; {
		if time.Since(begin) > 10*time.Second {
			m.t.Fatal("the program does not end")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestDelete(t *testing.T) {
	m := newMachine(t, `rmdir "$dir/clusters/x"
`)
	if err := m.provider.Delete("x", ""); err != nil { // there is none
		t.Fatal(err)
	}
	m.has("x")
	if err := m.provider.Delete("x", "/k"); err != nil {
		t.Fatal(err)
	}

	if want := []string{"--data-dir DIR/clusters/x down --quiet --kubeconfig /k"}; !slices.Equal(m.asked(), want) {
		t.Errorf("it was asked for %q", m.asked())
	}
	if all, err := m.provider.List(); err != nil || len(all) > 0 {
		t.Errorf("there are %q (%v)", all, err)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "clusters")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the clusters is left: %v", err)
	}
}

func TestList(t *testing.T) {
	m := newMachine(t, "")
	for _, name := range []string{"b", "a", "Not a cluster"} {
		m.has(name)
	}
	if err := os.WriteFile(filepath.Join(m.dir, "clusters", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := m.provider.List(); err != nil || !slices.Equal(all, []string{"a", "b"}) {
		t.Errorf("there are %q (%v)", all, err)
	}
}

func TestKubeConfig(t *testing.T) {
	m := newMachine(t, `echo "apiVersion: v1"
`)
	got, err := m.provider.KubeConfig("x", false)
	if err != nil || got != "apiVersion: v1\n" {
		t.Errorf("it is %q (%v)", got, err)
	}
	if _, err := m.provider.KubeConfig("x", true); err == nil {
		t.Error("there is one for programs inside of the cluster")
	}

	path := filepath.Join(m.dir, "kubeconfig")
	if err := m.provider.ExportKubeConfig("x", path, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v (%v)", info, err)
	}

	if err := m.provider.ExportKubeConfig("x", filepath.Join(m.dir, "none", "k"), false); err == nil {
		t.Error("it is written to a folder that is not there")
	}
}

func TestListNodes(t *testing.T) {
	m := newMachine(t, `echo '{"type":"warning","message":"x"}'
echo '{"type":"plan","nodes":[{"name":"win-1","os":"windows","address":"10.0.0.1","windowsVersion":"ltsc2022","more":1}]}'
exit 3
`)
	if _, err := m.provider.ListNodes("x"); err == nil {
		t.Error("a cluster that is not there has nodes")
	}
	m.has("x")
	nodes, err := m.provider.ListNodes("x") // the machine may lack what a new cluster takes
	if want := (Node{"win-1", "windows", "ltsc2022", "10.0.0.1"}); err != nil || len(nodes) != 1 || nodes[0] != want {
		t.Errorf("they are %v (%v)", nodes, err)
	}
}

func TestLogsAndImages(t *testing.T) {
	m := newMachine(t, `cat > "$dir/in"
`)
	if err := m.provider.CollectLogs("x", filepath.Join(m.dir, "logs")); err != nil {
		t.Fatal(err)
	}
	if err := m.provider.LoadImageArchive("x", strings.NewReader("archive")); err != nil {
		t.Fatal(err)
	}

	want := []string{"--data-dir DIR/clusters/x export logs DIR/logs", "--data-dir DIR/clusters/x image load -"}
	if !slices.Equal(m.asked(), want) {
		t.Errorf("it was asked for %q", m.asked())
	}
	if text, err := os.ReadFile(filepath.Join(m.dir, "in")); err != nil || string(text) != "archive" {
		t.Errorf("it was given %q (%v)", text, err)
	}
}

// TestNoProgram says what is missing.
func TestNoProgram(t *testing.T) {
	p := NewProvider(ProviderWithProgram("/none/mullion"))
	if _, err := p.KubeConfig("x", false); err == nil || !strings.Contains(err.Error(), "find mullion") {
		t.Errorf("the error is %v", err)
	}
}

// TestPlacesAreApart: the subnets of no two places overlap, nor do they with those of `mullion up`.
func TestPlacesAreApart(t *testing.T) {
	seen := map[string]bool{"10.213.0.0/24": true, "10.244.0.0/16": true, "10.96.0.0/16": true, "10.213.0.0/16": true}
	for place := range mostClusters {
		var config struct{ Networking map[string]string }
		if err := json.Unmarshal(newCreation("x").config(place), &config); err != nil {
			t.Fatal(err)
		}
		for _, subnet := range config.Networking {
			if seen[subnet] {
				t.Errorf("place %d has %s, which something else has", place, subnet)
			}
			seen[subnet] = true
		}
	}
}

// TestLines reads lines in whatever pieces they come, and none that have no end.
func TestLines(t *testing.T) {
	var got []string
	l := &lines{each: func(line []byte) { got = append(got, string(line)) }}
	for _, part := range []string{"a", "b\nc\n", strings.Repeat("x", mostLine), "y", "\n\nd\n"} {
		if n, err := l.Write([]byte(part)); err != nil || n != len(part) {
			t.Errorf("%d bytes are taken of %d (%v)", n, len(part), err)
		}
	}
	if want := []string{"ab", "c", "", "d"}; !slices.Equal(got, want) {
		t.Errorf("the lines are %.20q, want %q", got, want)
	}
}
