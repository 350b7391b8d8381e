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
