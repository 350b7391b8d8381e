package powershell

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/powershell/system"
)

// fakeRegistry is a registry of a test: the values of each key, by its name.
type fakeRegistry map[string][]system.RegistryValue

// stageRegistry returns a registry with a key that has a value of each type, one with values of odd lengths, and one
// that may not be read.
func stageRegistry() system.RegistryCalls {
	return fakeRegistry{
		`HKEY_LOCAL_MACHINE`:          nil,
		`HKEY_LOCAL_MACHINE\SECURITY`: nil,
		`HKEY_LOCAL_MACHINE\SOFTWARE`: nil,
		`HKEY_LOCAL_MACHINE\SOFTWARE\Mullion`: {
			{Name: "Version", Kind: system.KindString, Data: system.TextData("1.0")},
			{Name: "Folder", Kind: system.KindExpand, Data: system.TextData(`C:\%COMPUTERNAME%\bin`)},
			{Name: "Count", Kind: system.KindDWord, Data: []byte{3, 0, 0, 0}},
			{Name: "Large", Kind: system.KindDWord, Data: []byte{0xff, 0xff, 0xff, 0xff}},
			{Name: "Long", Kind: system.KindQWord, Data: []byte{0, 0, 0, 0, 1, 0, 0, 0}},
			{Name: "Names", Kind: system.KindMulti, Data: system.TextData("one", "two", "")},
			{Name: "Bytes", Kind: system.KindBinary, Data: []byte{1, 2, 255}},
			{Name: "", Kind: system.KindString, Data: system.TextData("of the key")},
		},
		`HKEY_LOCAL_MACHINE\SOFTWARE\Mullion\Empty`: nil,
		`HKEY_LOCAL_MACHINE\SOFTWARE\Odd`: {
			{Name: "Huge", Kind: system.KindQWord, Data: []byte{255, 255, 255, 255, 255, 255, 255, 255}},
		},
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`: {
			{Name: "ProductName", Kind: system.KindString, Data: system.TextData("Windows Server 2022 Datacenter")},
			{Name: "CurrentBuildNumber", Kind: system.KindString, Data: system.TextData("20348")},
			{Name: "UBR", Kind: system.KindDWord, Data: []byte{0xca, 0xa, 0, 0}},
			{Name: "ReleaseId", Kind: system.KindString, Data: system.TextData("2009")},
		},
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones`:                     nil,
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones\Tokyo Standard Time`: stageZone("(UTC+09:00) Osaka, Sapporo, Tokyo", "Tokyo", 0xfde4),
		`HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones\UTC`:                 stageZone("(UTC) Coordinated Universal Time", "Coordinated Universal", 0),
		`HKEY_LOCAL_MACHINE\SYSTEM\HardwareConfig`: {
			{
				Name: "LastConfig", Kind: system.KindString,
				Data: system.TextData("{01234567-89ab-cdef-0123-456789abcdef}"),
			},
		},
		`HKEY_CURRENT_USER`:          nil,
		`HKEY_CURRENT_USER\Software`: nil,
		`HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`: {
			{Name: "OS", Kind: system.KindString, Data: system.TextData("Windows_NT")}, {
				Name: "TEMP",
				Kind: system.KindExpand, Data: system.TextData(`%COMPUTERNAME%\TEMP`),
			},
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

func (r fakeRegistry) Read(key string) (subkeys []string, values []system.RegistryValue, err error) {
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

func (r fakeRegistry) Create(key string) error {
	parts := strings.Split(key, `\`)
	for n := range parts {
		name := strings.Join(parts[:n+1], `\`)
		if _, err := r.known(name); err != nil {
			r[name] = nil
		}
	}
	return nil
}

func (r fakeRegistry) Set(key string, v system.RegistryValue) error {
	key, err := r.known(key)
	if err != nil {
		return err
	}
	for i, there := range r[key] {
		if strings.EqualFold(there.Name, v.Name) {
			r[key][i] = v
			return nil
		}
	}
	r[key] = append(r[key], v)
	return nil
}

func (r fakeRegistry) RemoveKey(key string) error {
	key, err := r.known(key)
	if err != nil {
		return err
	}
	if subkeys, _, _ := r.Read(key); len(subkeys) > 0 {
		return fs.ErrPermission // as Windows answers
	}
	delete(r, key)
	return nil
}

func (r fakeRegistry) RemoveValue(key, name string) error {
	key, err := r.known(key)
	if err != nil {
		return err
	}
	for i, v := range r[key] {
		if strings.EqualFold(v.Name, name) {
			r[key] = slices.Delete(slices.Clone(r[key]), i, i+1)
			return nil
		}
	}
	return fs.ErrNotExist
}

// TestKeysBelowKeys lists keys with those below them. A key that may not be read is an error, and the rest is listed.
func TestKeysBelowKeys(t *testing.T) {
	var out, errs strings.Builder
	s := Session{
		Args:    []string{"-Command", `Get-ChildItem HKLM:\ -Name -Recurse; "$?"`},
		Stdout:  &out,
		Stderr:  &errs,
		Newline: "\n",
		windows: stageWindows(),
	}
	s.Run(t.Context())

	want := "SECURITY\nSOFTWARE\nSOFTWARE\\Mullion\nSOFTWARE\\Mullion\\Empty\nSOFTWARE\\Odd\nFalse\n"
	if out.String() != want || !strings.Contains(errs.String(), "Requested registry access is not allowed.") {
		t.Errorf("%q, errors %q; want %q and an error of the key that may not be read",
			out.String(), errs.String(), want)
	}
}

// stageZone returns the key of a time zone without daylight time; bias is the lower half of its bias, in minutes.
func stageZone(display, name string, bias uint16) []system.RegistryValue {
	tzi := make([]byte, 44)
	tzi[0], tzi[1] = byte(bias), byte(bias>>8)
	if bias > 1<<15 {
		tzi[2], tzi[3] = 0xff, 0xff
	}
	return []system.RegistryValue{
		{Name: "Display", Kind: system.KindString, Data: system.TextData(display)},
		{Name: "Std", Kind: system.KindString, Data: system.TextData(name + " Standard Time")},
		{Name: "Dlt", Kind: system.KindString, Data: system.TextData(name + " Daylight Time")},
		{Name: "TZI", Kind: system.KindBinary, Data: tzi},
	}
}
