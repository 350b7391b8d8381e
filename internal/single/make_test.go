package single

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSameSources: a container that begins anew is not shown what has taken the place of a folder that it was shown.
func TestSameSources(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}

	shown := func(k *container) error {
		t.Helper()
		k.ask.Mounts = []Mount{{Source: dir, Target: `C:\out`}, {Source: in, Target: `C:\in`}}
		mounts, err := openMounts(k.ask.Mounts)
		if err != nil {
			t.Fatal(err)
		}

		defer func() {
			for _, m := range mounts {
				_ = m.Source.Close()
			}
		}()

		return k.sameSources(mounts)
	}

	first := &container{}
	if err := shown(first); err != nil || len(first.sources) != 2 {
		t.Fatalf("%v, %v", first.sources, err)
	}
	if err := shown(&container{anew: true, sources: first.sources}); err != nil {
		t.Errorf("the same: %v", err)
	}

	if err := errors.Join(os.Rename(in, in+"-old"), os.Symlink("/etc", in)); err != nil {
		t.Fatal(err)
	}
	for name, sources := range map[string][]Source{"a link": first.sources, "of nothing known": nil} {
		err := shown(&container{anew: true, sources: sources})
		if r, ok := errors.AsType[*Refusal](err); !ok || !strings.Contains(r.Message, "it is another one than when") {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := shown(&container{}); err != nil {
		t.Errorf("a person may name a link: %v", err)
	}
}
