package native

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

const source = `// a comment with "quotes" and { brackets
using System; using System.Runtime.InteropServices;
#region declarations
namespace Win {
	[StructLayout(LayoutKind.Sequential, CharSet = CharSet.Unicode)]
	public struct Version {
		public uint Size; public byte Kind; public long Build;
		[MarshalAs(UnmanagedType.ByValTStr, SizeConst = 4)] public string Pack;
		public Inner Within;
	}
	public struct Inner { public ushort A, B; }
	[StructLayout(LayoutKind.Sequential, Pack = 1)] public struct Packed { public byte A; public int B; }
	[Flags] public enum Move : uint {
		None, Replace = 0x1, Delay = 1 << 2, Both = Replace | Delay, All = 0xFFFFFFFF, Next = (uint)7 }
	public static class Api {
		public const int Max = 0x104; const string Name = @"C:\a ""b"""; const bool On = true; const int Less = -(Max + 1);
		/* over
		lines */
		[DllImport("one.dll", SetLastError = true, CharSet = CharSet.Unicode)]
		[return: MarshalAs(UnmanagedType.Bool)]
		public static extern bool Texts(
			string wide, [MarshalAs(UnmanagedType.LPStr)] string narrow, StringBuilder room, int n);
		[DllImport("one.dll")] static extern IntPtr Ask(ref Version v, out int n, ref bool b, Packed by, Inner small);
		[DllImport("two.dll", EntryPoint = "#12", ExactSpelling = true)]
		static extern void List(byte[] data, uint[] more, Guid id, Move how);
		[DllImport("two.dll")] static extern sbyte Signed(IntPtr p); [DllImport("two.dll")] static extern uint Signed(uint a, char c);
	}
}`

// called is what a function of a library was called with.
type called struct {
	library string
	entries []string
	args    []uintptr
}

// defined returns a session with the types of a source, and what its functions are called with. answer may write where
// the arguments point.
func defined(t *testing.T, source string, answer func(args []uintptr) uintptr) (*session.State, Result, *[]called) {
	t.Helper()
	s := &session.State{}
	all := &[]called{}
	types := Of(s)
	types.Call = func(library string, entries []string, args []uintptr) (uintptr, uint32, error) {
		*all = append(*all, called{library, entries, args})
		if answer == nil {
			return 0, 87, nil
		}
		return answer(args), 87, nil
	}

	result, err := types.Define(source)
	if err != nil {
		t.Fatal(err)
	}
	return s, result, all
}

func classNamed(t *testing.T, r Result, name string) *object.Class {
	t.Helper()
	for _, c := range r.Classes {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no class %s", name)
	return nil
}

func calls(t *testing.T, s *session.State, c *object.Class, name string, args ...object.Value) object.Value {
	t.Helper()
	v, err := object.Find(c.Calls, name).Do(&object.Call{State: s, Args: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func TestDeclarations(t *testing.T) {
	s, r, _ := defined(t, source, nil)
	if got := strings.Join(r.Names, " "); got != "Win.Version Win.Inner Win.Packed Win.Move Win.Api" {
		t.Errorf("types %s", got)
	}

	api := classNamed(t, r, "Win.Api")
	for name, want := range map[string]any{"Max": int64(260), "Name": `C:\a "b"`, "On": true, "Less": int64(-261)} {
		if got, err := object.FindField(api.Fields, name).Get(s, nil); got != want || err != nil {
			t.Errorf("%s is %v, %v; want %v", name, got, err, want)
		}
	}

	move := r.Enums[0]
	for name, want := range map[string]int64{"None": 0, "Delay": 4, "Both": 5, "All": 0xFFFFFFFF, "Next": 7} {
		if got, ok := move.Named(name); !ok || got.N != want {
			t.Errorf("%s is %v, %v", name, got.N, ok)
		}
	}

	for name, want := range map[string]int{"Win.Version": 32, "Win.Inner": 4, "Win.Packed": 5} {
		if got := Of(s).made[name].structure.size; got != want {
			t.Errorf("%s has %d bytes, want %d", name, got, want)
		}
	}

	if again, err := Of(s).Define(source); err != nil || len(again.Classes) != 0 || len(again.Names) != 5 {
		t.Errorf("a second time: %v, %v", again, err)
	}
	var exists *ErrExists
	if _, err := Of(s).Define("namespace Win { class Api { } }"); !errors.As(err, &exists) {
		t.Errorf("another source of its name: %v", err)
	}
}

// TestTexts: a text goes there in its encoding, and what a function writes into a room comes back.
func TestTexts(t *testing.T) {
	made, err := library.BuilderClass().Make.Do(&object.Call{Args: []object.Value{int64(100)}})
	if err != nil {
		t.Fatal(err)
	}
	b := object.Own[*library.Builder](made)
	b.WriteString("before")
	s, r, all := defined(t, source, func(args []uintptr) uintptr {
		wide, _ := textAt(args[0], true, 100)
		narrow, _ := textAt(args[1], false, 100)
		room, _ := textAt(args[2], true, 100)
		if wide != "grün 😀" || narrow != "plain" || room != "before" || args[3] != 0xFFFFFFFF {
			t.Errorf("%q, %q, %q, %x", wide, narrow, room, args[3])
		}
		copy(roomAt(args[2], 202), encoded("after", true))
		return 0x100000002 // a BOOL is its lower half
	})

	api := classNamed(t, r, "Win.Api")
	got := calls(t, s, api, "Texts", "grün 😀", "plain", made, int64(-1))
	if got != true || b.String() != "after" || b.Capacity() != 100 {
		t.Errorf("it says %v, and the room has %q of %d", got, b.String(), b.Capacity())
	}
	if one := (*all)[0]; one.library != "one.dll" || strings.Join(one.entries, " ") != "TextsW Texts" {
		t.Errorf("it called %v", one)
	}

	last := calls(t, s, MarshalClass(), "GetLastWin32Error")
	hr := calls(t, s, MarshalClass(), "GetHRForLastWin32Error")
	if last != int64(87) || hr != int64(-2147024809) {
		t.Errorf("its error is %v, %v", last, hr)
	}
}

// TestReferences: structures and numbers come back as the function leaves them; small structures are no pointers.
func TestReferences(t *testing.T) {
	s, r, _ := defined(t, source, func(args []uintptr) uintptr {
		v := roomAt(args[0], 32)
		if !bytes.Equal(v[:9], []byte{40, 0, 0, 0, 255, 0, 0, 0, 1}) || v[16] != 'a' || v[18] != 0 || v[24] != 7 {
			t.Errorf("the structure is %v", v)
		}
		v[8], v[26] = 9, 3
		copy(v[16:], encoded("xyz", true))
		copy(roomAt(args[1], 4), []byte{0xFE, 0xFF, 0xFF, 0xFF})
		if roomAt(args[2], 4)[0] != 1 {
			t.Error("the bool is not there")
		}
		roomAt(args[2], 4)[0] = 0
		if !bytes.Equal(roomAt(args[3], 5), []byte{5, 6, 0, 0, 0}) || args[4] != 2<<16|1 {
			t.Errorf("%v, %x", roomAt(args[3], 5), args[4])
		}
		return 0x7FFF00000001
	})

	version, err := classNamed(t, r, "Win.Version").Convert(tableOf("Size", int64(40), "kind", int64(255), "Build", int64(1),
		"Pack", "a", "Within", tableOf("A", int64(7))))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := classNamed(t, r, "Win.Packed").Convert(tableOf("A", int64(5), "B", int64(6)))
	if err != nil {
		t.Fatal(err)
	}
	inner, err := classNamed(t, r, "Win.Inner").Convert(tableOf("A", int64(1), "B", int64(2)))
	if err != nil {
		t.Fatal(err)
	}

	to := object.Held(version)
	n, b := object.Held(nil), object.Held(true)
	got := calls(t, s, classNamed(t, r, "Win.Api"), "Ask", to, n, b, packed, inner)
	if got != int64(0x7FFF00000001) {
		t.Errorf("it returns %v", got)
	}
	after := object.Own[*object.Reference](to).Get().(*object.Object)
	within := after.Props["within"].(*object.Object)
	if after.Props["build"] != int64(9) || after.Props["pack"] != "xyz" || within.Props["b"] != int64(3) {
		t.Errorf("the structure is %v", after.Props)
	}
	if object.Own[*object.Reference](n).Get() != int64(-2) || object.Own[*object.Reference](b).Get() != false {
		t.Error("the numbers did not come back")
	}

	for what, args := range map[string][]object.Value{
		"no reference":     {version, n, b, packed, inner},
		"another type":     {to, n, b, inner, inner},
		"a text as number": {to, n, b, packed, "x"},
	} {
		if _, err := object.Find(classNamed(t, r, "Win.Api").Calls, "Ask").Do(&object.Call{State: s, Args: args}); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// TestLists: lists come back as well, and functions of one name are told by the number of their parameters.
func TestLists(t *testing.T) {
	s, r, all := defined(t, source, func(args []uintptr) uintptr {
		if len(args) == 4 {
			id := roomAt(args[2], 16)
			if !bytes.Equal(id[:4], []byte{4, 3, 2, 1}) || id[15] != 0x10 || args[3] != 5 || args[1] != 0 {
				t.Errorf("%v, %v, %v", id, args[3], args[1])
			}
			copy(roomAt(args[0], 2), []byte{8, 9})
		}
		return 0xFF
	})

	api := classNamed(t, r, "Win.Api")
	data := []object.Value{int64(1), int64(2)}
	guid := &object.Instance{Of: object.GUIDClass(), V: "01020304-0506-0708-090a-0b0c0d0e0f10"}
	calls(t, s, api, "List", data, nil, guid, "Replace, Delay")
	if data[0] != int64(8) || data[1] != int64(9) || (*all)[0].entries[0] != "#12" {
		t.Errorf("%v, %v", data, (*all)[0])
	}

	if one, two := calls(t, s, api, "Signed", int64(0)), calls(t, s, api, "Signed", int64(1), "x"); one != int64(-1) ||
		two != int64(255) || (*all)[2].args[1] != 'x' {
		t.Errorf("%v, %v, %v", one, two, (*all)[2])
	}
	b := make([]byte, 16)
	_ = putGUID(b, guid)
	if got := guidOf(b); object.Text(got) != guid.V {
		t.Errorf("a GUID comes back as %s", object.Text(got))
	}
}

func tableOf(pairs ...object.Value) *object.Hashtable {
	t := object.NewTable(false)
	for i := 0; i < len(pairs); i += 2 {
		t.Set(pairs[i], pairs[i+1])
	}
	return t
}

// TestRefused: what is no declaration says its line; nothing of its source is there then.
func TestRefused(t *testing.T) {
	for source, want := range map[string]string{
		"public class A {\n public static int F() { return 1; } }": "line 2: the code of A.F",
		"class A {\n A() {} }":               "line 2: the code of A",
		"class A { int x = 1; }":             "the code of A.x",
		"class A : B { }":                    "with a base",
		"class A<T> { }":                     "a generic type",
		"delegate void D();":                 "a delegate",
		"class A { static extern int F(); }": "has no [DllImport]",
		"class A { [DllImport(\"a\")] static extern string F(); }":                                                    "the result of F",
		"class A { [DllImport(\"a\")] static extern float F(); }":                                                     "the type float",
		"class A { [DllImport(\"a\")] static extern void F(out string s); }":                                          "the parameter s",
		"class A { [DllImport(\"a\")] static extern void F(int* p); }":                                                "int*",
		"class A { [DllImport(\"a\")] static extern void F(Unknown p); }":                                             "the type Unknown",
		"class A { [DllImport(\"a\")] static extern int F(int a);\n[DllImport(\"a\")] static extern int F(uint b); }": "a second F",
		"class A { [DllImport(\"a\", PreserveSig=false)] static extern int F(); }":                                    "PreserveSig",
		"struct A { public A Again; }":                                                                                "has itself in it",
		"struct A { public B b; } struct B { public A a; }":                                                           "has itself in it",
		"[StructLayout(LayoutKind.Explicit)] struct A { [FieldOffset(0)] public int B; }":                             "LayoutKind.Sequential",
		"[StructLayout(LayoutKind.Sequential, Pack=3)] struct A { }":                                                  "Pack=3",
		"struct A { public byte[] B; }":                                                                               "the field B",
		"enum E : string { A }":                                                                                       "of the type string",
		"enum E { A = B }":                                                                                            "the value \"B\"",
		"enum E { A = ((((":                                                                                           "the value",
		"class A { class A { } } class A { }":                                                                         "a second type A",
		"class A {":                                                                                                   "a \"}\" is missing",
		"class A { } }":                                                                                               "no type",
		"/* ":                                                                                                         "a comment that does not end",
		"class A { const string B = \"a":                                                                              "a text that does not end",
		"class A { const int B = 'a; }":                                                                               "a character that does not end",
		"namespace A { ":                                                                                              "is missing",
		"[A(":                                                                                                         "an attribute that does not end",
		strings.Repeat("namespace A {", 100):                                                                          "too much else",
		strings.Repeat("class A {", 100):                                                                              "too much else",
		"enum E { A = " + strings.Repeat("(", 5000):                                                                   "too much else",
		"enum E { A = " + strings.Repeat("-", 5000):                                                                   "too much else",
		strings.Repeat(" ", mostSource+1):                                                                             "more than",
	} {
		types := &Types{}
		_, err := types.Define(source)
		var line *Error
		if !errors.As(err, &line) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, not %q", source, err, want)
		}
		if len(types.made) != 0 || len(types.sources) != 0 {
			t.Errorf("%.80q left %d types", source, len(types.made))
		}
	}
}

// TestBackslashes: texts and characters are read as C# has them, which has other escapes than Go.
func TestBackslashes(t *testing.T) {
	r, err := (&Types{}).Define(`class C {
		const string A = "\x41B|\x9z|\0|\\x41|\'|\"|é\u00e9"; const int B = '\0'; const int D = '\x1F4'; const int E = '\''; const int F = '"';
	}`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []any{"\u041B|\tz|\x00|\\x41|'|\"|éé", int64(0), int64(0x1F4), int64('\''), int64('"')} {
		if got, err := r.Classes[0].Fields[i].Get(nil, nil); got != want || err != nil {
			t.Errorf("%s is %q, %v, want %q", r.Classes[0].Fields[i].Name, got, err, want)
		}
	}
	for _, wrong := range []string{`'ab'`, `'`, `'\'`, `''`, `'\x'`} {
		if _, err := (&Types{}).Define("class C { const int A = " + wrong + "; }"); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}

// TestMarshal: memory that a script allocates is its own until it frees it, and what is no memory is an exception.
func TestMarshal(t *testing.T) {
	s, _, _ := defined(t, source, nil)
	m := MarshalClass()
	at := calls(t, s, m, "AllocHGlobal", int64(16))
	calls(t, s, m, "WriteInt32", at, int64(8), int64(-2))
	calls(t, s, m, "WriteByte", at, int64(255))
	if got := calls(t, s, m, "ReadInt32", at, int64(8)); got != int64(-2) {
		t.Errorf("it reads %v", got)
	}
	if got := calls(t, s, m, "ReadInt16", at); got != int64(255) {
		t.Errorf("it reads %v", got)
	}

	calls(t, s, m, "Copy", []object.Value{int64(1), int64(2), int64(3)}, int64(1), at, int64(2))
	into := []object.Value{int64(0), int64(0), int64(0)}
	calls(t, s, m, "Copy", at, into, int64(1), int64(2))
	if into[1] != int64(2) || into[2] != int64(3) {
		t.Errorf("it copied %v", into)
	}
	calls(t, s, m, "FreeHGlobal", at)
	if len(Of(s).rooms) != 0 {
		t.Errorf("%d rooms are left", len(Of(s).rooms))
	}

	secret := &object.Instance{Of: &object.Class{Name: "System.Security.SecureString", Text: func(any) string { return "no" }}, V: "päss"}
	bstr := calls(t, s, m, "SecureStringToBSTR", secret)
	if got := calls(t, s, m, "PtrToStringAuto", bstr); got != "päss" {
		t.Errorf("the text is %v", got)
	}
	if got := calls(t, s, m, "ReadInt32", bstr, int64(-4)); got != int64(8) {
		t.Errorf("its length is %v bytes", got)
	}
	calls(t, s, m, "ZeroFreeBSTR", bstr)

	for name, args := range map[string][]object.Value{
		"ReadByte":       {int64(0)},
		"ReadInt64":      {int64(1)},
		"PtrToStringUni": {int64(16), int64(4)},
		"AllocHGlobal":   {int64(mostRooms + 1)},
		"Copy":           {into, int64(2), int64(0), int64(2)},
		"SizeOf":         {"nothing"},
		"PtrToStructure": {int64(0), "Win.Nothing"},
	} {
		if v, err := object.Find(m.Calls, name).Do(&object.Call{State: s, Args: args}); err == nil {
			t.Errorf("%s%v is %v", name, args, v)
		}
	}
}

// FuzzDefine: whatever a source is, it is read in time, or an error that says its line.
func FuzzDefine(f *testing.F) {
	f.Add(source)
	f.Add("class A { [DllImport(\"a\")] static extern int F(ref B b); } struct B { public A.C c; }")
	f.Fuzz(func(t *testing.T, source string) {
		types := &Types{}
		result, err := types.Define(source)
		var line *Error
		if err != nil && (!errors.As(err, &line) || line.Line < 1) {
			t.Errorf("%q: %v", source, err)
		}
		if err != nil && len(types.made) != 0 {
			t.Errorf("%q left %d types", source, len(types.made))
		}

		for _, c := range result.Classes {
			if c.Make == nil {
				continue
			}
			if _, err := c.Make.Do(&object.Call{}); err != nil {
				t.Errorf("%q: %s: %v", source, c.Name, err)
			}
		}
	})
}
