package system

import (
	"strings"
	"testing"
)

func TestHNSAnswer(t *testing.T) {
	if got, err := hnsAnswer(0, "{}"); got != "{}" || err != nil {
		t.Errorf("an answer: %q, %v", got, err)
	}
	if got, err := hnsAnswer(-2143617023, "{}"); got != "" || err == nil ||
		!strings.Contains(err.Error(), "0x803b0001") {
		t.Errorf("an error: %q, %v", got, err)
	}
}
