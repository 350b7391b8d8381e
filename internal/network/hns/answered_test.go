package hns

import (
	"fmt"
	"strings"
	"testing"
)

// TestLongAnswersGo: however long answers are, what is kept of them has an end, and the latest are kept.
func TestLongAnswersGo(t *testing.T) {
	var a remembered
	const each = mostText / 4
	for i := range 10 {
		a.keep(Answered{Name: fmt.Sprint(i), Text: strings.Repeat("x", each)})
	}
	a.keep(Answered{Name: "short"})

	kept := 0
	for _, one := range a.all() {
		kept += len(one.Text)
	}
	if kept != mostText || a.bytes != kept {
		t.Errorf("%d bytes are kept, and %d are counted; want %d", kept, a.bytes, mostText)
	}
	for name, want := range map[string]bool{"0": false, "5": false, "6": true, "9": true, "short": true} {
		if _, known := a.find(name); known != want {
			t.Errorf("%s is known: %t", name, known)
		}
	}

	a.keep(Answered{Name: "too long", Text: strings.Repeat("x", mostText+1)})
	if len(a.all()) != 0 || a.bytes != 0 {
		t.Errorf("of one that is too long %d bytes stay", a.bytes)
	}
}
