package dotnet

import (
	"strings"
	"testing"

	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

func TestRightsAsText(t *testing.T) {
	for rights, want := range map[int64]string{
		0x1f01ff: "FullControl", 0x1200a9: "ReadAndExecute, Synchronize", 0x120089: "Read, Synchronize",
		0x4: "AppendData", 0x2: "CreateFiles",
		0x10000000: "268435456", 0: "0", 0x1301bf: "Modify, Synchronize", 0x3: "ListDirectory, CreateFiles",
	} {
		if got := (object.Enum{
			Of: object.EnumOf("system.security.accesscontrol.filesystemrights"),
			N:  rights,
		}).Text(); got != want {
			t.Errorf("rights %#x: got %q, want %q", rights, got, want)
		}
	}
}

// TestACLObject checks the properties of a descriptor and of its rules, and their text.
func TestACLObject(t *testing.T) {
	a := system.ACL{
		Owner: `BUILTIN\Administrators`,
		Group: `NT AUTHORITY\SYSTEM`,
		SDDL:  "O:BA",
		Rules: []system.Rule{
			{
				Who: `BUILTIN\Users`, Rights: 0x1200a9,
				Flags: system.AceObjectInherit | system.AceContainerInherit | system.AceInherited,
			},
			{
				Who:    "Everyone",
				Rights: 0x80000000,
				Deny:   true,
				Flags:  system.AceInheritOnly | system.AceContainerInherit | system.AceNoPropagate,
			},
		},
	}

	got, err := format.Formatted([]object.Value{ACLObject(a, "/dir/file"), ACLObject(a, "/dir/file").Props["access"]},
		"\n")
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
