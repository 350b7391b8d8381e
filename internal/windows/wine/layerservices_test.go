package wine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/regf"
)

const servicesBelow = `

[System\\CurrentControlSet\\Services\\EventLog\\System] 1
"old"="x"

[System\\CurrentControlSet\\Services\\Spooler] 1
"ImagePath"="C:\\windows\\system32\\spoolsv.exe"
"Start"=dword:00000004
"Type"=dword:00000110
`

// service returns a service as sc create and installers write it.
func service(name string, kind byte, image string, more ...regf.Value) regf.Key {
	return regf.Key{Path: `ControlSet001\Services\` + name, Values: append([]regf.Value{
		{Name: "Type", Type: 4, Data: []byte{kind, 0, 0, 0}},
		{Name: "Start", Type: 4, Data: []byte{2, 0, 0, 0}},
		{Name: "ImagePath", Type: 2, Data: regf.UTF16(image)},
	}, more...)}
}

// TestServicesOfLayers has two layers: the upper one changes and deletes services that the lower one adds.
func TestServicesOfLayers(t *testing.T) {
	lower := regf.Build(
		service("Own", 0x10, `"C:\Program Files\own\own.exe" run`, regf.Value{
			Name: "ObjectName",
			Type: 1,
			Data: regf.UTF16("LocalSystem"),
		}),
		regf.Key{Path: `ControlSet001\Services\Own\Parameters`, Values: []regf.Value{{Name: "a", Type: 1, Data: regf.UTF16("b")}}},
		service("shared", 0x20, `%ProgramFiles%\shared.exe`),
		service("gone", 0x10, `C:\gone.exe`),
		service("driver", 0x1, `\SystemRoot\System32\drivers\x.sys`),
		service("host", 0x20, `%windir%\system32\svchost.exe -k iissvcs`),
		service("quoted", 0x10, `"C:/Windows/quoted.exe"`),
		service("user_1a2b", 0xd0, `C:\x.exe`),
		service("remote", 0x10, `\\server\share\x.exe`),
		service("Spooler", 0x10, `C:\evil.exe`),
		regf.Key{Path: `ControlSet001\Services\Tcpip\Parameters`, Values: []regf.Value{{Name: "Hostname", Type: 1, Data: regf.UTF16("builder")}}},
		regf.Key{Path: `ControlSet001\Services\EventLog\Application\Own`, Values: []regf.Value{{Name: "TypesSupported", Type: 4, Data: []byte{7, 0, 0, 0}}}},
		regf.Key{Path: `ControlSet001\Services\odd`, Values: []regf.Value{
			{Name: "Type", Type: 3, Data: []byte{0x10}}, {Name: "ImagePath", Type: 3, Data: []byte{1}},
		}},
	)

	upper := regf.Build(
		regf.Key{Path: `ControlSet001\Services\own`, Values: []regf.Value{{Name: "Start", Type: 4, Data: []byte{3, 0, 0, 0}}}},
		regf.Key{Path: `ControlSet001\Services\gone`, Layer: regf.Tombstone},
		regf.Key{Path: `ControlSet001\Services\spooler`, Layer: regf.Tombstone},
	)

	room := MaxChanges
	var changes []Key
	for _, layer := range [][]byte{lower, upper} {
		c, err := system(layer, &room)
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, c...)
	}

	got, left, err := ApplyLayers("WINE REGISTRY Version 2"+servicesBelow, changes)
	if err != nil {
		t.Fatal(err)
	}

	want := "WINE REGISTRY Version 2" + servicesBelow + `
[System\\CurrentControlSet\\Services\\EventLog] 0

[System\\CurrentControlSet\\Services\\EventLog\\Application] 0

[System\\CurrentControlSet\\Services\\EventLog\\Application\\Own] 0
"TypesSupported"=dword:00000007

[System\\CurrentControlSet\\Services\\Own] 0
"Type"=dword:00000010
"Start"=dword:00000003
"ImagePath"=str(2):"\"C:\\Program Files\\own\\own.exe\" run"
"ObjectName"="LocalSystem"

[System\\CurrentControlSet\\Services\\Own\\Parameters] 0
"a"="b"

[System\\CurrentControlSet\\Services\\shared] 0
"Type"=dword:00000020
"Start"=dword:00000002
"ImagePath"=str(2):"%ProgramFiles%\\shared.exe"
`

	if diff := cmp.Diff(strings.ReplaceAll(want, "[System\\\\CurrentControlSet\\\\Services\\\\EventLog] 0\n\n", ""), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{
		`"driver": a driver`, `"host": its program is of Windows`, `"quoted": its program is of Windows`,
		`"remote": its program is not on C:`, `"user_1a2b": a service of each user`,
	}, left); diff != "" {
		t.Error(diff)
	}
}

func TestUserChanges(t *testing.T) {
	room := MaxChanges
	keys, err := UserChanges(regf.Build(
		regf.Key{Path: "Environment", Values: []regf.Value{
			{Name: "Path", Type: 2, Data: regf.UTF16(`%UserProfile%\bin;%OWN%`)},
			{Name: "OWN", Type: 1, Data: regf.UTF16(`%USERPROFILE%`)},
		}},
		regf.Key{Path: `Software\Own`, Values: []regf.Value{{Name: "a", Type: 2, Data: regf.UTF16(`%USERPROFILE%`)}}},
		regf.Key{Path: `Software\Classes`, Values: []regf.Value{{Name: "SymbolicLinkValue", Type: 6, Data: []byte{1, 2}}}},
		regf.Key{Path: `Software\Wine\DllOverrides`, Values: []regf.Value{{Name: "mullionhook", Type: 1, Data: regf.UTF16("")}}},
		regf.Key{Path: `Volatile Environment\1`},
		regf.Key{Path: "Layered", Layer: regf.ReplaceTree}, // a hive that lies over no other has no such thing
	), User, &room)
	if err != nil {
		t.Fatal(err)
	}

	got, err := EditRegistry("WINE REGISTRY Version 2\n\n[Environment] 1\n\"TEMP\"=\"x\"\n\n[Layered\\\\Below] 1\n", keys)
	if err != nil {
		t.Fatal(err)
	}

	want := `WINE REGISTRY Version 2

[Environment] 1
"TEMP"="x"
"Path"=str(2):"C:\\users\\ContainerUser\\bin;%OWN%"
"OWN"="%USERPROFILE%"

[Layered\\Below] 1

[Layered] 0

[Software] 0

[Software\\Own] 0
"a"=str(2):"%USERPROFILE%"
`

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzLayers gives the hive of an image to all that reads it: what comes of it is a registry that can be read again,
// and no key of Wine's own is in it.
func FuzzLayers(f *testing.F) {
	f.Add(regf.Build(service("own", 0x10, `C:\own.exe`), service("x", 0x1, "\x00\"]\n[Software]")))
	f.Add(regf.Build(regf.Key{Path: `Wine\x`, Values: []regf.Value{{Name: "a\"=\n[b]\\", Type: 1, Data: regf.UTF16("c")}}}))
	f.Add(regf.Build(regf.Key{Path: "Environment", Values: []regf.Value{{Name: "P", Type: 2, Data: regf.UTF16("%USERPROFILE%")}}}))

	f.Fuzz(func(t *testing.T, file []byte) {
		room := MaxChanges
		var all []Key
		for _, h := range LayerHives() {
			keys, err := h.Changes(file, &room)
			if err == nil && h.Hive == MachineHive {
				all = append(all, keys...)
			}
		}

		text, _, err := ApplyLayers("WINE REGISTRY Version 2"+servicesBelow, all)
		if err != nil {
			t.Fatal(err)
		}
		if user, err := UserChanges(file, AdminUser, &room); err == nil {
			if text, err = EditRegistry(text, user); err != nil {
				t.Fatal(err)
			}
		}

		h, err := parseHive(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range h.keys {
			if within(k.path, `software\wine`) {
				t.Errorf("%q", k.header)
			}
		}
	})
}
