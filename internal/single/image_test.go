package single

import (
	"errors"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"

	"mullion.dev/mullion/internal/runtime/image"
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

// TestImageOfARunningContainer: a container's image is its own by the ID that it began with, whatever has the name by
// now, and so are the other builds of its index, which are removed with it. Where no ID is noted, the name tells.
func TestImageOfARunningContainer(t *testing.T) {
	info := func(id, target string) (i image.Info) {
		i.ID, i.Target.Digest = id, digest.Digest(target)
		return i
	}
	earlier, now := info("sha256:aa", "sha256:a0"), info("sha256:bb", "sha256:b0")
	get := func(name string) (image.Info, error) {
		if name == "app" {
			return now, nil
		}
		return image.Info{}, errdefs.ErrNotFound
	}

	p := At(t.TempDir(), "")
	r := opened(t, p)
	k := begun(t, r, "aa11", Run{Image: "app", Keep: true})
	k.imageID, k.imageTarget = earlier.ID, earlier.Target.Digest.String()
	if err := r.begun(k); err != nil {
		t.Fatal(err)
	}
	for of, used := range map[*image.Info]bool{
		&earlier: true, &now: false, ptr(info("sha256:a2", "sha256:a0")): true, ptr(info("sha256:cc", "")): false,
	} {
		if user, got := userOf(r.list(), *of, get); got != used || (got && user.ID != "aa11") {
			t.Errorf("image %s is used: %v, by %q", of.ID, got, user.ID)
		}
	}

	for name, runs := range map[string]bool{"app": true, "docker.io/library/app:latest": true, "app:v2": false, "Not A Name": false} {
		if _, got := runsAs(r.list(), name); got != runs {
			t.Errorf("a container runs as %s: %v", name, got)
		}
	}

	unnoted := r.list()
	unnoted[0].ImageID, unnoted[0].ImageTarget = "", ""
	for of, used := range map[*image.Info]bool{&earlier: false, &now: true} {
		if _, got := userOf(unnoted, *of, get); got != used {
			t.Errorf("image %s is used by name: %v", of.ID, got)
		}
	}

	if err := r.over(k, End{}, ""); err != nil {
		t.Fatal(err)
	}
	if user, used := userOf(r.list(), earlier, get); used {
		t.Errorf("%s, which has ended, keeps an image from being removed", user.ID)
	}
	if user, runs := runsAs(r.list(), "app"); runs {
		t.Errorf("%s, which has ended, keeps a name", user.ID)
	}
	if left := opened(t, p).list(); len(left) != 1 || left[0].ImageID != earlier.ID {
		t.Errorf("on disk is %+v", left)
	}
}

func ptr(i image.Info) *image.Info { return &i }
