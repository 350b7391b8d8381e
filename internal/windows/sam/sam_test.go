package sam_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/windows/regf"
	"mullion.dev/mullion/internal/windows/sam"
	"mullion.dev/mullion/internal/windows/sam/samtest"
)

func TestAccounts(t *testing.T) {
	var a sam.Accounts
	for _, hive := range [][]byte{
		regf.Build(samtest.User("app", 1000), samtest.User("Boss", 1001), samtest.User("gone", 1002),
			samtest.User("Administrator", 500), samtest.Administrators(500, 1001)),
		regf.Build(regf.Key{Path: samtest.Names + `\GONE`, Layer: regf.Tombstone}, samtest.User("later", 1003),
			samtest.Administrators(500, 1001, 1003)),
	} {
		if err := a.Apply(hive); err != nil {
			t.Fatal(err)
		}
	}

	for name, want := range map[string]sam.Account{
		"APP": {Name: "app"}, "boss": {Name: "Boss", Administrator: true}, "later": {Name: "later", Administrator: true},
	} {
		if got, ok := a.Find(name); got != want || !ok {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}

	for _, name := range []string{"gone", "Administrator", "", "Names"} {
		if got, ok := a.Find(name); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestDamaged reads hives that no Windows writes.
func TestDamaged(t *testing.T) {
	short, far := samtest.Administrators(1000), samtest.Administrators(1000)
	short.Values[0].Data = short.Values[0].Data[:20]

	binary.LittleEndian.PutUint32(far.Values[0].Data[0x28:], 0xffffffff)
	cut := samtest.Administrators(1000)
	cut.Values[0].Data[0x34+28+1] = 200 // a SID of more parts than there are
	for name, tt := range map[string]struct {
		hive []byte
		err  error
	}{
		"no hive":         {[]byte("regf, but no more"), regf.ErrFormat},
		"a short group":   {regf.Build(short), regf.ErrFormat},
		"members outside": {regf.Build(far), regf.ErrFormat},
		"a broken SID":    {regf.Build(cut, samtest.User("app", 1000)), nil},
	} {
		var a sam.Accounts
		if err := a.Apply(tt.hive); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", name, err, tt.err)
		}
		if got, _ := a.Find("app"); got.Administrator {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestNames: what no account of Windows is called is none.
func TestNames(t *testing.T) {
	var a sam.Accounts
	names := []string{"..", ".hidden", "a:b", "a/b", "a\nroot", "a*", " a", "a."}
	for _, name := range names {
		if err := a.Apply(regf.Build(samtest.User(name, 1000))); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range names {
		if got, ok := a.Find(name); ok {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestMost(t *testing.T) {
	var keys []regf.Key
	for i := range 1001 {
		keys = append(keys, samtest.User(string(rune(0x4e00+i)), uint32(1000+i)))
	}
	var a sam.Accounts
	if err := a.Apply(regf.Build(keys...)); !errors.Is(err, regf.ErrTooLarge) {
		t.Errorf("1001 accounts: %v", err)
	}
}

// TestBounded: the hives of all layers of an image cost no more than those of one may, however small their files are.
func TestBounded(t *testing.T) {
	deep := regf.Build(regf.Key{Path: samtest.Names + `\` + strings.Repeat("x", 200)})
	// A key that is its own child is read as many times as a hive may have keys.
	root := 4096 + int(binary.LittleEndian.Uint32(deep[36:]))
	list := 4096 + int(binary.LittleEndian.Uint32(deep[root+4+28:]))
	binary.LittleEndian.PutUint32(deep[list+4+4:], uint32(root-4096))
	var ids []uint32
	for id := range uint32(2000) {
		ids = append(ids, 1000+id)
	}

	for name, hive := range map[string][]byte{
		"a large hive": regf.Build(regf.Key{
			Path: "a", Values: []regf.Value{{Name: "v", Type: 3, Data: make([]byte, 30<<20)}},
		}),
		"a key in itself": deep,
		"a large group":   regf.Build(samtest.Administrators(ids...)),
	} {
		var a sam.Accounts
		var err error
		for range 256 {
			if err = a.Apply(hive); err != nil {
				break
			}
		}
		if !errors.Is(err, regf.ErrTooLarge) {
			t.Errorf("%s, 256 times: %v", name, err)
		}
	}
}
