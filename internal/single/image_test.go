package single

import (
	"errors"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
)

// TestNotFoundSaysWhatToDo: whoever names an image that nobody has is told how one comes here.
func TestNotFoundSaysWhatToDo(t *testing.T) {
	k := &container{ask: Run{Image: "app:v1"}}
	for _, cause := range []error{errdefs.ErrNotFound, errors.New("dial tcp: no such host")} {
		refusal, ok := errors.AsType[*Refusal](k.notFound(cause))
		const does = "`mullion image build FOLDER -t app:v1 --run`"
		if !ok || refusal.Code != CodeFailed || !strings.Contains(refusal.Remedy, does) {
			t.Errorf("%v: %+v", cause, refusal)
		}
	}
	own := &Refusal{Message: "--pull never", Remedy: "load it"}
	if got := k.notFound(own); !errors.Is(got, own) {
		t.Errorf("what has a remedy became %v", got)
	}
}
