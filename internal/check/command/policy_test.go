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
