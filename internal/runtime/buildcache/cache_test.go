package buildcache_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/buildcache"
)

func open(t *testing.T, o buildcache.Options) *buildcache.Cache {
	t.Helper()
	c, err := buildcache.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func keyOf(words ...string) buildcache.Key {
	k := buildcache.NewKey("test")
	k.Add(words...)
	return k
}

func text(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// Where a word ends is part of a key, and so is what kind of thing it is for.
func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range []buildcache.Key{
		keyOf(), keyOf(""), keyOf("", ""), keyOf("ab"), keyOf("a", "b"), keyOf("b", "a"), keyOf("a\x00b"), keyOf("\xff"),
		keyOf("\xfe"), buildcache.NewKey("other"),
	} {
		if seen[k.String()] {
			t.Errorf("twice: %s", k)
		}
		seen[k.String()] = true
	}
	if first, again := keyOf("a", "b").String(), keyOf("a", "b").String(); first != again {
		t.Error("a key is not always the same")
	}
}

// What is made is found, by this cache and by one that is opened later, with the same bytes.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	c := open(t, buildcache.Options{Dir: dir})
	if _, ok := c.Find(keyOf("a")); ok {
		t.Error("found before it was made")
	}
	made, err := c.Make(t.Context(), keyOf("a"), text("layer"))
	if err != nil {
		t.Fatal(err)
	}

	found, ok := open(t, buildcache.Options{Dir: dir}).Find(keyOf("a"))
	if !ok {
		t.Fatal("not found")
	}
	plain, err := found.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()

	got, err := io.ReadAll(plain)
	a, errA := made.Digest()
	b, errB := found.Digest()
	if err != nil || errA != nil || errB != nil || string(got) != "layer" || a != b {
		t.Errorf("%q, %v, %v %v", got, err, a, b)
	}
}

// What cannot be made leaves nothing.
func TestMakeFails(t *testing.T) {
	dir := t.TempDir()
	c := open(t, buildcache.Options{Dir: dir})
	broken := errors.New("broken")
	over, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := c.Make(t.Context(), keyOf("a"), func(w io.Writer) error { return errors.Join(text("half")(w), broken) })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := c.Make(over, keyOf("a"), text("x")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	if _, ok := c.Find(keyOf("a")); ok {
		t.Error("found")
	}
	for _, name := range []string{"work", "blobs", "layers"} {
		if entries, err := os.ReadDir(filepath.Join(dir, name)); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

// A build that was killed leaves what the next one removes, but not while another one is at work.
func TestLeftovers(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	dir, memory := t.TempDir(), filepath.Join(t.TempDir(), "memory")
	o := buildcache.Options{Dir: dir, Memory: memory}
	first := open(t, o)
	work, _, err := first.WorkFolder()
	if err != nil {
		t.Fatal(err)
	}

	secret, _, err := first.SecretFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "blobs", strings.Repeat("0", 64)), []byte("of no record"), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "layers", strings.Repeat("1", 64)), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}

	second := open(t, o)
	for _, name := range []string{work, secret} {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("while its build is at work: %v", err)
		}
	}

	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}

	open(t, o)
	for _, pattern := range []string{"work/*", "blobs/*", "layers/*"} {
		if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}

	if _, err := os.Stat(secret); err == nil {
		t.Error("a secret is left")
	}
}

// What was not used for longest goes first, and no more of it than has to.
func TestMost(t *testing.T) {
	dir := t.TempDir()
	c := open(t, buildcache.Options{Dir: dir})
	size := int64(0)
	for i, name := range []string{"a", "b", "c"} {
		made, err := c.Make(t.Context(), keyOf(name), text(name+strings.Repeat("x", 1000)))
		if err != nil {
			t.Fatal(err)
		}
		if size, err = made.Size(); err != nil {
			t.Fatal(err)
		}

		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, "layers", keyOf(name).String()), at, at); err != nil {
			t.Fatal(err)
		}
	}

	if _, ok := c.Find(keyOf("a")); !ok { // it is used now
		t.Fatal("not found")
	}
	folder, err := c.Folder("cache")
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(folder, "f"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-100 * time.Hour)
	if err := errors.Join(os.Chtimes(folder, old, old), c.Close()); err != nil {
		t.Fatal(err)
	}

	c = open(t, buildcache.Options{Dir: dir, Most: 2*size + 1})
	var left []string
	for _, name := range []string{"a", "b", "c"} {
		if _, ok := c.Find(keyOf(name)); ok {
			left = append(left, name)
		}
	}

	_, err = os.Stat(folder)
	if fmt.Sprint(left) != "[a c]" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left %v, folder: %v", left, err)
	}
}

// Ids of cache mounts are names of folders that nobody chooses, and a folder that was filled to do harm goes.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	c := open(t, buildcache.Options{Dir: dir})
	for _, id := range []string{"", "a", "../../etc", "/etc", strings.Repeat("x", 10_000), "a\x00b", "."} {
		folder, err := c.Folder(id)
		if err != nil || filepath.Dir(folder) != filepath.Join(dir, "folders") {
			t.Errorf("%q: %s, %v", id, folder, err)
		}
		again, err := c.Folder(id)
		if err != nil || again != folder {
			t.Errorf("%q: %s, then %s, %v", id, folder, again, err)
		}
	}

	deep, err := c.Folder("deep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(deep, strings.Repeat("x/", 300)), 0o777); err != nil {
		t.Fatal(err)
	}

	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, buildcache.Options{Dir: dir})
	if _, err := os.Stat(deep); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A folder that one build holds, another waits for.
func TestHoldFolder(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, buildcache.Options{Dir: dir}), open(t, buildcache.Options{Dir: dir})
	release, err := a.HoldFolder(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()

	if _, err := b.HoldFolder(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("held twice: %v", err)
	}
	release()
	if release, err = b.HoldFolder(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	release()
}

// TestRootsCache: root takes nothing from a folder that another can change, or put another in the place of.
func TestRootsCache(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's caches are other than their owner's")
	}

	const nobody = 65534
	for name, tt := range map[string]struct {
		mode     os.FileMode
		owner    int
		linkedBy int // -1: no link leads to it
		refused  bool
	}{
		"own":              {0o755, 0, -1, false},
		"sticky":           {0o777 | os.ModeSticky, 0, -1, false},
		"own-link":         {0o755, 0, 0, false},
		"another's":        {0o755, nobody, -1, true},
		"another's-sticky": {0o777 | os.ModeSticky, nobody, -1, true},
		"group-writes":     {0o775, 0, -1, true},
		"all-write":        {0o777, 0, -1, true},
		"another's-link":   {0o755, 0, nobody, true},
	} {
		t.Run(name, func(t *testing.T) {
			top := filepath.Join(t.TempDir(), "top")
			err := errors.Join(os.Mkdir(top, 0o700), os.Chmod(top, tt.mode), os.Chown(top, tt.owner, tt.owner))
			if err == nil && tt.mode&os.ModeSticky != 0 {
				err = os.Chmod(top, tt.mode) // chown may have cleared it
			}

			given := top
			if tt.linkedBy >= 0 {
				given = filepath.Join(filepath.Dir(top), "link")
				err = errors.Join(err, os.Symlink("top", given), os.Lchown(given, tt.linkedBy, tt.linkedBy))
			}
			if err != nil {
				t.Fatal(err)
			}

			c, err := buildcache.Open(t.Context(), buildcache.Options{Dir: filepath.Join(given, "a", "build")})
			if !tt.refused {
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				if _, err := os.Stat(filepath.Join(top, "a", "build", "blobs")); err != nil {
					t.Error(err)
				}
				return
			}

			if !errors.Is(err, buildcache.ErrShared) {
				t.Errorf("the error is %v", err)
			}
			if made, err := os.ReadDir(top); err != nil || len(made) > 0 {
				t.Errorf("root has made %v there (%v)", made, err)
			}
		})
	}
}
