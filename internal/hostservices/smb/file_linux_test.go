package smb

import "testing"

// A file that the kernel was never told of, and one of two that were removed, are forgotten without a server.
func TestRelease(t *testing.T) {
	s := &share{}
	made := &file{share: s}
	s.files.set(made, place{at: "made"})
	first, second := &file{share: s}, &file{share: s}
	for _, f := range []*file{first, second} {
		s.files.set(f, place{at: "removed", doomed: true})
	}

	for _, f := range []*file{made, first} {
		if errno := f.Release(t.Context()); errno != 0 {
			t.Errorf("%v: %v", f, errno)
		}
	}

	if len(s.files.all) != 1 || !s.files.doomed("Removed") {
		t.Errorf("open files: %v", s.files.all)
	}
	if at, last := s.files.last(second); at != "removed" || !last {
		t.Errorf("the last one is at %q, %v", at, last)
	}
}
