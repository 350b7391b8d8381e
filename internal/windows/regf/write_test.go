package regf

import (
	"fmt"
	"testing"
)

// TestEmpty: an empty hive is one, and changes nothing.
func TestEmpty(t *testing.T) {
	var seen []Key
	if err := Walk(Build(), func(k Key) error { seen = append(seen, k); return nil }); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(seen); got != "[{ 0 []}]" {
		t.Errorf("an empty hive has the keys %s", got)
	}
}

// TestManyKeys: a key may have more keys below it than one list holds.
func TestManyKeys(t *testing.T) {
	const count = 70_000
	var keys []Key
	for i := range count {
		keys = append(keys, Key{Path: fmt.Sprintf(`Many\%d`, i)})
	}

	seen := map[string]bool{}
	if err := Walk(Build(keys...), func(k Key) error { seen[k.Path] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if len(seen) != count+2 || !seen[`Many\69999`] {
		t.Errorf("%d keys are read, want %d", len(seen), count+2)
	}
}
