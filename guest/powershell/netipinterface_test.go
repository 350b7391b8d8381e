package powershell

import (
	"bytes"
	"strings"
	"testing"
)

// TestNetIPInterfaceOfContainer is about a Windows that passes no packets on.
func TestNetIPInterfaceOfContainer(t *testing.T) {
	windows := stageWindows()
	windows.Forwards = func() (bool, error) { return false, nil }
	var out, errs bytes.Buffer
	s := &Session{
		Args: []string{"-Command", "(Get-NetIPInterface -ifIndex 27 -AddressFamily IPv4).Forwarding\n" +
			"Set-NetIPInterface -ifIndex 27 -Forwarding Enabled"},
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Newline: "\n", windows: windows,
	}

	if code := s.Run(t.Context()); code != 1 {
		t.Errorf("exit code %d, not 1", code)
	}
	if got := out.String(); got != "Disabled\n" {
		t.Errorf("forwarding is %q, not Disabled", got)
	}
	if !strings.Contains(errs.String(), "Set-NetIPInterface : Access is denied.") {
		t.Errorf("no refusal in %q", errs.String())
	}
}
