package powershell

import (
	"strings"
	"testing"
)

func TestRightsAsText(t *testing.T) {
	for rights, want := range map[int64]string{
		0x1f01ff: "FullControl", 0x1200a9: "ReadAndExecute, Synchronize", 0x120089: "Read, Synchronize",
		0x4: "AppendData", 0x2: "CreateFiles",
		0x10000000: "268435456", 0: "0", 0x1301bf: "Modify, Synchronize", 0x3: "ListDirectory, CreateFiles",
	} {
		if got := (enum{enumOf("system.security.accesscontrol.filesystemrights"), rights}).text(); got != want {
			t.Errorf("rights %#x: got %q, want %q", rights, got, want)
		}
	}
}

// TestACLObject checks the properties of a descriptor and of its rules, and their text.
func TestACLObject(t *testing.T) {
	a := acl{
		owner: `BUILTIN\Administrators`,
		group: `NT AUTHORITY\SYSTEM`,
		sddl:  "O:BA",
		rules: []rule{
			{who: `BUILTIN\Users`, rights: 0x1200a9, flags: aceObjectInherit | aceContainerInherit | aceInherited},
			{
				who:    "Everyone",
				rights: 0x80000000,
				deny:   true,
				flags:  aceInheritOnly | aceContainerInherit | aceNoPropagate,
			},
		},
	}
	got, err := formatted([]value{a.object("/dir/file"), a.object("/dir/file").props["access"]}, "\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"    Directory: /dir\n", "file                     BUILTIN\\Administrators       BUILTIN\\Users Allow  ReadAndExecute, Synchronize...\n",
		"FileSystemRights  : ReadAndExecute, Synchronize\nAccessControlType : Allow\nIdentityReference : BUILTIN\\Users\nIsInherited       : True\n" +
			"InheritanceFlags  : ContainerInherit, ObjectInherit\nPropagationFlags  : None\n",
		"FileSystemRights  : -2147483648\nAccessControlType : Deny\nIdentityReference : Everyone\nIsInherited       : False\n" +
			"InheritanceFlags  : ContainerInherit\nPropagationFlags  : NoPropagateInherit, InheritOnly\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
}

func TestACLOfNothing(t *testing.T) {
	got := run(t, t.TempDir(), nil, "-Command", "Get-Acl no-such")
	if got.code != 1 || !strings.Contains(got.errs, "Cannot find path 'no-such'") {
		t.Errorf("%+v", got)
	}
}

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
	if r := entry(1, aceInherited, 0x2, "me"); !r.deny || r.flags != aceInherited || r.rights != 2 || r.who != "me" {
		t.Errorf("an entry that denies: %+v", r)
	}
	if r := entry(0, 0, 0, ""); r.deny {
		t.Errorf("an entry that allows: %+v", r)
	}
}
