package wine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/regf"
)

const registryHead = "WINE REGISTRY Version 2\n;; All keys relative to \\\\Machine\n\n#arch=win64\n"

// before and after are what a container's registry was and has become.
const registryBefore = registryHead + `
[Software\\Kept] 1
#time=1d0
@="default"
"a"="1"
"b"=dword:00000001

[Software\\Gone] 1
"x"="y"

[Software\\Gone\\Below] 1

[Software\\Wine\\Own] 1

[System\\CurrentControlSet\\Control\\Session Manager\\Environment] 1
"Path"=str(2):"C:\\windows"
"OLD"="1"
`

const registryAfter = registryHead + `
[Software\\Kept] 2
#time=1d1
@="default"
"A"="2 \"q\" \x00e4\x4e2d\t\\ \0331"
"bin"=hex:00,01,02,03,04,05,06,07,08,09,0a,0b,0c,0d,0e,0f,10,11,12,13,14,15,\
  16,17
"multi"=str(7):"one\0two\0"
"quad"=hex(b):01,00,00,00,00,00,00,00
"none"=hex(0):

[Software\\New] 2

[Software\\N\x00e4me \x153uvre\\Sub key] 2
"=\""=dword:ffffffff

[Software\\Wine\\Own] 2
"not"="an image's"

[System\\CurrentControlSet\\Control\\Session Manager\\Environment] 2
"Path"=str(2):"C:\\windows;C:\\own"
"NUMBER_OF_PROCESSORS"="7"
"NEW"="2"
`

// What a program has done to the registry is the same after it has gone through a layer: the hive is written, read and
// applied to what the registry was.
func TestWriteIsWhatChangesReads(t *testing.T) {
	text := registryBefore
	for _, h := range LayerHives() {
		if h.Hive != MachineHive {
			continue
		}
		hive, err := h.Write(registryBefore, registryAfter)
		if err != nil || hive == nil {
			t.Fatalf("%s: %v", h.Name, err)
		}

		room := MaxChanges
		keys, err := h.Changes(hive, &room)
		if err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		if text, err = EditRegistry(text, keys); err != nil {
			t.Fatal(err)
		}

		for from, to := range map[string]string{text: registryAfter, registryAfter: text} {
			if left, err := h.Write(from, to); err != nil || left != nil {
				t.Errorf("%s: %v, differs from what it should be:\n%s", h.Name, err, text)
			}
		}
	}

	for _, no := range []string{`"OLD"`, "Gone", "an image's", `"7"`, `"b"=`} {
		if strings.Contains(text, no) {
			t.Errorf("%q is there:\n%s", no, text)
		}
	}
}

// A container's programs may write a registry that is deep or large beyond all measure, and one of which much is gone.
func TestWriteBounded(t *testing.T) {
	deep := registryHead + "\n[Software" + strings.Repeat("\\\\a", 100_000) + "] 1\n"
	if _, err := LayerHives()[1].Write(registryBefore, deep); !errors.Is(err, regf.ErrTooLarge) {
		t.Errorf("a deep key: %v", err)
	}

	var many strings.Builder
	many.WriteString(registryHead)
	for i := range 100_000 {
		fmt.Fprintf(&many, "\n[Software\\\\k%d] 1\n", i)
	}

	began := time.Now()
	_, err := LayerHives()[1].Write(many.String(), registryBefore)
	if took := time.Since(began); err != nil || took > 20*time.Second {
		t.Errorf("many keys that are gone: %v, after %v", err, took)
	}
}

// What has not changed, or is the machine's own, makes no hive.
func TestWriteNothing(t *testing.T) {
	own := strings.Replace(registryBefore, "[Software\\\\Wine\\\\Own] 1\n", "[Software\\\\Wine\\\\Own] 1\n\"x\"=\"1\"\n", 1)
	times := strings.ReplaceAll(registryBefore, "] 1", "] 9")
	name := registryBefore + "\n[System\\\\CurrentControlSet\\\\Services\\\\Tcpip\\\\Parameters] 1\n\"Hostname\"=\"b\"\n"
	named := strings.Replace(name, "=\"b\"", "=\"c\"", 1)
	if hive, err := LayerHives()[2].Write(name, named); hive != nil || err != nil {
		t.Errorf("the machine's name: %d bytes, %v", len(hive), err)
	}

	for _, after := range []string{registryBefore, own, times} {
		for _, h := range LayerHives() {
			if hive, err := h.Write(registryBefore, after); hive != nil || err != nil {
				t.Errorf("%s: %d bytes, %v", h.Name, len(hive), err)
			}
		}
	}

	if _, err := LayerHives()[1].Write("no registry", registryAfter); err == nil {
		t.Error("what is no registry has differences")
	}
}

// A user's own hive has what has become of the user's settings, and deletes nothing.
func TestWriteUser(t *testing.T) {
	before := registryHead + "\n[Environment] 1\n\"TEMP\"=\"C:\\\\temp\"\n\n[Software\\\\Gone] 1\n\"a\"=\"1\"\n"
	after := registryHead + "\n[Environment] 1\n\"OWN\"=\"1\"\n"
	hive, err := writeUser(before, after)
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	err = regf.Walk(hive, func(k regf.Key) error {
		for _, v := range k.Values {
			got = append(got, k.Path+` `+v.Name)
		}
		if k.Layer == regf.Tombstone {
			got = append(got, "deleted "+k.Path)
		}
		return nil
	})
	if err != nil || !slices.Equal(got, []string{"Environment OWN"}) {
		t.Errorf("%q, %v", got, err)
	}

	if hive, err := writeUser(before, before); hive != nil || err != nil {
		t.Errorf("%d bytes, %v", len(hive), err)
	}
}

// FuzzWrite: a container's programs write the text of its registry as they like.
func FuzzWrite(f *testing.F) {
	f.Add(registryAfter)
	f.Add(registryHead + "\n[Software\\\\a] 1\n\"x\"=str(ffffffff):\"\\x\\\\\n\"y\"=hex(:0\n@=\n")
	f.Add(registryHead + "\n[]] 1\n[] 1\n\"\"=\"\"\n")

	f.Fuzz(func(t *testing.T, after string) {
		for _, h := range LayerHives() {
			hive, err := h.Write(registryBefore, after)
			if err != nil || hive == nil {
				continue
			}
			room := MaxChanges
			if _, err := h.Changes(hive, &room); err != nil {
				t.Errorf("%s: %v", h.Name, err)
			}
		}

		_, _ = writeUser(registryBefore, after)
	})
}
