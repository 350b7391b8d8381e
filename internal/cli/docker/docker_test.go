package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/spec"
)

// world is a machine on which commands are run.
type world struct {
	data, bin string
	euid      int
	environ   []string
	taken     map[string]bool // underlay subnets
	upErr     error
	up        []spec.Cluster // what was brought up
	down      []string       // folders that were taken down
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		data:  filepath.Join(dir, "data"),
		bin:   filepath.Join(dir, "bin"),
		taken: map[string]bool{},
	}

	program := cluster.DockerProgram(w.bin)
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs `mullion docker`, and returns what it printed.
func (w *world) run(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var text strings.Builder
	call := &invoke.Call{
		Env: invoke.Env{
			Args:       args,
			Environ:    w.environ,
			Euid:       w.euid,
			Out:        &text,
			Err:        &text,
			Executable: filepath.Join(w.bin, "mullion"),
		},
	}

	root := frame.Root(call)
	root.SetOut(&text)
	frame.Add(root, "", New(call, Calls{
		Preflight: func(context.Context, cluster.PreflightOptions) []preflight.Finding { return nil },
		Free: func(c spec.Cluster, _ layout.Paths) error {
			if w.taken[c.Networking.UnderlaySubnet] {
				return errors.New("taken")
			}
			return nil
		},
		Up: func(_ context.Context, o cluster.UpOptions) (spec.Cluster, error) {
			if w.upErr != nil {
				return o.Spec, w.upErr
			}
			w.up = append(w.up, o.Spec)
			return o.Spec, errors.Join(os.MkdirAll(o.Paths.Data, 0o700), o.Paths.SaveSpec(o.Spec))
		},
		Down: func(_ context.Context, paths layout.Paths, said func(string)) error {
			w.down = append(w.down, paths.Data)
			said("removed all")
			return nil
		},
	}))
	root.SetArgs(append([]string{"docker"}, args...))
	err = root.ExecuteContext(t.Context())

	return text.String(), err
}

func (w *world) paths() layout.Paths { return layout.Paths{Data: w.data, Bin: w.bin} }

// fails runs a command that has to end with a code, and an error and remedy with a text.
func (w *world) fails(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	_, err := w.run(t, args...)
	text := fmt.Sprint(err)
	if own, ok := errors.AsType[*exit.Error](err); ok {
		text += "\n" + own.Remedy
	}
	if exit.Code(err) != code || !strings.Contains(text, want) {
		t.Errorf("docker %q: code %d, want %d and %q: %s", args, exit.Code(err), code, want, text)
	}
}

func TestUp(t *testing.T) {
	w := newWorld(t)
	w.taken["10.217.0.0/24"] = true
	w.environ = []string{"SUDO_UID=4321"}
	out, err := w.run(t, "up", "--data-dir", w.data, "--name", "ci", "--windows-version", "ltsc2022")
	if err != nil {
		t.Fatal(err)
	}

	c := w.up[0]
	if c.Name != "ci" || c.Networking.UnderlaySubnet != "10.217.1.0/24" || c.Nodes[0].WindowsVersion != "ltsc2022" ||
		!c.Nodes[0].Bare || *c.Docker != (spec.Docker{Publish: "127.0.0.1", Owner: 4321}) {
		t.Errorf("brought up: %+v, %+v", c, c.Docker)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}

	for _, want := range []string{
		"docker context create ci --docker host=unix://" + w.paths().Docker(),
		"docker env --name ci --data-dir " + w.data, "root, user 4321: whoever uses it is as good as root",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what is printed:\n%s", want, out)
		}
	}

	// It comes back as it was, whoever asks and without flags; with others it is refused.
	w.environ = nil
	if _, err := w.run(t, "up", "--data-dir", w.data); err != nil || len(w.up) != 2 || *w.up[1].Docker != *c.Docker {
		t.Errorf("again: %v, %+v", err, w.up)
	}
	w.fails(t, exit.Conflict, "docker down --data-dir "+w.data, "up", "--data-dir", w.data, "--windows-version", "ltsc2025")
	w.fails(t, exit.Conflict, `has --publish-address "127.0.0.1"`, "up", "--data-dir", w.data, "--publish-address", "0.0.0.0")
}

func TestUpRefuses(t *testing.T) {
	w := newWorld(t)
	at := func(args ...string) []string { return append([]string{"up", "--data-dir", w.data}, args...) }
	w.fails(t, exit.Usage, "DNS label", at("--name", "A b")...)
	w.fails(t, exit.Usage, "not an IP address", at("--publish-address", "here")...)
	w.fails(t, exit.Usage, "getent group", at("--group", "no-such-group")...)
	w.fails(t, exit.Usage, "support windows-versions", at("--windows-version", "95")...)
	w.fails(t, exit.Usage, "not a /24", at("--subnet", "10.0.0.0/8")...)
	w.fails(t, exit.Usage, "another --subnet", at("--subnet", "10.244.7.0/24")...)
	for _, s := range subnets() {
		w.taken[s.String()] = true
	}

	w.fails(t, exit.Conflict, "--subnet", at()...)
	w.taken = nil
	w.upErr = fmt.Errorf("it is late: %w", context.DeadlineExceeded)
	w.fails(t, exit.NotReady, "--wait 20m", at()...)
	w.upErr = cluster.ErrFailed
	w.fails(t, exit.NotReady, "--retain", at()...)
	w.upErr = &cluster.ConflictError{Err: errors.New("a network"), Remedy: "do so"}
	w.fails(t, exit.Conflict, "do so", at()...)

	w.euid = 1000
	w.fails(t, exit.Requirement, "sudo", at()...)
	if err := os.Remove(cluster.DockerProgram(w.bin)); err != nil {
		t.Fatal(err)
	}
	w.fails(t, exit.Requirement, "`make docker-windows` builds it", at()...)
}

// A cluster's folder is neither brought up nor taken down.
func TestFolderOfACluster(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(w.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.paths().SaveSpec(spec.Default(nil, false, "")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"up", "down", "status"} {
		w.fails(t, exit.Conflict, "holds cluster", command, "--data-dir", w.data)
	}
	if len(w.up)+len(w.down) > 0 {
		t.Errorf("up %v, down %v", w.up, w.down)
	}
}

func TestDown(t *testing.T) {
	w := newWorld(t)
	if out, err := w.run(t, "down", "--data-dir", w.data); err != nil || !strings.Contains(out, "removed all") {
		t.Errorf("%v, %q", err, out)
	}
	if out, err := w.run(t, "down", "--name", "ci", "-q"); err != nil || out != "" {
		t.Errorf("%v, %q", err, out)
	}
	if want := []string{w.data, "/var/lib/mullion-docker-ci"}; strings.Join(w.down, " ") != strings.Join(want, " ") {
		t.Errorf("taken down: %v, want %v", w.down, want)
	}
}

// MULLION_DATA_DIR is a cluster's folder: an engine is not there, and the command that is named does not lead there.
func TestFolderOfTheEnvironment(t *testing.T) {
	w := newWorld(t)
	w.environ = []string{"MULLION_DATA_DIR=" + w.data}
	if _, err := w.run(t, "down", "-q"); err != nil || strings.Join(w.down, " ") != defaultData {
		t.Errorf("taken down: %v, %v", w.down, err)
	}

	w.euid = 1000
	for _, command := range []string{"up", "down"} {
		_, err := w.run(t, command)
		if exit.Code(err) != exit.Requirement || strings.Contains(fmt.Sprint(err), "data-dir") {
			t.Errorf("%s: %v", command, err)
		}
	}

	out, err := w.run(t, "--help")
	if words := strings.Join(strings.Fields(out), " "); !strings.Contains(words, "MULLION_DATA_DIR is a cluster's folder alone") {
		t.Errorf("help: %v\n%s", err, out)
	}
}

func TestLines(t *testing.T) {
	for shell, want := range map[string][2]string{
		"bash":       {`export DOCKER_HOST="unix:///x"`, "unset DOCKER_HOST"},
		"fish":       {`set -gx DOCKER_HOST "unix:///x";`, "set -e DOCKER_HOST;"},
		"powershell": {`$Env:DOCKER_HOST = "unix:///x"`, "Remove-Item Env:DOCKER_HOST"},
	} {
		if got := line(shell, "unix:///x"); got != want[0] {
			t.Errorf("%s: %s", shell, got)
		}
		if got := line(shell, ""); got != want[1] {
			t.Errorf("%s: %s", shell, got)
		}
	}

	for program, want := range map[string]string{"": "bash", "/bin/zsh": "bash", "/usr/bin/fish": "fish", "pwsh": "powershell"} {
		if got := shellOf(program); got != want {
			t.Errorf("%q is %s", program, got)
		}
	}

	w := newWorld(t)
	w.fails(t, exit.NotFound, "docker up", "env", "--data-dir", w.data)
	w.fails(t, exit.Usage, "none of bash", "env", "--data-dir", w.data, "--shell", "cmd")
	if out, err := w.run(t, "env", "--data-dir", w.data, "-u"); err != nil || out != "unset DOCKER_HOST\n" {
		t.Errorf("%v, %q", err, out)
	}
}

// What an engine answers is read, and one that answers badly is an error.
func TestAsk(t *testing.T) {
	answers := make(chan func(http.ResponseWriter), 4)
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { (<-answers)(w) })}
	go server.Serve(l)
	defer server.Close()

	answers <- func(w http.ResponseWriter) {
		json.NewEncoder(w).Encode(engine{
			ServerVersion:     "2",
			ContainersRunning: 1,
			Containers:        3,
		})
	}

	info, err := ask(t.Context(), socket)
	if err != nil || info.ServerVersion != "2" {
		t.Errorf("%+v, %v", info, err)
	}

	var out strings.Builder
	r := report{
		Name:   "ci",
		State:  stateReady,
		Engine: &info,
	}
	if err := r.print(&out); err != nil || !strings.Contains(out.String(), "3 container(s), of which 1 run") {
		t.Errorf("%v: %s", err, out.String())
	}

	answers <- func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }
	if _, err := ask(t.Context(), socket); err == nil || !strings.Contains(err.Error(), "500") {
		t.Error(err)
	}
	answers <- func(w http.ResponseWriter) { fmt.Fprint(w, "{") }
	if _, err := ask(t.Context(), socket); err == nil {
		t.Error("half an answer is read")
	}

	if _, err := ask(t.Context(), socket+"x"); err == nil {
		t.Error("nobody answers, and that is no error")
	}
}
