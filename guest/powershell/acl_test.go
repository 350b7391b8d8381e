package powershell

import (
	"strings"
	"testing"
)

func TestACLOfNothing(t *testing.T) {
	got := run(t, t.TempDir(), nil, "-Command", "Get-Acl no-such")
	if got.code != 1 || !strings.Contains(got.errs, "no-such' because it does not exist") {
		t.Errorf("%+v", got)
	}
}
