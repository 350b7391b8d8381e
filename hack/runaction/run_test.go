package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// job is a runner whose programs are stubs: each writes its command line to a file.
type job struct {
	runner
	dir string
	out *bytes.Buffer
}

// stubs are the programs by their names; all of them say first how they were called. DEB is a package's content.
var stubs = map[string]string{
	"sudo":    `exec "$@"`,
	"apt-get": "",
	"curl":    `while [ "$1" != -o ]; do shift; done; echo DEB >"$2"`,
	"gh": `case "$*" in
*view*) echo v0.3.0 ;;
*download*) while [ "$1" != --dir ]; do shift; done; mkdir -p "$2"; echo DEB >"$2/mullion_0.3.0_amd64.deb"; echo "$SUM  mullion_0.3.0_amd64.deb" >"$2/SHA256SUMS" ;;
esac`,
	"mullion": `case "$1" in
version) [ "$2" != -o ] || echo '{"go":"go1.26","kubernetes":"v1.37.1","mullion":"v0.3.0"}' ;;
up) exit "${UP:-0}" ;;
status) echo "Cluster mullion: ${UP:-healthy}" ;;
check) echo "$3 finding"; exit "${CHECK:-0}" ;;
export) mkdir -p "$3"; echo "Cluster mullion: healthy" >"$3/status.txt" ;;
esac`,
}

func newJob(t *testing.T, environ ...string) *job {
	t.Helper()
	j := &job{dir: t.TempDir(), out: &bytes.Buffer{}}
	bin := filepath.Join(j.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}

	for name, body := range stubs {
		script := fmt.Sprintf("#!/bin/bash\necho %s \"$@\" >>%q\n%s\n", name, filepath.Join(j.dir, "calls"), body)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	j.runner = runner{
		Action: root, Inputs: map[string]string{}, Repository: "THE_OWNER/mullion", Temp: t.TempDir(), Out: j.out,
		Environ: append([]string{
			"PATH=" + bin + ":/usr/bin:/bin", "HOME=/home/runner",
			fmt.Sprintf("SUM=%x", sha256.Sum256([]byte("DEB\n"))),
		}, environ...),
	}

	return j
}

// calls returns the command lines, without sudo's.
func (j *job) calls(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), j.Temp, "TEMP")), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "sudo ") })
}

func TestAction(t *testing.T) {
	deb := filepath.Join(t.TempDir(), "own.deb")
	if err := os.WriteFile(deb, []byte("DEB\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	const (
		update   = "apt-get -q update"
		install  = "apt-get -q install -y --no-install-recommends "
		released = install + "TEMP/mullion-v0.3.0/mullion_0.3.0_amd64.deb"
		asked    = "mullion version"
		askedToo = "mullion version -o json"
		download = "gh release download v0.3.0 --repo THE_OWNER/mullion --dir TEMP/mullion-v0.3.0 --pattern mullion*_amd64.deb --pattern SHA256SUMS"
	)

	for _, tt := range []struct {
		name    string
		inputs  map[string]string
		ref     string
		environ []string
		calls   []string
		failed  string // a part of the error
		says    string // in the job's log
		summary string
	}{
		{
			name: "nothing said",
			calls: []string{
				"gh release view --repo THE_OWNER/mullion --json tagName --jq .tagName", download, update, released, asked, askedToo,
				"mullion up --wait 10m --retain", "mullion status",
			},
			summary: "Cluster mullion: healthy",
		},
		{
			name: "at a tag", ref: "v0.3.0",
			calls: []string{
				download, update, released, asked, askedToo, "mullion up --wait 10m --retain", "mullion status",
			},
		},
		{
			name: "a file of one's own, everything said",
			inputs: map[string]string{
				"package": deb, "windows-versions": "ltsc2019,ltsc2025", "kubernetes-version": "1.35", "wait": "20m",
			},
			calls: []string{
				update, install + deb, asked, askedToo,
				"mullion up --wait 20m --retain --windows-version ltsc2019,ltsc2025 --kubernetes-version 1.35", "mullion status",
			},
		},
		{
			name:    "a package from elsewhere, and a kubeconfig",
			inputs:  map[string]string{"package": "https://example.test/a/m.deb?x=y\n\n" + deb + "\n", "config": "a b.yaml"},
			environ: []string{"KUBECONFIG=/k"},
			calls: []string{
				"curl -fsSL --retry 3 -o TEMP/m.deb https://example.test/a/m.deb?x=y", update, install + "TEMP/m.deb " + deb, asked, askedToo,
				"mullion up --wait 10m --retain -f a b.yaml --kubeconfig /k", "mullion status",
			},
		},
		{
			name: "installed only", ref: "v0.3.0", inputs: map[string]string{"install_only": "true"},
			calls: []string{download, update, released, asked, askedToo},
		},
		{
			name: "no such file", inputs: map[string]string{"package": "/no/such.deb"},
			calls: nil, failed: `step "Install Mullion"`, says: "::error::there is no package /no/such.deb",
		},
		{
			name: "a version that is none", inputs: map[string]string{"version": "newest; rm -rf /"},
			failed: `step "Find the release"`, says: "::error::version 'newest; rm -rf /' is no release of Mullion",
		},
		{
			name: "another package than the release's", ref: "v0.3.0", environ: []string{"SUM=" + strings.Repeat("0", 64)},
			calls: []string{download}, failed: `step "Install Mullion"`, says: "FAILED",
		},
		{
			name: "the cluster does not come up", ref: "v0.3.0", environ: []string{"UP=5"},
			calls: []string{
				download, update, released, asked, askedToo, "mullion up --wait 10m --retain", "mullion status",
				"mullion doctor", "mullion status",
			},
			failed: `step "Bring up the cluster": exit status 5`, says: "::error::the cluster did not come up (exit code 5)",
			summary: "Cluster mullion: 5",
		},
		{
			name: "manifests", ref: "v0.3.0",
			inputs: map[string]string{"check": "deploy/\n\n  charts/a b.yaml\n", "install_only": "true"},
			calls: []string{
				download, update, released, asked, askedToo,
				"mullion check -o github -- deploy/ charts/a b.yaml", "mullion check -o text -- deploy/ charts/a b.yaml",
			},
			says: "github finding", summary: "text finding",
		},
		{
			name: "manifests that do not work", ref: "v0.3.0", environ: []string{"CHECK=8"},
			inputs: map[string]string{"check": "deploy/", "windows-versions": "ltsc2022"},
			calls: []string{
				download, update, released, asked, askedToo, "mullion check -o github --windows-version ltsc2022 -- deploy/",
				"mullion check -o text --windows-version ltsc2022 -- deploy/",
			},
			failed: `step "Check manifests": exit status 8`, summary: "text finding",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t, tt.environ...)
			maps.Copy(j.Inputs, tt.inputs)
			j.Ref = tt.ref
			got, err := j.Run(t.Context())
			if (err != nil) != (tt.failed != "") || (err != nil && !strings.Contains(err.Error(), tt.failed)) {
				t.Fatalf("ended with %v, want %q\n%s", err, tt.failed, j.out)
			}

			if tt.calls != nil {
				if calls := j.calls(t); !slices.Equal(calls, tt.calls) {
					t.Errorf("called:\n%s\nwant:\n%s", strings.Join(calls, "\n"), strings.Join(tt.calls, "\n"))
				}
			}

			if !strings.Contains(j.out.String(), tt.says) || !strings.Contains(got.Summary, tt.summary) {
				t.Errorf("the log does not say %q, or the summary not %q:\n%s\n%s", tt.says, tt.summary, j.out, got.Summary)
			}
			if tt.failed != "" {
				return
			}

			want := "/home/runner/.kube/config"
			switch {
			case j.Inputs["install_only"] == "true":
				want = ""
			case len(tt.environ) > 0:
				want = "/k"
			}

			if got.Outputs["version"] != "v0.3.0" || got.Outputs["kubeconfig"] != want {
				t.Errorf("outputs %v, want kubeconfig %q", got.Outputs, want)
			}
		})
	}
}

// TestActionCaches: what is downloaded once is not downloaded again, and the cache has the release's name.
func TestActionCaches(t *testing.T) {
	j := newJob(t)
	j.Ref = "v0.3.0"
	for range 2 {
		got, err := j.Run(t.Context())
		if err != nil {
			t.Fatalf("%v\n%s", err, j.out)
		}
		if len(got.Uses) != 1 || !strings.HasPrefix(got.Uses[0].Uses, "actions/cache@") ||
			got.Uses[0].With["key"] != "mullion-v0.3.0" || got.Uses[0].With["path"] != j.Temp+"/mullion-v0.3.0" {
			t.Errorf("uses %+v", got.Uses)
		}
	}

	if calls := strings.Join(j.calls(t), "\n"); strings.Count(calls, "gh release download") != 1 {
		t.Errorf("called:\n%s", calls)
	}
}

func TestLogsAction(t *testing.T) {
	j := newJob(t)
	j.Action = filepath.Join(root, "actions", "logs")
	got, err := j.Run(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, j.out)
	}

	folder := filepath.Join(j.Temp, "mullion-logs")
	if !strings.Contains(got.Summary, "Cluster mullion: healthy") || len(got.Uses) != 1 ||
		got.Uses[0].With["path"] != folder || got.Uses[0].With["name"] != "mullion-logs" {
		t.Errorf("uses %+v, summary:\n%s", got.Uses, got.Summary)
	}
	if calls := j.calls(t); !slices.Equal(calls, []string{"mullion export logs TEMP/mullion-logs"}) {
		t.Errorf("called %q", calls)
	}
}

// TestActionsUseTheirInputs: what an action declares is used, and what it uses is declared.
func TestActionsUseTheirInputs(t *testing.T) {
	used := regexp.MustCompile(`inputs\.([\w-]+)`)
	for _, dir := range []string{root, filepath.Join(root, "actions", "logs")} {
		a, err := load(dir)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "action.yml"))
		if err != nil {
			t.Fatal(err)
		}

		names := map[string]bool{}
		for _, match := range used.FindAllStringSubmatch(string(text), -1) {
			names[match[1]] = true
		}

		for name, in := range a.Inputs {
			if !names[name] || in.Description == "" {
				t.Errorf("%s: input %q is not used, or not described", dir, name)
			}
			delete(names, name)
		}

		if len(names) > 0 {
			t.Errorf("%s: inputs that are not declared: %v", dir, names)
		}
	}
}

func TestExpressions(t *testing.T) {
	values := map[string]string{"inputs.a": "x"}
	for text, want := range map[string]string{
		"${{ inputs.a }}/${{inputs.a}}": "x/x", "plain": "plain", "${{ steps.s.outputs.o }}!": "!",
	} {
		if got, err := expand(text, values); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}

	for _, text := range []string{"${{ inputs.b }}", "${{ toJSON(inputs) }}"} {
		if got, err := expand(text, values); err == nil {
			t.Errorf("%s: %q", text, got)
		}
	}

	for condition, want := range map[string]bool{"": false, "always()": true, "inputs.a == 'x'": false} {
		if got, err := wanted(condition, false, values); err != nil || got != want {
			t.Errorf("%q after a failure: %t, %v", condition, got, err)
		}
	}

	for _, condition := range []string{"inputs.b == 'x'", "failure()", "inputs.a == 'x' && always()"} {
		if _, err := wanted(condition, true, values); err == nil {
			t.Errorf("%q is understood", condition)
		}
	}
}
