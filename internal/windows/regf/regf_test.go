package regf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/regf"
)

func read(t *testing.T, file []byte) []regf.Key {
	t.Helper()
	var keys []regf.Key
	if err := regf.Walk(file, func(k regf.Key) error {
		keys = append(keys, k)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestWalk(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789"), 5000) // in four segments
	want := []regf.Key{
		{},
		{Path: "Gone", Layer: regf.Tombstone},
		{Path: "New", Layer: regf.Replace, Values: []regf.Value{{Name: "", Type: 1, Data: regf.UTF16("default")}}},
		{Path: `New\Łódź`, Layer: regf.ReplaceTree},
		{Path: "Programs", Values: []regf.Value{
			{Name: "Path", Type: 2, Data: regf.UTF16(`%SystemRoot%;C:\a`)},
			{Name: "Small", Type: 4, Data: []byte{1, 2, 3, 4}},
			{Name: "Nothing", Type: 3, Data: []byte{}},
			{Name: "Large", Type: 3, Data: large},
			{Name: "größe", Type: 1, Data: regf.UTF16("x")},
			{Name: "漢字", Type: 7, Data: regf.UTF16("a\x00b\x00")},
			{Name: "Old", Tombstone: true},
		}},
		{Path: `Programs\Below`},
	}

	file := regf.Build(want[1:]...)
	if out := os.Getenv("REGF_OUT"); out != "" { // to look at it with other programs
		if err := os.WriteFile(out, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, read(t, file)); diff != "" {
		t.Error(diff)
	}
}

func TestWalkEnds(t *testing.T) {
	stop := errors.New("stop")
	seen := 0
	err := regf.Walk(regf.Build(regf.Key{Path: `a\b`}), func(regf.Key) error {
		if seen++; seen == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || seen != 2 {
		t.Errorf("%v after %d keys", err, seen)
	}
}

func none(regf.Key) error { return nil }

// TestDamaged cuts a hive at each length, and changes each byte of it: nothing worse than an error may come of it.
func TestDamaged(t *testing.T) {
	file := regf.Build(
		regf.Key{Path: `a\b`, Values: []regf.Value{{Name: "n", Type: 1, Data: regf.UTF16("a text")}}}, regf.Key{Path: "c"})
	used := len(bytes.TrimRight(file, "\x00"))
	for i := range file {
		if err := regf.Walk(file[:i], none); !errors.Is(err, regf.ErrFormat) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}

	for i := range used {
		for _, change := range []byte{0x00, 0x01, 0x7f, 0x80, 0xff} {
			damaged := bytes.Clone(file)
			damaged[i] ^= change
			err := regf.Walk(damaged, none)
			if err != nil && !errors.Is(err, regf.ErrFormat) && !errors.Is(err, regf.ErrTooLarge) {
				t.Errorf("byte %d ^ %#x: %v", i, change, err)
			}
		}
	}
}

func TestNoHive(t *testing.T) {
	for name, file := range map[string][]byte{
		"empty": nil, "text": []byte(strings.Repeat("WINE REGISTRY Version 2\n", 400)), "noise": bytes.Repeat([]byte{0xa5}, 9000),
		"head alone": regf.Build()[:4096],
	} {
		if err := regf.Walk(file, none); !errors.Is(err, regf.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := regf.Walk(make([]byte, regf.MaxSize+1), none); !errors.Is(err, regf.ErrTooLarge) {
		t.Error(err)
	}
}

// TestWithoutEnd makes hives that a reader without bounds would read for ever: a key that is its own child, and lists
// in which each key stands many times.
func TestWithoutEnd(t *testing.T) {
	file := regf.Build(regf.Key{Path: "a"})
	root := 4096 + int(binary.LittleEndian.Uint32(file[36:]))
	list := 4096 + int(binary.LittleEndian.Uint32(file[root+4+28:]))
	binary.LittleEndian.PutUint32(file[list+4+4:], uint32(root-4096))
	if err := regf.Walk(file, none); !errors.Is(err, regf.ErrTooLarge) {
		t.Errorf("a key in itself: %v", err)
	}

	var keys []regf.Key
	for i := range 16 {
		for j := range 40 {
			keys = append(keys, regf.Key{Path: strings.TrimPrefix(strings.Repeat(`\k`, i)+fmt.Sprintf(`\v%d`, j), `\`)})
		}
	}

	wide := regf.Build(keys...)

	// Every list of 41 keys gets 41 times its first key, which is "k" but for the last.
	at := 4096
	for {
		i := bytes.Index(wide[at:], []byte("lh\x29\x00"))
		if i < 0 {
			break
		}
		at += i + 4
		for j := range 41 {
			copy(wide[at+8*j:], wide[at:at+4])
		}
	}

	if err := regf.Walk(wide, none); !errors.Is(err, regf.ErrTooLarge) {
		t.Errorf("keys in many places: %v", err)
	}
}

func FuzzWalk(f *testing.F) {
	f.Add(regf.Build(regf.Key{Path: `a\b`, Values: []regf.Value{{Name: "n", Type: 1, Data: regf.UTF16("a text")}}}))
	f.Add(regf.Build(regf.Key{Path: "gone", Layer: regf.Tombstone}, regf.Key{Path: `x\y\z`, Layer: regf.ReplaceTree}))
	f.Fuzz(func(t *testing.T, file []byte) {
		var depth int
		err := regf.Walk(file, func(k regf.Key) error {
			depth = max(depth, strings.Count(k.Path, `\`))
			return nil
		})
		if (err != nil && !errors.Is(err, regf.ErrFormat) && !errors.Is(err, regf.ErrTooLarge)) || depth > 512 {
			t.Errorf("%v, %d keys deep", err, depth)
		}
	})
}

// TestLongNames: a value with a long name that a list has many times, and keys with one, take no memory without bound.
func TestLongNames(t *testing.T) {
	const times = 10_000
	values := []regf.Value{{Name: strings.Repeat("n", 60_000), Type: 4, Data: []byte{1}}}
	for i := range times {
		values = append(values, regf.Value{
			Name: fmt.Sprint(i),
			Type: 4,
			Data: []byte{1},
		})
	}

	file := regf.Build(regf.Key{Path: "a", Values: values})
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(file[at:])) }
	root := 4096 + u32(36) + 4
	key := 4096 + u32(4096+u32(root+28)+4+4) + 4 // the first of the root's list
	list := 4096 + u32(key+40) + 4
	for i := range times {
		copy(file[list+4*i:], file[list:list+4])
	}

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := regf.Walk(file, none)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, regf.ErrTooLarge) || took > 1<<30 {
		t.Errorf("%v, with %d MiB of a file of %d KiB", err, took>>20, len(file)>>10)
	}
}
