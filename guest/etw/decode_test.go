package etw

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded returns an event with every type of field that go-winio's package etw has, as a session delivered it.
func recorded(tb testing.TB) *Record {
	tb.Helper()
	text, err := os.ReadFile("testdata/go-winio.json")
	if err != nil {
		tb.Fatal(err)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		tb.Fatal(err)
	}
	return &r
}

func lines(d Description) string {
	text := d.Provider + " " + d.Name + "\n"
	for _, f := range d.Fields {
		text += fmt.Sprintf("%s=%s\n", f.Name, f.Value)
	}
	return text
}

func TestDescribeRecorded(t *testing.T) {
	d, err := recorded(t).Describe()
	if err != nil {
		t.Error(err)
	}

	const want = `Mullion.Recorded AllTypes
bool=true
bools=false
bools=true
string=grüße, "you" & <me>
next
strings=a
strings=
strings=c
int=-7
int8=-8
int16s=1
int16s=-1
int64=-9223372036854775808
uint=7
uint8=255
uint16=65535
uint32=4294967295
uint64=18446744073709551615
uintptr=0xBEEF
float32=1.5
float64=-0.1
struct=
inner=x
deeper=
deepest=3
time=2026-01-02T03:04:05.0000006Z
go=
go=q
go=4
last=end
`

	if diff := cmp.Diff(want, lines(d)); diff != "" {
		t.Error(diff)
	}
}

// TestDescribeCut cuts the data of an event short: the fields before are there, and the error says that some are not.
func TestDescribeCut(t *testing.T) {
	whole, err := recorded(t).Describe()
	if err != nil {
		t.Fatal(err)
	}

	for _, part := range []string{"data", "schema"} {
		for n := range recorded(t).Schema {
			r := recorded(t)
			if part == "data" {
				r.Data = r.Data[:min(n, len(r.Data)-1)]
			} else {
				r.Schema = r.Schema[:n]
			}

			d, err := r.Describe()
			if part == "data" && !errors.Is(err, ErrTruncated) {
				t.Errorf("%s of %d bytes: %v", part, n, err)
			}
			if len(d.Fields) > len(whole.Fields) {
				t.Errorf("%s of %d bytes: %s", part, n, lines(d))
			}
		}
	}
}

// described returns an event with fields, each described by bytes behind its name, a.
func described(data string, fields ...string) *Record {
	schema := "\x00\x00\x00e\x00"
	for _, f := range fields {
		schema += "a\x00" + f
	}
	r := &Record{Schema: []byte(schema), Data: []byte(data)}
	binary.LittleEndian.PutUint16(r.Schema, uint16(len(schema)))
	return r
}

func TestDescribeTypes(t *testing.T) {
	for _, tt := range []struct{ name, field, data, want string }{
		{"unicode", "\x01", "h\x00\xe9\x00\x00\x00", "hé"},
		{"counted", "\x16", "\x04\x00h\x00i\x00", "hi"},
		{"counted_ansi", "\x17", "\x02\x00hi", "hi"},
		{"ansi_not_utf8", "\x02", "\xff\x00", "\ufffd"},
		{"uint16", "\x06", "\x01\x02", "513"},
		{"port", "\x86\x07", "\x1f\x90", "8080"},
		{"char", "\x84\x02", "A", "A"},
		{"ipv4", "\x88\x08", "\x7f\x00\x00\x01", "127.0.0.1"},
		{"ipv6", "\x8e\x09", "\x10\x00" + strings.Repeat("\x00", 15) + "\x01", "::1"},
		{"hresult", "\x87\x0f", "\x05\x00\x07\x80", "0x80070005"},
		{"hex64", "\x15", "\xff\x00\x00\x00\x00\x00\x00\x00", "0xFF"},
		{"bool32", "\x0d", "\x01\x00\x00\x00", "true"},
		{"binary", "\x0e", "\x02\x00\x0a\xff", "0x0AFF"},
		{"guid", "\x0f", "\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff", "{00112233-4455-6677-8899-AABBCCDDEEFF}"},
		{"filetime", "\x11", "\x00\x80\x3e\xd5\xde\xb1\x9d\x01", "1970-01-01T00:00:00.0000000Z"},
		{"systemtime", "\x12", "\xea\x07\x01\x00\x05\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00", "2026-01-02T03:04:05.006Z"},
		{"sid", "\x13", "\x01\x02\x00\x00\x00\x00\x00\x05\x20\x00\x00\x00\x20\x02\x00\x00", "S-1-5-32-544"},
		{"tagged", "\x83\x80\x81\x01", "\xff", "-1"},
		{"fixed_array", "\x24\x02\x00", "\x01\x02", "1 2"},
		{"array", "\x44", "\x02\x00\x03\x04", "3 4"},
		{"empty_array", "\x44", "\x00\x00", ""},
		{"custom", "\x60\x03\x00xyz", "\x02\x00\x01\x02", "0x0102"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := described(tt.data, tt.field).Describe()
			var got []string
			for _, f := range d.Fields {
				got = append(got, f.Value)
			}
			if strings.Join(got, " ") != tt.want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestDescribeStructures has arrays of structures, whose fields are described once.
func TestDescribeStructures(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"none", "\x00\x00\x09", " e\na=9\n"},
		{"two", "\x02\x00\x01\x02\x03\x04\x09", " e\na=\na=1\na=\na=2\na=\na=3\na=\na=4\na=9\n"},
	} {
		// a: array of structures of two fields, a number and a structure of one number; behind it a number
		d, err := described(tt.data, "\xd8\x02", "\x04", "\x98\x01", "\x04", "\x04").Describe()
		if lines(d) != tt.want || err != nil {
			t.Errorf("%s: %q, %v", tt.name, lines(d), err)
		}
	}
}

func TestDescribeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		r          *Record
	}{
		{"not_described", "does not describe itself", &Record{Data: []byte{1}}},
		{"unknown_type", "type 31 is not known", described("abc", "\x1f")},
		{"many", "more than 4096 fields", described("\xff\xff", "\xd8\x00")},
		{"deep", "more than 8 structures", described("", strings.Split(strings.TrimSpace(strings.Repeat("\x98\x01 ", 12)), " ")...)},
	} {
		if _, err := tt.r.Describe(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	r := recorded(f)
	f.Add(r.Schema, r.Traits, r.Data)
	s := described("\x02\x00\x01\x02\x03\x04\x09", "\xd8\x02", "\x04", "\x98\x01", "\x04", "\x04")
	f.Add(s.Schema, []byte(nil), s.Data)

	f.Fuzz(func(t *testing.T, schema, traits, data []byte) {
		r := &Record{
			Schema: schema,
			Traits: traits,
			Data:   data,
		}
		d, err := r.Describe()
		if len(d.Fields) > mostFields {
			t.Errorf("%d fields, %v", len(d.Fields), err)
		}

		_, _ = r.Text(), r.Hex()
	})
}
