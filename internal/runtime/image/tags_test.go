package image

import (
	"slices"
	"testing"
)

const digestOfTest = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// TestGoneWith: a digest goes alone, and a tag with the digests of its repository if that has no other one.
func TestGoneWith(t *testing.T) {
	const a, a2, b = "r.example:5000/a:v1", "r.example:5000/a:v2", "r.example:5000/b:v1"
	const digestA, digestB = "r.example:5000/a" + digestOfTest, "r.example:5000/b" + digestOfTest
	for _, tt := range []struct {
		ref  string
		tags []string
		want []string
	}{
		{a, []string{a, b}, []string{a, digestA}},
		{a, []string{a, a2}, []string{a}},
		{digestA, []string{a, b}, []string{digestA}},
		{digestA, nil, []string{digestA}},
	} {
		info := Info{RepoTags: tt.tags, RepoDigests: []string{digestA, digestB}}
		if got := goneWith(tt.ref, info); !slices.Equal(got, tt.want) {
			t.Errorf("%s of %q goes with %q, want %q", tt.ref, tt.tags, got, tt.want)
		}
	}
}

// TestSingle tells images whose ID means one name from those of which it means several.
func TestSingle(t *testing.T) {
	for _, tt := range []struct {
		tags, digests []string
		want          bool
	}{
		{nil, nil, true},
		{[]string{"r/a:v1"}, []string{"r/a" + digestOfTest}, true},
		{nil, []string{"r/a" + digestOfTest}, true},
		{[]string{"r/a:v1", "r/a:v2"}, nil, false},
		{[]string{"r/a:v1"}, []string{"r/b" + digestOfTest}, false},
		{nil, []string{"r/a" + digestOfTest, "r/b" + digestOfTest}, false},
	} {
		if got := (Info{RepoTags: tt.tags, RepoDigests: tt.digests}).Single(); got != tt.want {
			t.Errorf("%q, %q: %v", tt.tags, tt.digests, got)
		}
	}
}
