package events

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// record returns a FILE_NOTIFY_INFORMATION; next says that another one follows.
func record(action uint32, name string, next bool) []byte {
	units := utf16.Encode([]rune(name))
	data := binary.LittleEndian.AppendUint32(nil, 0)
	data = binary.LittleEndian.AppendUint32(data, action)
	data = binary.LittleEndian.AppendUint32(data, uint32(2*len(units)))
	for _, u := range units {
		data = binary.LittleEndian.AppendUint16(data, u)
	}
	for len(data)%4 != 0 {
		data = append(data, 0)
	}
	if next {
		binary.LittleEndian.PutUint32(data, uint32(len(data)))
	}
	return data
}

func TestRecords(t *testing.T) {
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	for name, tt := range map[string]struct {
		data []byte
		want []change
	}{
		"nothing": {nil, nil},
		"one":     {record(1, `sub\a.txt`, false), []change{{kind: created, name: `sub\a.txt`}}},
		"several": {
			join(record(2, "ä", true), record(3, "b", true), record(1, "c", false)),
			[]change{{kind: deleted, name: "ä"}, {kind: changed, name: "b"}, {kind: created, name: "c"}},
		},
		"a rename, as of ..data of a ConfigMap": {
			join(record(4, "..data_tmp", true), record(5, "..data", false)),
			[]change{{kind: renamed, name: "..data", old: "..data_tmp"}},
		},
		"a rename to elsewhere":   {record(4, "old", false), []change{{kind: deleted, name: "old"}}},
		"a rename from elsewhere": {record(5, "new", false), []change{{kind: created, name: "new"}}},
		"a name too long":         {record(1, "name", false)[:14], nil},
		"an unknown action":       {join(record(9, "x", true), record(1, "y", false)), []change{{kind: created, name: "y"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := records(tt.data)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(change{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzRecords reads any bytes: no more records come of them than have room in them.
func FuzzRecords(f *testing.F) {
	f.Add(record(1, "name", true))
	f.Add([]byte{12, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF})
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(records(data)); n > len(data)/12+1 {
			t.Errorf("%d records of %d bytes", n, len(data))
		}
	})
}
