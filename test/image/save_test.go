//go:build kernel

package image

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	store "mullion.dev/mullion/internal/runtime/image"
)

// TestSaveAndTag: what is saved can be loaded again and is the same image, although Windows' own layer is in neither.
func TestSaveAndTag(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	base := makeLayer(t, entry{name: "Files/Windows/System32/ntdll.dll", body: strings.Repeat("w", 1<<16)})
	app := makeLayer(t, entry{name: "Files/"}, entry{name: "Hives/"}, entry{name: "Files/app.exe", body: "MZ"})
	img := makeImage(
		t, "windows", v2022,
		part{layer: base, history: "Apply image 10.0.20348.2700"},
		part{layer: app, history: "COPY app.exe"},
	)
	hub.lose(digestOf(t, base))
	ref := hub.push(t, "team/app:v1", img)

	s := open(t, c, v2022)
	info, err := s.Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Tag(t.Context(), ref, "mullion.local/own:v2"); err != nil {
		t.Fatal(err)
	}

	tagged, err := s.Get(t.Context(), "mullion.local/own:v2")
	if err != nil || tagged.ID != info.ID || !slices.Contains(tagged.RepoTags, "mullion.local/own:v2") ||
		!slices.Contains(tagged.RepoTags, ref) {
		t.Errorf("%+v, %v", tagged, err)
	}

	var archive bytes.Buffer
	if err := s.Save(t.Context(), "mullion.local/own:v2", &archive); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(archive.String(), strings.TrimPrefix(digestOf(t, base), "sha256:")+"\x00") {
		t.Error("the archive has Windows' own layer")
	}

	for _, name := range []string{ref, "mullion.local/own:v2"} {
		if err := s.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := s.Load(t.Context(), &archive, store.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	again, err := s.Get(t.Context(), "mullion.local/own:v2")
	if err != nil || again.ID != info.ID || again.Target.Digest != info.Target.Digest {
		t.Errorf("%+v, %v", again, err)
	}

	for _, err := range []error{
		s.Save(t.Context(), "mullion.local/absent:v1", io.Discard),
		s.Tag(t.Context(), "mullion.local/absent:v1", "mullion.local/own:v3"),
	} {
		if !errdefs.IsNotFound(err) {
			t.Error(err)
		}
	}

	if err := s.Tag(t.Context(), "mullion.local/own:v2", "NO"); !errdefs.IsInvalidArgument(err) {
		t.Error(err)
	}
}

// TestUntag: an image loses the one name, for all its builds, and the digests of its repository with that one's last
// tag; its last name, an ID and what is not there are left alone.
func TestUntag(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	app := makeLayer(t, entry{name: "Files/"}, entry{name: "Hives/"}, entry{name: "Files/app.exe", body: "MZ"})
	ref := hub.push(t, "team/app:v1", makeImage(t, "windows", v2022, part{layer: app, history: "COPY app.exe"}))
	s := open(t, c, v2022)
	info, err := s.Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	const own = "mullion.local/own:v2"
	if err := s.Tag(t.Context(), ref, own); err != nil {
		t.Fatal(err)
	}

	if kept, err := s.Untag(t.Context(), info.ID); kept != nil || err != nil {
		t.Errorf("by its ID: %q, %v", kept, err)
	}
	begun := strings.TrimPrefix(info.ID, "sha256:")[:12]
	if kept, err := s.Untag(t.Context(), begun); kept != nil || err != nil {
		t.Errorf("by the beginning of its ID: %q, %v", kept, err)
	}
	kept, err := s.Untag(t.Context(), ref)
	if err != nil || len(kept) != 2 || kept[0] != own || kept[1] != "mullion.local/own@"+info.Target.Digest.String() {
		t.Fatalf("%q, %v", kept, err)
	}
	left, err := s.Get(t.Context(), own)
	if err != nil || !slices.Equal(left.RepoTags, []string{own}) || left.ID != info.ID {
		t.Errorf("%q, %v", left.RepoTags, err)
	}
	if len(left.RepoDigests) != 1 || !strings.HasPrefix(left.RepoDigests[0], "mullion.local/own@") {
		t.Fatalf("its digests are %q", left.RepoDigests)
	}

	// A digest goes alone, and the last tag of a repository with its digests, though others have the image.
	ownDigest := left.RepoDigests[0]
	if kept, err := s.Untag(t.Context(), ownDigest); err != nil || !slices.Equal(kept, []string{own}) {
		t.Errorf("of a digest: %q, %v", kept, err)
	}
	if kept, err := s.Untag(t.Context(), own); kept != nil || err != nil {
		t.Errorf("of its last name: %q, %v", kept, err)
	}
	if _, err := s.Get(t.Context(), own); err != nil {
		t.Errorf("its last name is gone: %v", err)
	}
	if _, err := s.Untag(t.Context(), ref); !errdefs.IsNotFound(err) {
		t.Errorf("once more: %v", err)
	}
}
