package wine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/regf"
)

func software(hive []byte, room *int) ([]Key, error) { return LayerHives()[1].Changes(hive, room) }

func system(hive []byte, room *int) ([]Key, error) { return LayerHives()[2].Changes(hive, room) }

func TestLayerChanges(t *testing.T) {
	text := func(name, value string) regf.Value {
		return regf.Value{
			Name: name,
			Type: 1,
			Data: regf.UTF16(value),
		}
	}

	lower := `WINE REGISTRY Version 2

[Software\\Cleared] 1
"old"="x"

[Software\\Cleared\\Stays] 1
"a"="b"

[Software\\Deleted] 1

[Software\\Deleted\\Below] 1
"a"="b"

[Software\\Microsoft\\Windows NT\\CurrentVersion] 1
"ProductName"="this one"

[Software\\Replaced\\Below] 1
"a"="b"

[System\\CurrentControlSet\\Control\\Session Manager\\Environment] 1
"PATH"=str(2):"%SystemRoot%"
"gone"="x"
`

	room := MaxChanges
	changes, err := software(regf.Build(
		regf.Key{
			Path:   "Cleared",
			Layer:  regf.Replace,
			Values: []regf.Value{text("new", "y")},
		},
		regf.Key{Path: "Deleted", Layer: regf.Tombstone},
		regf.Key{Path: `Microsoft\Windows NT\CurrentVersion`, Values: []regf.Value{text("ProductName", "another")}},
		regf.Key{Path: `Microsoft\Windows NT\CurrentVersion\ProfileList\S-1`, Values: []regf.Value{text("a", "b")}},
		regf.Key{Path: "Replaced", Layer: regf.ReplaceTree, Values: []regf.Value{
			{Name: "Binary", Type: 3, Data: []byte{1, 0xff}},
			{Name: "Half", Type: 1, Data: []byte{'x'}},
			{Name: "List", Type: 7, Data: regf.UTF16("a\x00")},
			{Name: "None", Data: nil},
			{Name: "Number", Type: 4, Data: []byte{1, 2, 0, 0}},
			text("", "say \"hi\"\n[x]"),
		}},
		regf.Key{Path: `Wine\DllOverrides`, Values: []regf.Value{text("mullionhook", "")}},
	), &room)
	if err != nil {
		t.Fatal(err)
	}

	of, err := system(regf.Build(
		regf.Key{Path: `ControlSet001\Control\Session Manager\Environment`, Values: []regf.Value{
			{Name: "Path", Type: 2, Data: regf.UTF16(`%SystemRoot%;C:\own`)},
			{Name: "Gone", Tombstone: true},
			text("PROCESSOR_LEVEL", "99"), text("Number_Of_Processors", "99"),
		}},
		regf.Key{Path: `ControlSet001\Control\ComputerName`, Values: []regf.Value{text("a", "b")}},
		regf.Key{Path: `ControlSet001\Services\own`, Values: []regf.Value{text("a", "b")}},
	), &room)
	if err != nil {
		t.Fatal(err)
	}

	got, left, err := ApplyLayers(lower, append(changes, of...))
	if err != nil || len(left) > 0 {
		t.Fatal(err, left)
	}

	want := `WINE REGISTRY Version 2

[Software\\Cleared] 1
"new"="y"

[Software\\Cleared\\Stays] 1
"a"="b"

[Software\\Microsoft\\Windows NT\\CurrentVersion] 1
"ProductName"="this one"

[System\\CurrentControlSet\\Control\\Session Manager\\Environment] 1
"Path"=str(2):"%SystemRoot%;C:\\own"

[Software\\Microsoft] 0

[Software\\Microsoft\\Windows NT] 0

[Software\\Replaced] 0
"Binary"=hex:01,ff
"Half"=hex(1):78
"List"=hex(7):61,00,00,00,00,00
"None"=hex(0):
"Number"=dword:00000201
@="say \"hi\"\x000a[x]"
`

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLayerChangesAreBounded takes a hive whose values share one large text, which would become longer than memory is.
func TestLayerChangesAreBounded(t *testing.T) {
	var keys []regf.Key
	data := make([]byte, 1<<20)
	for i := range 25 {
		keys = append(keys, regf.Key{Path: fmt.Sprintf("k%d", i), Values: []regf.Value{{Name: "v", Type: 3, Data: data}}})
	}

	room := MaxChanges
	if _, err := software(regf.Build(keys...), &room); !errors.Is(err, regf.ErrTooLarge) {
		t.Error(err)
	}

	// Several hives of an image share the room, also for keys that are not applied.
	room = 3000
	small := regf.Build(regf.Key{Path: `ControlSet001\Enum\a`}, regf.Key{Path: `ControlSet001\Enum\b`})
	for range 2 {
		if _, err := system(small, &room); err != nil {
			t.Fatal(err)
		}
	}

	for room > 0 {
		before := room
		if _, err := system(small, &room); (err != nil && room >= 0) || room == before {
			t.Fatal(err, room)
		}
	}

	if _, err := system(small, &room); !errors.Is(err, regf.ErrTooLarge) {
		t.Error(err)
	}
}

// TestManyChanges has to end in a time that grows with the number of changes, not with its square.
func TestManyChanges(t *testing.T) {
	const many = 30_000
	changes := make([]Key, 0, 2*many)
	one := Key{Path: "Software\\one"}
	for i := range many {
		changes = append(changes, Key{Path: fmt.Sprintf(`Software\k%d\x`, i)}, Key{Path: fmt.Sprintf(`Software\k%d`, i), Delete: true})
		one.Values = append(one.Values, DWORD(fmt.Sprint(i), 1))
		one.Drop = append(one.Drop, fmt.Sprint(i))
	}

	begin := time.Now()
	got, err := EditRegistry("WINE REGISTRY Version 2\n", append(changes, one, Key{Path: one.Path, Drop: one.Drop}))
	if err != nil || strings.Count(got, "\n") != 3 {
		t.Errorf("%v, %d lines", err, strings.Count(got, "\n"))
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

func TestDeletedRootStays(t *testing.T) {
	got, err := EditRegistry(sampleHive, []Key{{Path: "", Delete: true}, {Path: `Software\Odd [name]`, Delete: true}, {Path: `software\odd [name]\y`, Values: []Value{SZ("a", "b")}}})
	if err != nil || !strings.Contains(got, `"CurrentBuild"="7601"`) || strings.Contains(got, "default") || !strings.Contains(got, `[software\\odd \[name\]\\y] 0`) {
		t.Errorf("%v\n%s", err, got)
	}
}
