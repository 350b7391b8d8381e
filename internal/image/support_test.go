package image

import (
	"testing"

	"mullion.dev/mullion/internal/support"
)

func TestSupportRows(t *testing.T) {
	if err := support.Check(SupportRows()); err != nil {
		t.Error(err)
	}
}
