package remedy

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
)

func TestImageErrors(t *testing.T) {
	gone := fmt.Errorf("image %q: %w", "a:b", errdefs.ErrNotFound)
	node := fmt.Errorf("look for it: %w", &cluster.NotFoundError{Node: "x"})
	for err, code := range map[error]int{gone: exit.NotFound, node: exit.NotFound, io.ErrUnexpectedEOF: exit.Internal} {
		if got := NotFound(err); exit.Code(got) != code || got.Error() != err.Error() {
			t.Errorf("%v became %v with %d, want %d", err, got, exit.Code(got), code)
		}
	}
	if got := NotFound(nil); got != nil {
		t.Errorf("no error became %v", got)
	}
}

func TestNoCluster(t *testing.T) {
	err := NoCluster("/data", &os.PathError{
		Op:   "open",
		Path: "/data/cluster.json",
		Err:  os.ErrPermission,
	})
	if text := err.Error(); text != `read the cluster's state in "/data": open /data/cluster.json: permission denied` ||
		exit.Code(err) != exit.Requirement {
		t.Errorf("exit code %d: %s", exit.Code(err), text)
	}
}
