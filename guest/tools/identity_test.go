package tools

import (
	"testing"

	"mullion.dev/mullion/guest/token"
)

// Identity makes a fake a System with a user.
func (w *fake) Identity() (token.Identity, error) {
	enabled := []string{"Mandatory group", "Enabled by default", "Enabled group"}
	return token.Identity{
		User: `WIN-1\Admin`, SID: "S-1-5-21-1-2-3-500", Logon: "S-1-5-5-0-7",
		Groups: []token.Group{
			{Name: "Everyone", Type: "Well-known group", SID: "S-1-1-0", Attributes: enabled},
			{Name: `BUILTIN\Administrators`, Type: "Alias", SID: "S-1-5-32-544", Attributes: append(enabled, "Group owner")},
		},
		Privileges: []token.Privilege{{Name: "SeChangeNotifyPrivilege", Enabled: true}, {Name: "SeShutdownPrivilege"}},
	}, w.err
}

func TestNobody(t *testing.T) {
	if got := run(t, &fake{err: errNoReply}, "", "whoami"); got.code != 1 || got.err == "" {
		t.Errorf("%+v", got)
	}
}
