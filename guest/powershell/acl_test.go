package powershell

import (
	"strings"
	"testing"
)

func TestACLOfNothing(t *testing.T) {
	got := run(t, t.TempDir(), nil, "-Command", "Get-Acl no-such")
	if got.code != 1 || !strings.Contains(got.errs, "Cannot find path 'no-such'") {
		t.Errorf("%+v", got)
	}
}
