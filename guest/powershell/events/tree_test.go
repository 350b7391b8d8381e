package events

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stagedWatches are watches whose changes the test makes up.
type stagedWatches struct {
	mu    sync.Mutex
	tells map[string]func([]change)
	fails map[string]func(error, bool)
}

func (s *stagedWatches) watch(
	folder string, _ bool, tell func([]change), fails func(error, bool),
) (stop func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tells[folder], s.fails[folder] = tell, fails
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tells, folder)
	}, nil
}

func (s *stagedWatches) watched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.tells))
}

// TestTree checks that each change is told once, with its path from the first folder, by folders that are there already
// and those that are made later.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	if err := os.MkdirAll(in("a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}

	s := &stagedWatches{tells: map[string]func([]change){}, fails: map[string]func(error, bool){}}
	var told []string
	var failed []error
	stop, err := watchTree(s.watch, dir, true, func(all []change) {
		for _, one := range all {
			told = append(told, one.name)
		}
	}, func(err error, _ bool) { failed = append(failed, err) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{dir, in("a"), in("a", "b")}, s.watched()); diff != "" {
		t.Fatal(diff)
	}

	s.tells[in("a", "b")]([]change{{kind: created, name: "x"}})
	s.tells[in("a")]([]change{{kind: created, name: filepath.Join("b", "x")}, {kind: created, name: "y"}})
	s.tells[dir]([]change{
		{kind: created, name: filepath.Join("a", "y")},
		{kind: created, name: "new"},
		{kind: created, name: filepath.Join("new", "z")},
	})
	s.tells[dir]([]change{{kind: deleted, name: "a"}}) // and with it its watch: another one of its name is told by the first
	s.tells[dir]([]change{{kind: created, name: filepath.Join("a", "again")}})
	want := []string{
		filepath.Join("a", "b", "x"), filepath.Join("a", "y"), "new", filepath.Join("new", "z"), "a", filepath.Join("a", "again"),
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{dir}, s.watched()); diff != "" {
		t.Error(diff)
	}

	s.fails[in("a")](errors.New("it has gone"), true)
	if len(failed) > 0 {
		t.Errorf("the end of a folder below is an error: %v", failed)
	}
	stop()
	if left := s.watched(); len(left) > 0 {
		t.Errorf("still watched: %q", left)
	}
}

// TestTreeThatIsOver: with the watch of the first folder those below it end, whatever has ended it.
func TestTreeThatIsOver(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := &stagedWatches{tells: map[string]func([]change){}, fails: map[string]func(error, bool){}}
	ended := false
	_, err := watchTree(s.watch, dir, true, func([]change) {}, func(_ error, over bool) { ended = over })
	if err != nil {
		t.Fatal(err)
	}

	s.fails[dir](errors.New("it has gone"), true)
	if diff := cmp.Diff([]string{dir}, s.watched()); diff != "" || !ended {
		t.Errorf("it is over: %v; %s", ended, diff)
	}
}

func TestTreeOfManyFolders(t *testing.T) {
	dir := t.TempDir()
	for i := range mostBelow + 3 {
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &stagedWatches{tells: map[string]func([]change){}, fails: map[string]func(error, bool){}}
	var failed []error
	fails := func(err error, _ bool) { failed = append(failed, err) }
	stop, err := watchTree(s.watch, dir, true, func([]change) {}, fails)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if n := len(s.watched()); n != mostBelow+1 || len(failed) != 1 {
		t.Errorf("%d folders are watched, and it says %v", n, failed)
	}
}
