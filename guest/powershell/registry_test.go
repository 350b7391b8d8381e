package powershell

import (
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

// fakeRegistry is a registry of a test: the values of each key, by its name.
type fakeRegistry map[string][]registryValue

// stageRegistry is a registry with a key that has a value of each type, one with values of odd lengths, and one that
// may not be read.
func stageRegistry() registryCalls {
	return fakeRegistry{
		`HKEY_LOCAL_MACHINE`:          nil,
		`HKEY_LOCAL_MACHINE\SECURITY`: nil,
		`HKEY_LOCAL_MACHINE\SOFTWARE`: nil,
		`HKEY_LOCAL_MACHINE\SOFTWARE\Mullion`: {
			{"Version", kindString, textData("1.0")},
			{"Folder", kindExpand, textData(`C:\%COMPUTERNAME%\bin`)},
			{"Count", kindDWord, []byte{3, 0, 0, 0}},
			{"Large", kindDWord, []byte{0xff, 0xff, 0xff, 0xff}},
			{"Long", kindQWord, []byte{0, 0, 0, 0, 1, 0, 0, 0}},
			{"Names", kindMulti, textData("one", "two", "")},
			{"Bytes", kindBinary, []byte{1, 2, 255}},
			{"", kindString, textData("of the key")},
		},
		`HKEY_LOCAL_MACHINE\SOFTWARE\Mullion\Empty`: nil,
		`HKEY_LOCAL_MACHINE\SOFTWARE\Odd`: {
			{"Huge", kindQWord, []byte{255, 255, 255, 255, 255, 255, 255, 255}},
		},
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`: {
			{"ProductName", kindString, textData("Windows Server 2022 Datacenter")},
			{"CurrentBuildNumber", kindString, textData("20348")},
			{"UBR", kindDWord, []byte{0xca, 0xa, 0, 0}},
			{"ReleaseId", kindString, textData("2009")},
		},
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones`:                     nil,
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones\Tokyo Standard Time`: stageZone("(UTC+09:00) Osaka, Sapporo, Tokyo", "Tokyo", 0xfde4),
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones\UTC`:                 stageZone("(UTC) Coordinated Universal Time", "Coordinated Universal", 0),
		`HKEY_LOCAL_MACHINE\SYSTEM\HardwareConfig`: {
			{"LastConfig", kindString, textData("{01234567-89ab-cdef-0123-456789abcdef}")},
		},
		`HKEY_CURRENT_USER`:          nil,
		`HKEY_CURRENT_USER\Software`: nil,
		`HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`: {
			{"OS", kindString, textData("Windows_NT")}, {"TEMP", kindExpand, textData(`%COMPUTERNAME%\TEMP`)},
		},
		`HKEY_USERS`:          nil,
		`HKEY_USERS\.DEFAULT`: nil,
	}
}

// known returns a key's name as the registry has it.
func (r fakeRegistry) known(key string) (string, error) {
	for name := range r {
		if strings.EqualFold(name, key) {
			if strings.HasSuffix(name, `\SECURITY`) {
				return "", fs.ErrPermission
			}
			return name, nil
		}
	}
	return "", fs.ErrNotExist
}

func (r fakeRegistry) read(key string) (subkeys []string, values []registryValue, err error) {
	key, err = r.known(key)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if rest, below := strings.CutPrefix(name, key+`\`); below && !strings.Contains(rest, `\`) {
			subkeys = append(subkeys, rest)
		}
	}
	return subkeys, r[key], nil
}

func (r fakeRegistry) create(key string) error {
	parts := strings.Split(key, `\`)
	for n := range parts {
		name := strings.Join(parts[:n+1], `\`)
		if _, err := r.known(name); err != nil {
			r[name] = nil
		}
	}
	return nil
}

func (r fakeRegistry) set(key string, v registryValue) error {
	key, err := r.known(key)
	if err != nil {
		return err
	}
	for i, there := range r[key] {
		if strings.EqualFold(there.name, v.name) {
			r[key][i] = v
			return nil
		}
	}
	r[key] = append(r[key], v)
	return nil
}

func (r fakeRegistry) removeKey(key string) error {
	key, err := r.known(key)
	if err != nil {
		return err
	}
	if subkeys, _, _ := r.read(key); len(subkeys) > 0 {
		return fs.ErrPermission // as Windows answers
	}
	delete(r, key)
	return nil
}

func (r fakeRegistry) removeValue(key, name string) error {
	key, err := r.known(key)
	if err != nil {
		return err
	}
	for i, v := range r[key] {
		if strings.EqualFold(v.name, name) {
			r[key] = slices.Delete(slices.Clone(r[key]), i, i+1)
			return nil
		}
	}
	return fs.ErrNotExist
}

// TestOddValues reads values whose data do not fit their type, as any program may write them.
func TestOddValues(t *testing.T) {
	for _, tt := range []struct {
		kind uint32
		data []byte
		want string
	}{
		{kindString, nil, ""},
		{kindString, []byte{'a'}, ""},
		{kindString, []byte{'a', 0, 'b'}, "a"},
		{kindString, []byte{'a', 0}, "a"},
		{kindString, []byte{'a', 0, 0, 0, 'b', 0, 0, 0}, "a\x00b"},
		{kindString, []byte{0, 0xd8}, "\uFFFD"},
		{kindExpand, []byte{'%', 0}, "%"},
		{kindMulti, nil, ""},
		{kindMulti, []byte{'a', 0}, "a"},
		{kindMulti, []byte{'a', 0, 0, 0}, "a"},
		{kindMulti, []byte{0, 0, 0, 0}, ""},
		{kindMulti, []byte{'a', 0, 0, 0, 0, 0, 'b', 0, 0, 0}, "a  b"},
		{kindDWord, nil, "0"},
		{kindDWord, []byte{1, 2, 0}, "513"},
		{kindDWord, []byte{0, 0, 0, 0, 1}, "4294967296"},
		{kindQWord, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, "1 2 3 4 5 6 7 8 9"},
		{kindNone, []byte{7}, "7"},
		{kindBig, []byte{0, 0, 0, 1}, "0 0 0 1"},
		{6, []byte{1}, ""},
	} {
		got, err := registryValue{"x", tt.kind, tt.data}.value(nil)
		if err != nil || text(got) != tt.want {
			t.Errorf("type %d with %v: %q, %v, want %q", tt.kind, tt.data, text(got), err, tt.want)
		}
	}
}

// TestParametersForTheRegistry checks that a parameter which a cmdlet carries out for files only is refused for keys.
func TestParametersForTheRegistry(t *testing.T) {
	c := cmdlet{name: "Test-Path"}
	if err := c.refusesKey(`HKLM:\SOFTWARE`, true, []string{pathName, common, "pathtype"}); err == nil {
		t.Error("-PathType of Test-Path is taken for a key")
	}
	for _, path := range []string{`HKLM:\SOFTWARE`, `C:\Windows`} {
		if err := c.refusesKey(path, true, []string{pathName, common}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestKeysBelowKeys lists keys with those below them.
func TestKeysBelowKeys(t *testing.T) {
	in := newInterpreter(t.Context(), &Session{windows: stageWindows(), Stderr: io.Discard})
	var got []value
	c := &call{f: in.top, flags: map[string]bool{"name": true, "recurse": true}, out: collect(&got)}
	if err := c.showSubkeys(registryKey{name: "HKEY_LOCAL_MACHINE"}, ""); err != nil || in.ok {
		t.Errorf("%v, and the key that may not be read is no error: %v", err, in.ok)
	}
	if want := `SECURITY SOFTWARE SOFTWARE\Mullion SOFTWARE\Mullion\Empty SOFTWARE\Odd`; text(got) != want {
		t.Errorf("%s, want %s", text(got), want)
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
		k, err := keyOf(path)
		if (err != nil) != (want == "") || err == nil && k.name != want {
			t.Errorf("%s: %q, %v, want %q", path, k.name, err, want)
		}
	}
}

// stageZone is the key of a time zone without daylight time; bias is the lower half of its bias, in minutes.
func stageZone(display, name string, bias uint16) []registryValue {
	tzi := make([]byte, 44)
	tzi[0], tzi[1] = byte(bias), byte(bias>>8)
	if bias > 1<<15 {
		tzi[2], tzi[3] = 0xff, 0xff
	}
	return []registryValue{
		{"Display", kindString, textData(display)},
		{"Std", kindString, textData(name + " Standard Time")},
		{"Dlt", kindString, textData(name + " Daylight Time")},
		{"TZI", kindBinary, tzi},
	}
}
