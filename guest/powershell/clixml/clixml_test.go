package clixml

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/guest/powershell/object"
)

// plainSeal seals nothing: it marks what it was given.
type plainSeal struct{}

func (plainSeal) Seal(text string) (string, error) { return "00" + text, nil }

func (plainSeal) Open(sealed string) (string, error) {
	if text, ours := strings.CutPrefix(sealed, "00"); ours {
		return text, nil
	}
	return "", errors.New("it is not sealed")
}

// windows is a file that Windows PowerShell 5.1 writes: of (Get-Item C:\Windows\win.ini), shortened, and a list.
const windows = `<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04">
  <Obj RefId="0">
    <TN RefId="0">
      <T>System.IO.FileInfo</T>
      <T>System.IO.FileSystemInfo</T>
      <T>System.MarshalByRefObject</T>
      <T>System.Object</T>
    </TN>
    <ToString>C:\Windows\win.ini</ToString>
    <Props>
      <S N="Name">win.ini</S>
      <I64 N="Length">92</I64>
      <B N="IsReadOnly">false</B>
      <DT N="CreationTimeUtc">2022-05-07T05:22:29.1234567Z</DT>
      <Obj N="Attributes" RefId="1">
        <TN RefId="1">
          <T>System.IO.FileAttributes</T>
          <T>System.Enum</T>
          <T>System.ValueType</T>
          <T>System.Object</T>
        </TN>
        <ToString>Archive</ToString>
        <I32>32</I32>
      </Obj>
    </Props>
    <MS>
      <S N="PSChildName">win.ini</S>
    </MS>
  </Obj>
  <Obj RefId="2">
    <TN RefId="2">
      <T>System.Object[]</T>
      <T>System.Array</T>
      <T>System.Object</T>
    </TN>
    <LST>
      <I32>1</I32>
      <Nil />
      <Ref RefId="0" />
      <TS>PT9.0269026S</TS>
    </LST>
  </Obj>
  <Obj RefId="3">
    <TNRef RefId="2" />
    <LST />
  </Obj>
</Objs>`

func TestReadOfWindows(t *testing.T) {
	got, err := Read(windows, plainSeal{})
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}

	file, ok := got[0].(*object.Object)
	if !ok || object.TypeName(file) != "Deserialized.System.IO.FileInfo" || object.Text(file) != `C:\Windows\win.ini` {
		t.Errorf("the file: %v, %s, %s", got[0], object.TypeName(got[0]), object.Text(got[0]))
	}
	at, _ := file.Value("CreationTimeUtc").(object.DateTime)
	kind, _ := file.Value("Attributes").(object.Enum)
	if file.Value("Length") != int64(92) || at.At.Nanosecond() != 123456700 || kind.N != 32 || file.Value("PSChildName") != "win.ini" {
		t.Errorf("its properties: %v", file.Props)
	}

	list, ok := got[1].(*object.ArrayList)
	if !ok || len(list.Items) != 4 || list.Items[1] != nil || list.Items[2] != object.Value(file) ||
		object.Text(list.Items[3]) != "00:00:09.0269026" {
		t.Errorf("the list: %v", got[1])
	}
	if empty, ok := got[2].(*object.ArrayList); !ok || len(empty.Items) != 0 {
		t.Errorf("the empty list: %v", got[2])
	}
}

func TestRefused(t *testing.T) {
	deep := strings.Repeat(`<Obj RefId="1"><LST>`, 300)
	for text, want := range map[string]string{
		"":                                   "error in the XML document",
		"<Objs>":                             "error in the XML document",
		"<Objs></Objs><Objs></Objs>":         "multiple root",
		"<a/>":                               "is not Objs",
		"<Objs><X>1</X></Objs>":              "no element of Export-Clixml",
		"<Objs><I32>3000000000</I32></Objs>": "out of range",
		"<Objs><SS>ab</SS></Objs>":           "not sealed",
		"<Objs><TS>P</TS></Objs>":            "no duration",
		"<Objs><TS>P999999D</TS></Objs>":     "too long",
		"<Objs><DT>tomorrow</DT></Objs>":     "tomorrow",
		"<Objs><C>70000</C></Objs>":          "out of range",
		`<Objs><Ref RefId="7"/></Objs>`:      "not before it",
		`<Objs><Obj><DCT><En><S N="Value">x</S></En></DCT></Obj></Objs>`:                            "no key",
		`<Objs><Obj><TN><T>System.Management.Automation.PSCredential</T></TN><Props/></Obj></Objs>`: "no password",
		"<Objs>" + deep: "nested too deep",
	} {
		if _, err := Read(text, plainSeal{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

func TestTexts(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a\tb": "a_x0009_b", "_x0041_": "_x005F_x0041_", "_X": "_x005F_X", "_": "_", "😀": "_xD83D__xDE00_", "ü": "ü",
	} {
		if got := escaped(text); got != want || unescaped(got) != text {
			t.Errorf("%q: %q and back %q, want %q", text, got, unescaped(got), want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "PT0S", 24 * time.Hour: "P1D", -90 * time.Second: "-PT1M30S", 26*time.Hour + 100*time.Nanosecond: "P1DT2H0.0000001S",
	} {
		got := spanText(d)
		if back, err := parseSpan(got); got != want || err != nil || back != d {
			t.Errorf("%v: %s and back %v, %v, want %s", d, got, back, err, want)
		}
	}
}

// FuzzClixml checks that reading any text ends, without a panic, and that what was read can be written and read again,
// with the same text.
func FuzzClixml(f *testing.F) {
	f.Add(windows)
	for _, text := range []string{
		"<Objs><S>a_x0000_</S><Db>NaN</Db><D>1.5</D><URI>http://a/</URI><Version>1.2</Version><XD>&lt;a/&gt;</XD></Objs>",
		`<Objs><Obj RefId="0"><TN RefId="0"><T>System.Collections.Hashtable</T></TN><DCT><En><S N="Key">k</S><Ref RefId="0" N="Value"/></En></DCT></Obj></Objs>`,
		`<Objs><Obj RefId="0"><TNRef RefId="9"/><QUE><BA>AQI=</BA><By>300</By></QUE></Obj><U64>18446744073709551615</U64></Objs>`,
		`<Objs><Obj RefId="0"><TN RefId="0"><T>System.DayOfWeek</T></TN><ToString>x</ToString><I32>9</I32></Obj><SS>00a</SS></Objs>`,
	} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		values, err := Read(text, plainSeal{})
		if err != nil {
			return
		}

		const depth = 4
		once, err := Write(values, depth, "\n", plainSeal{})
		if err != nil {
			t.Fatalf("%q is read and not written: %v", text, err)
		}

		again, err := Read(once, plainSeal{})
		if err != nil {
			t.Fatalf("%q is written as %q, which is not read: %v", text, once, err)
		}
		if len(again) != len(values) {
			t.Errorf("%q has %d objects, and %d again", text, len(values), len(again))
		}
	})
}
