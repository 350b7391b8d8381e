package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/preflight"
)

// examined has the machine looked at with an outcome, and keeps what was asked.
func (m *machine) examined(checks ...preflight.Check) *cluster.PreflightOptions {
	var asked cluster.PreflightOptions
	m.calls.examine = func(_ context.Context, o cluster.PreflightOptions) []preflight.Check {
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
			code:   ExitRequirement,
			want:   "ok   kernel       plenty\n" + badLines + "\n1 of 2 checks are right, 1 failed.\n",
		},
		{
			name:   "not-all-seen",
			checks: []preflight.Check{good, unseen},
			want: "ok   kernel       plenty\n?    network      not seen without root: whether it is there\n\n" +
				"1 of 2 checks are right, 1 not seen without root.\n" +
				"With root, all is looked at: sudo BIN/mullion --data-dir DATA doctor\n",
		},
		{name: "quiet", checks: []preflight.Check{good, bad, unseen}, args: []string{"-q"}, code: ExitRequirement, want: badLines},
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
			if tt.code != ExitOK {
				said = "mullion: this machine lacks what a cluster needs: cgroups\n" +
					"→ do what the lines with an arrow (remedy, in JSON) say, then run `mullion doctor` again\n"
			}
			m.run(append([]string{"doctor"}, tt.args...)...).check(t, tt.code, tt.want, said)
		})
	}
}

// TestDoctorForPrograms prints one object, whatever was found.
func TestDoctorForPrograms(t *testing.T) {
	m := newMachine(t)
	m.env.Euid = 1000
	asked := m.examined(aCheck("cgroups", preflight.Failed), aCheck("network", preflight.Unseen))
	got := m.run("doctor", "-o", "json", "--windows-version", "ltsc2019,ltsc2022")
	var report doctorReport
	if err := json.Unmarshal([]byte(got.out), &report); err != nil {
		t.Fatalf("%v: %s", err, got.out)
	}
	if got.code != ExitRequirement || report.Fit || report.Root || len(report.Checks) != 2 {
		t.Errorf("exit code %d, %+v", got.code, report)
	}

	if !asked.Unprivileged || len(asked.Nodes) != 3 || asked.Networking.PodSubnet == "" {
		t.Errorf("asked for %+v", asked)
	}
	m.env.Euid = 0
	m.examined(aCheck("kernel", preflight.Passed))
	m.run("doctor", "-o", "json").check(t, ExitOK,
		`{"fit":true,"root":true,"checks":[{"check":"kernel","state":"passed","means":"a cluster needs kernel","seen":"plenty"}]}`+"\n", "")
}

// TestDoctorAndUpAgree: what the one calls a failure keeps the other from beginning.
func TestDoctorAndUpAgree(t *testing.T) {
	for _, state := range []preflight.State{preflight.Passed, preflight.Unseen, preflight.Warned, preflight.Failed} {
		m := newMachine(t)
		m.comesUp()
		checks := []preflight.Check{aCheck("memory", state)}
		m.examined(checks...)
		m.calls.preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding {
			return preflight.Findings(checks)
		}

		doctor := m.run("doctor")
		up := m.run("up")
		dry := m.run("up", "--dry-run")
		if doctor.code != up.code || dry.code != up.code {
			t.Errorf("%s: doctor ends with %d, up with %d, up --dry-run with %d", state, doctor.code, up.code, dry.code)
		}
		if plan := strings.HasPrefix(dry.out, "cluster mullion in DATA\n"); !plan || dry.err != up.err {
			t.Errorf("%s: a dry run prints:\n%s%s", state, dry.out, dry.err)
		}
	}
}

// TestDoctorsFlags refuses what is not right before it looks.
func TestDoctorsFlags(t *testing.T) {
	m := newMachine(t)
	m.run("doctor", "-o", "xml").refused(t, ExitUsage, `--output "xml" is neither text nor json`, "for example: -o json")
	m.run("doctor", "--color", "blue").refused(t, ExitUsage, `--color "blue" is none of auto, always, never`,
		"for example: --color never")
	m.run("doctor", "-q", "-v").refused(t, ExitUsage, "--quiet and --verbose exclude each other", "leave one of them out")
	m.run("up", "-q", "-o", "json").has(t, ExitUsage, "mullion: -o json excludes --quiet and --verbose")
	m.run("doctor", "--windows-version", "xp").has(t, ExitUsage, `mullion: --windows-version: `)
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
			m.env.Terminal = tt.terminal
			m.env.Environ = append(m.env.Environ, tt.environ)
			m.examined(aCheck("kernel", preflight.Passed))
			got := m.run(append([]string{"doctor"}, tt.args...)...)
			if got.code != ExitOK || strings.HasPrefix(got.out, green) != tt.coloured {
				t.Errorf("exit code %d: %q", got.code, got.out)
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

	m.calls.preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding {
		return []preflight.Finding{hint}
	}

	last := func(got outcome) map[string]any {
		t.Helper()
		all := strings.Split(strings.TrimSpace(got.out), "\n")
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

	got := m.run("up", "-o", "json", "--windows-version", "ltsc2022")
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
	if diff := cmp.Diff(want, last(got)); diff != "" || got.code != ExitOK {
		t.Errorf("exit code %d: %s", got.code, diff)
	}

	if !strings.Contains(got.out, `"type":"warning","unit":"memory","seconds":0,"message":"little is free","remedy":"end something"`) ||
		got.err != "warning: memory: little is free\n  → end something\n" {
		t.Errorf("of the warning:\n%s%s", got.out, got.err)
	}

	want["type"] = "plan"
	delete(want, "kubeconfig")
	delete(want, "context")
	if diff := cmp.Diff(want, last(m.run("up", "-o", "json", "--windows-version", "ltsc2022", "--dry-run"))); diff != "" {
		t.Error(diff)
	}

	want = map[string]any{"type": "cluster", "kubeconfig": "DATA/pki/admin.conf", "context": "admin"}
	for key, value := range last(m.run("up", "-o", "json", "--kubeconfig", "none")) {
		if expected, ok := want[key]; ok && key != "kubeconfig" && expected != value {
			t.Errorf("%s is %v, want %v", key, value, expected)
		}
	}

	hint.Fatal = true
	got = m.run("up", "-o", "json")
	want = map[string]any{"type": "error", "message": "little is free", "remedy": "end something", "code": 3.0}
	if diff := cmp.Diff(want, last(got)); diff != "" || got.code != ExitRequirement {
		t.Errorf("exit code %d: %s", got.code, diff)
	}
	if got.err != "mullion: little is free\n→ end something\n" {
		t.Errorf("a person is told %q", got.err)
	}
}

// TestQuiet prints nothing where nothing is wrong.
func TestQuiet(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	m.calls.preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding {
		return []preflight.Finding{{Check: "memory", Problem: "little is free", Remedy: "end something"}}
	}
	m.run("up", "-q").check(t, ExitOK, "", "")
	m.run("up", "-q", "--dry-run").check(t, ExitOK, "", "")
	m.describe(nil)
	m.ended(nil)
	m.run("stop", "--quiet").check(t, ExitOK, "", "")
	m.run("down", "-q").check(t, ExitOK, "", "")
}
