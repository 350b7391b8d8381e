package command_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check/command"
)

const hostPID = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  os: {name: windows}\n  nodeSelector: {kubernetes.io/os: windows}\n  hostPID: true\n"

// write makes a folder of files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, o command.Options, stdin string) (command.Outcome, string, error) {
	t.Helper()
	var out bytes.Buffer
	got, err := command.Run(t.Context(), o, strings.NewReader(stdin), &out)
	return got, out.String(), err
}

func TestOutcome(t *testing.T) {
	for _, tc := range []struct {
		name    string
		outcome command.Outcome
		code    int
		message string
	}{
		{"nothing-found", command.Outcome{FailOn: "error"}, 0, ""},
		{"findings", command.Outcome{Findings: true, FailOn: "warning"}, 8, "severity warning or worse"},
		{"unreadable", command.Outcome{Unreadable: true}, 9, "was not read"},
		{"unreadable-and-findings", command.Outcome{Findings: true, Unreadable: true}, 9, "was not read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, message := tc.outcome.Code(), tc.outcome.Message()
			if code != tc.code || !strings.Contains(message, tc.message) || (message == "") != (code == 0) {
				t.Errorf("code %d, message %q; want %d, %q", code, message, tc.code, tc.message)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	for _, tc := range []struct {
		config   string
		findings bool
		says     string // in the output, or in the error
	}{
		{"", true, "error: "},
		{"kubernetesVersion: \"1.22\"\n", false, "warning: "},
		{"kubernetesVersion: \"1.22\"\nfailOn: warning\n", true, "warning: "},
		{"rules: {host-pid: off}\n", false, "0 errors, 0 warnings"},
		{"kubernetesVersion: \"1.22\"\nrules: {host-pid: error}\n", true, "error: "},
		{"ignorePaths: [sub]\n", false, "0 errors, 0 warnings"},
		{"ignorePaths: ['*/*.yaml']\n", false, "0 errors, 0 warnings"},
		{"ignorePaths: [other/]\n", true, "error: "},
		{"ignorePaths: ['[']\n", false, "syntax error in pattern"},
		{"rules: {no-such: off}\n", false, `there is no rule "no-such"`},
		{"rules: {host-pid: never}\n", false, `severity "never"`},
		{"rulez: {}\n", false, "rulez"},
		{"failOn: sometimes\n", false, `severity "sometimes"`},
		{"windowsVersions: [dos]\n", false, "dos"},
	} {
		dir := write(t, map[string]string{command.ConfigName: tc.config, "sub/pod.yaml": hostPID})
		got, out, err := run(t, command.Options{
			Offline: true,
			Paths:   []string{dir},
			Dir:     filepath.Join(dir, "sub"),
		}, "")

		var wrong *command.UsageError
		if err != nil && !errors.As(err, &wrong) {
			t.Fatal(err)
		}

		if err != nil {
			out = err.Error()
		}
		if got.Findings != tc.findings || !strings.Contains(out, tc.says) {
			t.Errorf("%q: findings %v, want %v; want %q in:\n%s", tc.config, got.Findings, tc.findings, tc.says, out)
		}
	}
}

func TestFlagsComeBeforeTheConfig(t *testing.T) {
	dir := write(t, map[string]string{"other.yaml": "kubernetesVersion: \"1.22\"\nfailOn: warning\n"})
	got, out, err := run(t, command.Options{
		Offline: true,
		Config:  filepath.Join(dir, "other.yaml"),
		Dir:     dir,
		FailOn:  "error",
	}, hostPID)
	if err != nil || got.Findings || !strings.Contains(out, "warning: ") {
		t.Errorf("%+v, %v\n%s", got, err, out)
	}

	if _, _, err := run(t, command.Options{
		Offline: true,
		Config:  filepath.Join(dir, "none.yaml"),
		Dir:     dir,
	}, hostPID); err == nil {
		t.Error("a configuration that is named and not there is taken")
	}
}

func TestSuppressedFindingsDoNotCount(t *testing.T) {
	text := strings.Replace(hostPID, "{name: p}",
		"{name: p, annotations: {check.mullion.dev/ignore: 'host-pid: we know'}}", 1)
	for show, want := range map[bool]string{true: "reason: we know", false: "1 suppressed"} {
		got, out, err := run(t, command.Options{
			Offline:        true,
			Dir:            t.TempDir(),
			ShowSuppressed: show,
		}, text)
		if err != nil || got.Findings || got.Unreadable || !strings.Contains(out, want) {
			t.Errorf("%+v, %v, want %q in:\n%s", got, err, want, out)
		}
	}
}
