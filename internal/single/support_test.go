package single

import (
	"testing"

	"mullion.dev/mullion/internal/base/support"
)

func TestSupportRows(t *testing.T) {
	if err := support.Check(SupportRows()); err != nil {
		t.Error(err)
	}
}
