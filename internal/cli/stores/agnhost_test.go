package stores

import (
	"errors"
	"testing"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster/agnhost"
)

// TestTestPodsImageIsNotBuilt maps what the images say to what a person is told.
func TestTestPodsImageIsNotBuilt(t *testing.T) {
	cause := errors.New("stat bin/linux/agnhost: no such file or directory")
	err := notBuilt(errors.Join(&agnhost.NotBuiltError{Err: cause}))
	var own *exit.Error
	if !errors.As(err, &own) || own.Code != exit.NotFound || own.Remedy != "`make agnhost` builds agnhost" ||
		err.Error() != "build the test pods' image: "+cause.Error() {
		t.Errorf("%#v", err)
	}

	if got := notBuilt(cause); !errors.Is(got, cause) || exit.Code(got) != exit.Internal {
		t.Errorf("another error became %#v", got)
	}
	if err := notBuilt(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
