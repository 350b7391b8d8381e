package system

import "testing"

func TestAccountName(t *testing.T) {
	for _, tt := range []struct{ domain, name, prefix, want string }{
		{"BUILTIN", "Users", "", `BUILTIN\Users`},
		{"", "Everyone", "", "Everyone"},
		{"", "", "O:", "O:S-1-5-93-2-1"},
		{"X", "", "", "S-1-5-93-2-1"},
	} {
		if got := accountName(tt.domain, tt.name, tt.prefix, "S-1-5-93-2-1"); got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}

// TestEntries checks the types of entries: allowed, denied, audited, and one with a condition.
func TestEntries(t *testing.T) {
	for kind, want := range map[uint8]bool{0: true, 1: true, 2: false, 9: false} {
		if isRule(kind) != want {
			t.Errorf("an entry of type %d: a rule: %v", kind, !want)
		}
	}
	if r := entry(1, AceInherited, 0x2, "me"); !r.Deny || r.Flags != AceInherited || r.Rights != 2 || r.Who != "me" {
		t.Errorf("an entry that denies: %+v", r)
	}
	if r := entry(0, 0, 0, ""); r.Deny {
		t.Errorf("an entry that allows: %+v", r)
	}
}
