package command_test

import (
	"bytes"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check/command"
)

func TestPoliciesObeyTheConfig(t *testing.T) {
	for config, want := range map[string]bool{"": true, "rules: {host-ipc: off}\n": false} {
		var out bytes.Buffer
		dir := write(t, map[string]string{command.ConfigName: config})
		if err := command.WritePolicies(command.Options{Dir: dir}, &out); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "'host-ipc: "); got != want {
			t.Errorf("%q: host-ipc is a policy: %v, want %v", config, got, want)
		}
	}
}

// TestPoliciesOfVersions: a version without policies is refused, and one without those that change pods leaves them
// out.
func TestPoliciesOfVersions(t *testing.T) {
	for version, want := range map[string]string{
		"1.29": "error", "1.30": "left out", "1.35": "left out",
		"1.36": "kind: MutatingAdmissionPolicy\n",
	} {
		var out bytes.Buffer
		err := command.WritePolicies(command.Options{Dir: t.TempDir(), Kubernetes: version}, &out)
		if err != nil {
			out.WriteString("error")
		}

		if !strings.Contains(out.String(), want) ||
			(strings.Contains(out.String(), "left out") == strings.Contains(out.String(),
				"Mutating"+"AdmissionPolicy\n") && err == nil) {
			t.Errorf("%s: %v; want %q in:\n%.300s", version, err, want, out.String())
		}
	}
}
