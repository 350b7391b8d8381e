package up

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/preflight"
)

// examined has the machine looked at with an clitest.Outcome, and keeps what was asked.
func (m *machine) examined(checks ...preflight.Check) *cluster.PreflightOptions {
	var asked cluster.PreflightOptions
	m.calls.Examine = func(_ context.Context, o cluster.PreflightOptions) []preflight.Check {
		asked = o
		return checks
	}
	return &asked
}

// aCheck returns one in a state, with a text of each kind.
func aCheck(name string, state preflight.State) preflight.Check {
	c := preflight.Check{
		Name:  name,
		State: state,
		Means: "a cluster needs " + name,
	}

	finding := preflight.Finding{
		Check:   name,
		Problem: "there is too little",
		Remedy:  "get more",
		Fatal:   state == preflight.Failed,
	}

	switch state {
	case preflight.Passed:
		c.Seen = "plenty"
	case preflight.Unseen:
		c.NotSeen = "whether it is there"
	default:
		c.Findings = []preflight.Finding{finding}
	}

	return c
}

func TestDoctor(t *testing.T) {
	good, warned := aCheck("kernel", preflight.Passed), aCheck("memory", preflight.Warned)
	bad, unseen := aCheck("cgroups", preflight.Failed), aCheck("network", preflight.Unseen)

	const badLines = "FAIL cgroups      there is too little\n                  → get more\n                  (a cluster needs cgroups)\n"
	for _, tt := range []struct {
		name   string
		checks []preflight.Check
		args   []string
		code   int
		want   string
	}{
		{
			name:   "fit",
			checks: []preflight.Check{good, warned},
			want: "ok   kernel       plenty\nwarn memory       there is too little\n                  → get more\n" +
				"                  (a cluster needs memory)\n\n1 of 2 checks are right, 1 warned of something.\n",
		},
		{
			name:   "unfit",
			checks: []preflight.Check{good, bad},
			code:   exit.Requirement,
			want:   "ok   kernel       plenty\n" + badLines + "\n1 of 2 checks are right, 1 failed.\n",
		},
		{
			name:   "not-all-seen",
			checks: []preflight.Check{good, unseen},
			want: "ok   kernel       plenty\n?    network      not seen without root: whether it is there\n\n" +
				"1 of 2 checks are right, 1 not seen without root.\n" +
				"With root, all is looked at: sudo BIN/mullion --data-dir DATA doctor\n",
		},
		{name: "quiet", checks: []preflight.Check{good, bad, unseen}, args: []string{"-q"}, code: exit.Requirement, want: badLines},
		{
			name:   "verbose",
			checks: []preflight.Check{good},
			args:   []string{"-v"},
			want:   "ok   kernel       plenty\n                  (a cluster needs kernel)\n\n1 of 1 checks are right.\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.examined(tt.checks...)
			said := ""
			if tt.code != exit.OK {
				said = "mullion: this machine lacks what a cluster needs: cgroups\n" +
					"→ do what the lines with an arrow (remedy, in JSON) say, then run `mullion doctor` again\n"
			}
			m.Run(append([]string{"doctor"}, tt.args...)...).Check(t, tt.code, tt.want, said)
		})
	}
}

// TestDoctorForPrograms prints one object, whatever was found.
func TestDoctorForPrograms(t *testing.T) {
	m := newMachine(t)
	m.Env.Euid = 1000
	asked := m.examined(aCheck("cgroups", preflight.Failed), aCheck("network", preflight.Unseen))
	got := m.Run("doctor", "-o", "json", "--windows-version", "ltsc2019,ltsc2022")
	var report doctorReport
	if err := json.Unmarshal([]byte(got.Out), &report); err != nil {
		t.Fatalf("%v: %s", err, got.Out)
	}

	if got.Code != exit.Requirement || report.Fit || report.Root || len(report.Checks) != 2 {
		t.Errorf("exit code %d, %+v", got.Code, report)
	}

	if !asked.Unprivileged || len(asked.Nodes) != 3 || asked.Networking.PodSubnet == "" {
		t.Errorf("asked for %+v", asked)
	}
	m.Env.Euid = 0
	m.examined(aCheck("kernel", preflight.Passed))
	m.Run("doctor", "-o", "json").Check(t, exit.OK,
		`{"fit":true,"root":true,"checks":[{"check":"kernel","state":"passed","means":"a cluster needs kernel","seen":"plenty"}]}`+"\n", "")
}

// TestDoctorAndUpAgree: what the one calls a failure keeps the other from beginning.
func TestDoctorAndUpAgree(t *testing.T) {
	for _, state := range []preflight.State{preflight.Passed, preflight.Unseen, preflight.Warned, preflight.Failed} {
		m := newMachine(t)
		m.comesUp()
		checks := []preflight.Check{aCheck("memory", state)}
		m.examined(checks...)
		m.calls.Preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding {
			return preflight.Findings(checks)
		}

		doctor := m.Run("doctor")
		up := m.Run("up")
		dry := m.Run("up", "--dry-run")
		if doctor.Code != up.Code || dry.Code != up.Code {
			t.Errorf("%s: doctor ends with %d, up with %d, up --dry-run with %d", state, doctor.Code, up.Code, dry.Code)
		}
		if plan := strings.HasPrefix(dry.Out, "cluster mullion in DATA\n"); !plan || dry.Err != up.Err {
			t.Errorf("%s: a dry run prints:\n%s%s", state, dry.Out, dry.Err)
		}
	}
}

// TestDoctorsFlags refuses what is not right before it looks.
func TestDoctorsFlags(t *testing.T) {
	m := newMachine(t)
	m.Run("doctor", "-o", "xml").Refused(t, exit.Usage, `--output "xml" is neither text nor json`, "for example: -o json")
	m.Run("doctor", "--color", "blue").Refused(t, exit.Usage, `--color "blue" is none of auto, always, never`,
		"for example: --color never")
	m.Run("doctor", "-q", "-v").Refused(t, exit.Usage, "--quiet and --verbose exclude each other", "leave one of them out")
	m.Run("up", "-q", "-o", "json").Has(t, exit.Usage, "mullion: -o json excludes --quiet and --verbose")
	m.Run("doctor", "--windows-version", "xp").Has(t, exit.Usage, `mullion: --windows-version: `)
}

func TestColourOfTheEnvironment(t *testing.T) {
	const green = "\x1b[32mok\x1b[0m   kernel"
	for _, tt := range []struct {
		name     string
		terminal bool
		environ  string
		args     []string
		coloured bool
	}{
		{name: "terminal", terminal: true, coloured: true},
		{name: "pipe"},
		{name: "no-color", terminal: true, environ: "NO_COLOR=1"},
		{name: "no-color-that-is-empty", terminal: true, environ: "NO_COLOR=", coloured: true},
		{name: "always", environ: "NO_COLOR=1", args: []string{"--color", "always"}, coloured: true},
		{name: "never", terminal: true, args: []string{"--color", "never"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.Env.Terminal = tt.terminal
			m.Env.Environ = append(m.Env.Environ, tt.environ)
			m.examined(aCheck("kernel", preflight.Passed))
			got := m.Run(append([]string{"doctor"}, tt.args...)...)
			if got.Code != exit.OK || strings.HasPrefix(got.Out, green) != tt.coloured {
				t.Errorf("exit code %d: %q", got.Code, got.Out)
			}
		})
	}
}

// TestUpForPrograms prints events, the last of them the cluster; an error is an event too, and is told to people.
func TestUpForPrograms(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	hint := preflight.Finding{
		Check:   "memory",
		Problem: "little is free",
		Remedy:  "end something",
	}

	m.calls.Preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding {
		return []preflight.Finding{hint}
	}

	last := func(got clitest.Outcome) map[string]any {
		t.Helper()
		all := strings.Split(strings.TrimSpace(got.Out), "\n")
		var e map[string]any
		for _, line := range all {
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			e = map[string]any{}
			_ = json.Unmarshal([]byte(line), &e)
		}

		delete(e, "time")
		delete(e, "seconds")
		return e
	}

	got := m.Run("up", "-o", "json", "--windows-version", "ltsc2022")
	node := func(name, os, address string, more ...string) map[string]any {
		n := map[string]any{"name": name, "os": os, "address": address, "kubernetesVersion": "v1.37.1"}
		if len(more) > 0 {
			n["windowsVersion"], n["build"] = more[0], more[1]
		}
		return n
	}

	nodes := []any{
		node("linux-1", "linux", "10.213.0.11"), node("win-1", "windows", "10.213.0.12", "ltsc2022", "10.0.20348.2762"),
	}
	want := map[string]any{
		"type": "cluster", "name": "mullion", "kubernetesVersion": "v1.37.1", "nodes": nodes,
		"kubeconfig": "TMP/.kube/config", "context": "mullion",
	}

	if diff := cmp.Diff(want, last(got)); diff != "" || got.Code != exit.OK {
		t.Errorf("exit code %d: %s", got.Code, diff)
	}

	if !strings.Contains(got.Out, `"type":"warning","unit":"memory","seconds":0,"message":"little is free","remedy":"end something"`) ||
		got.Err != "warning: memory: little is free\n  → end something\n" {
		t.Errorf("of the warning:\n%s%s", got.Out, got.Err)
	}

	want["type"] = "plan"
	delete(want, "kubeconfig")
	delete(want, "context")
	if diff := cmp.Diff(want, last(m.Run("up", "-o", "json", "--windows-version", "ltsc2022", "--dry-run"))); diff != "" {
		t.Error(diff)
	}

	want = map[string]any{"type": "cluster", "kubeconfig": "DATA/pki/admin.conf", "context": "admin"}
	for key, value := range last(m.Run("up", "-o", "json", "--kubeconfig", "none")) {
		if expected, ok := want[key]; ok && key != "kubeconfig" && expected != value {
			t.Errorf("%s is %v, want %v", key, value, expected)
		}
	}

	hint.Fatal = true
	got = m.Run("up", "-o", "json")
	want = map[string]any{"type": "error", "message": "little is free", "remedy": "end something", "code": 3.0}
	if diff := cmp.Diff(want, last(got)); diff != "" || got.Code != exit.Requirement {
		t.Errorf("exit code %d: %s", got.Code, diff)
	}
	if got.Err != "mullion: little is free\n→ end something\n" {
		t.Errorf("a person is told %q", got.Err)
	}
}

// TestQuiet prints nothing where nothing is wrong.
func TestQuiet(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	m.calls.Preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding {
		return []preflight.Finding{{Check: "memory", Problem: "little is free", Remedy: "end something"}}
	}
	m.Run("up", "-q").Check(t, exit.OK, "", "")
	m.Run("up", "-q", "--dry-run").Check(t, exit.OK, "", "")
}
