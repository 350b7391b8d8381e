package provider

import (
	"testing"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// TestOddValues reads values whose data do not fit their type, as any program may write them.
func TestOddValues(t *testing.T) {
	for _, tt := range []struct {
		kind uint32
		data []byte
		want string
	}{
		{system.KindString, nil, ""},
		{system.KindString, []byte{'a'}, ""},
		{system.KindString, []byte{'a', 0, 'b'}, "a"},
		{system.KindString, []byte{'a', 0}, "a"},
		{system.KindString, []byte{'a', 0, 0, 0, 'b', 0, 0, 0}, "a\x00b"},
		{system.KindString, []byte{0, 0xd8}, "\uFFFD"},
		{system.KindExpand, []byte{'%', 0}, "%"},
		{system.KindMulti, nil, ""},
		{system.KindMulti, []byte{'a', 0}, "a"},
		{system.KindMulti, []byte{'a', 0, 0, 0}, "a"},
		{system.KindMulti, []byte{0, 0, 0, 0}, ""},
		{system.KindMulti, []byte{'a', 0, 0, 0, 0, 0, 'b', 0, 0, 0}, "a  b"},
		{system.KindDWord, nil, "0"},
		{system.KindDWord, []byte{1, 2, 0}, "513"},
		{system.KindDWord, []byte{0, 0, 0, 0, 1}, "4294967296"},
		{system.KindQWord, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, "1 2 3 4 5 6 7 8 9"},
		{system.KindNone, []byte{7}, "7"},
		{system.KindBig, []byte{0, 0, 0, 1}, "0 0 0 1"},
		{6, []byte{1}, ""},
	} {
		got, err := Value(system.RegistryValue{
			Name: "x",
			Kind: tt.kind,
			Data: tt.data,
		}, nil)
		if err != nil || object.Text(got) != tt.want {
			t.Errorf("type %d with %v: %q, %v, want %q", tt.kind, tt.data, object.Text(got), err, tt.want)
		}
	}
}

// TestNamesOfKeys checks which key a path names.
func TestNamesOfKeys(t *testing.T) {
	for path, want := range map[string]string{
		`HKLM:`:                          `HKEY_LOCAL_MACHINE`,
		`hkcu:\`:                         `HKEY_CURRENT_USER`,
		`HKLM:Software//x\`:              `HKEY_LOCAL_MACHINE\Software\x`,
		`Registry::HKLM\x`:               `HKEY_LOCAL_MACHINE\x`,
		`registry::\hkey_users/.DEFAULT`: `HKEY_USERS\.DEFAULT`,
		`Microsoft.PowerShell.Core\Registry::HKEY_CLASSES_ROOT\.txt`: `HKEY_CLASSES_ROOT\.txt`,
		`Registry::HKCC`:                  `HKEY_CURRENT_CONFIG`,
		`Registry::`:                      "",
		`Registry::HKEY_PERFORMANCE_DATA`: "",
		`Registry::SOFTWARE`:              "",
		`HKLM:\a\..\b`:                    "",
		`HKLM:\.`:                         "",
		`HKCR:\x`:                         "",
		`C:\x`:                            "",
	} {
		k, err := KeyOf(path)
		if (err != nil) != (want == "") || (err == nil && k.Name != want) {
			t.Errorf("%s: %q, %v, want %q", path, k.Name, err, want)
		}
	}
}
