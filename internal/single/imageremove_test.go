package single

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/image"
)

// storeOfImages is a store in memory, in which what is read may be old by the time that it is used.
type storeOfImages struct {
	mu     sync.Mutex
	images map[string]image.Info // by IDs
}

func (s *storeOfImages) Get(_ context.Context, ref string) (image.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, _ := image.Normalize(ref) // of an ID there is none
	for id, i := range s.images {
		if id == ref || slices.Contains(i.RepoTags, name) || slices.Contains(i.RepoDigests, name) {
			return i, nil
		}
	}
	return image.Info{}, errdefs.ErrNotFound
}

func (s *storeOfImages) Untag(ctx context.Context, ref string) (others []string, err error) {
	i, err := s.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Millisecond)
	name, _ := image.Normalize(ref)
	other := func(all []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return one == name })
	}
	if others = append(other(i.RepoTags), other(i.RepoDigests)...); len(others) == 0 {
		return nil, nil
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	i = s.images[i.ID]
	i.RepoTags, i.RepoDigests = other(i.RepoTags), other(i.RepoDigests)
	s.images[i.ID] = i
	return others, nil
}

func (s *storeOfImages) Remove(ctx context.Context, ref string) error {
	i, err := s.Get(ctx, ref)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.images, i.ID)
	return nil
}

// oneImage is a store with an image of several references.
func oneImage(refs ...string) *storeOfImages {
	i := image.Info{ID: "sha256:" + strings.Repeat("a", 64)}
	for _, ref := range refs {
		if strings.Contains(ref, "@") {
			i.RepoDigests = append(i.RepoDigests, ref)
		} else {
			i.RepoTags = append(i.RepoTags, ref)
		}
	}
	return &storeOfImages{images: map[string]image.Info{i.ID: i}}
}

// TestRemoveNames: of an image with several names a tag or a digest goes alone, and by its ID it goes with force alone.
func TestRemoveNames(t *testing.T) {
	const v1, v2 = "r.example/app:v1", "r.example/app:v2"
	digestOf := "r.example/app@sha256:" + strings.Repeat("0", 64)
	id := "sha256:" + strings.Repeat("a", 64)
	for _, tt := range []struct {
		name  string
		refs  []string
		ref   string
		force bool
		kept  []string
		wrong string
	}{
		{name: "a tag", refs: []string{v1, v2}, ref: v1, kept: []string{v2}},
		{name: "a digest", refs: []string{v1, digestOf}, ref: digestOf, kept: []string{v1}},
		{name: "the last digest", refs: []string{digestOf}, ref: digestOf},
		{name: "an ID", refs: []string{v1, digestOf}, ref: id},
		{name: "an ID of two", refs: []string{v1, v2}, ref: id, kept: []string{v1, v2}, wrong: "must be forced"},
		{name: "with force", refs: []string{v1, v2}, ref: id, force: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, all := opened(t, At(t.TempDir(), "")), oneImage(tt.refs...)
			_, err := r.removeImage(t.Context(), all, tt.ref, tt.force)
			if (err == nil) != (tt.wrong == "") || (err != nil && !strings.Contains(err.Error(), tt.wrong)) {
				t.Errorf("%v", err)
			}
			left := append(slices.Clone(all.images[id].RepoTags), all.images[id].RepoDigests...)
			if _, there := all.images[id]; there != (tt.kept != nil) || !slices.Equal(left, tt.kept) {
				t.Errorf("left are %q, want %q", left, tt.kept)
			}
		})
	}
}

// TestRemoveNamesAtOnce: who takes the last of two names takes the image, though both are taken at the same time.
func TestRemoveNamesAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	for range 20 {
		r, all := opened(t, At(t.TempDir(), "")), oneImage("r.example/app:v1", "r.example/app:v2")
		var wg sync.WaitGroup
		for ref := range strings.FieldsSeq("r.example/app:v1 r.example/app:v2") {
			wg.Go(func() {
				if _, err := r.removeImage(t.Context(), all, ref, false); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(all.images) > 0 {
			t.Fatalf("left is %+v", all.images)
		}
	}
}

// TestImageOfABeginning: from when its image is found until its end a container keeps it, though its program does not
// run yet; what has gone since it was found is not there.
func TestImageOfABeginning(t *testing.T) {
	testrun.Once(t, testrun.Race)
	r, all := opened(t, At(t.TempDir(), "")), oneImage("r.example/app:v1")
	get := func(ctx context.Context, id, _ string) (image.Info, error) { return all.Get(ctx, id) }
	img, err := all.Get(t.Context(), "r.example/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	k := &container{id: "aa11", ask: Run{Image: "r.example/app:v1"}}
	if err := errors.Join(r.add(k), r.usesImage(t.Context(), k, img, get)); err != nil {
		t.Fatal(err)
	}

	for _, ref := range []string{img.ID, "r.example/app:v1"} {
		_, err := r.removeImage(t.Context(), all, ref, true)
		if refusal, refused := errors.AsType[*Refusal](err); !refused || !refusal.Conflict {
			t.Errorf("%s of a container that is about to run: %v", ref, err)
		}
	}
	if list := r.list(); len(list) != 1 || !list[0].MadeOf(img) {
		t.Errorf("who prunes sees %+v", list)
	}

	if err := r.over(k, End{}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.removeImage(t.Context(), all, img.ID, false); err != nil {
		t.Errorf("after its end: %v", err)
	}
	late := &container{id: "bb22", ask: k.ask}
	if err := errors.Join(r.add(late), r.usesImage(t.Context(), late, img, get)); err == nil {
		t.Error("a container is made of an image that is gone")
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
		&earlier: true, &now: false, new(info("sha256:a2", "sha256:a0")): true, new(info("sha256:cc", "")): false,
	} {
		if user, got := userOf(r.imageUsers(), *of, get); got != used || (got && user.ID != "aa11") {
			t.Errorf("image %s is used: %v, by %q", of.ID, got, user.ID)
		}
	}

	unnoted := r.imageUsers()
	if user, runs := runsAs(unnoted, "app"); runs {
		t.Errorf("%s, which begins anew by an ID, keeps a name", user.ID)
	}
	unnoted[0].ImageID, unnoted[0].ImageTarget = "", ""
	for name, runs := range map[string]bool{"app": true, "docker.io/library/app:latest": true, "app:v2": false, "Not A Name": false} {
		if _, got := runsAs(unnoted, name); got != runs {
			t.Errorf("a container runs as %s: %v", name, got)
		}
	}
	for of, used := range map[*image.Info]bool{&earlier: false, &now: true} {
		if _, got := userOf(unnoted, *of, get); got != used {
			t.Errorf("image %s is used by name: %v", of.ID, got)
		}
	}

	if err := r.over(k, End{}, ""); err != nil {
		t.Fatal(err)
	}
	if users := r.imageUsers(); len(users) > 0 {
		t.Errorf("%s, which has ended, keeps an image from being removed", users[0].ID)
	}
	if left := opened(t, p).list(); len(left) != 1 || left[0].ImageID != earlier.ID {
		t.Errorf("on disk is %+v", left)
	}

	// It begins anew with that image, and one that begins for the first time with what the name stands for.
	byID := func(_ context.Context, id, _ string) (image.Info, error) { return info(id, ""), nil }
	again := &container{id: "aa11", ask: k.ask}
	if err := r.again(again); err != nil {
		t.Fatal(err)
	}
	if img, err := again.imageAnew(t.Context(), byID); err != nil || img.ID != earlier.ID {
		t.Errorf("it begins anew with the image %q, %v", img.ID, err)
	}
	for _, other := range []*container{{imageID: earlier.ID}, {anew: true}} {
		if img, err := other.imageAnew(t.Context(), byID); !errdefs.IsNotFound(err) {
			t.Errorf("%+v has the image %q, %v", other, img.ID, err)
		}
	}
}
