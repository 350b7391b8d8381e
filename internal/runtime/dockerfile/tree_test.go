package dockerfile

import (
	"archive/tar"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// Links that lead to themselves end the build with an error, wherever a name leads through them.
func TestLinksWithoutEnd(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	for _, to := range []string{"a/b", "a", "/a/b", "../a/./b", strings.Repeat("a/", 2000)} {
		s := &stage{linux: true, tree: newTree(true, nil)}
		link := &tar.Header{Typeflag: tar.TypeSymlink, Linkname: to}
		if err := s.entry("a", link, packed{}); err != nil {
			t.Fatal(err)
		}

		_, globErr := s.tree.glob("a/*")
		_, listErr := s.tree.glob("a/x")
		_, _, err := s.tree.list(t.Context(), "a/x")
		_, folderErr := s.tree.isFolder("a")
		for what, err := range map[string]error{
			"a file below it": s.entry("a/x", &tar.Header{Typeflag: tar.TypeReg}, packed{}),
			"a pattern":       globErr,
			"a name":          listErr,
			"a list":          err,
			"a folder":        folderErr,
			"a copy":          s.tree.change().add(imagebuild.File{Name: "a/y"}),
		} {
			if !errors.Is(err, errdefs.ErrInvalidArgument) {
				t.Errorf("a link to %.10q and %s: %v", to, what, err)
			}
		}

		// The link itself is a file like others.
		if err := s.entry("a", &tar.Header{Typeflag: tar.TypeReg}, packed{}); err != nil {
			t.Error(err)
		}
	}
}

// As many links as Linux follows are followed.
func TestMostLinks(t *testing.T) {
	s := &stage{linux: true, tree: newTree(true, nil)}
	for i := range mostLinks {
		link := &tar.Header{Typeflag: tar.TypeSymlink, Linkname: fmt.Sprint(i + 1)}
		if err := s.entry(fmt.Sprint(i), link, packed{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.entry(fmt.Sprint(mostLinks), &tar.Header{Typeflag: tar.TypeDir}, packed{}); err != nil {
		t.Fatal(err)
	}
	if folder, err := s.tree.isFolder("0"); !folder || err != nil {
		t.Errorf("%t, %v", folder, err)
	}
}

// A name that is longer than any that a program could use is refused, before a folder is made for each of its parts.
func TestLongNames(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	for _, linux := range []bool{true, false} {
		s := &stage{linux: linux, tree: newTree(linux, nil)}
		long := strings.Repeat("a/", mostName)
		for what, err := range map[string]error{
			"folders": s.entry(long+"x", &tar.Header{Typeflag: tar.TypeReg}, packed{}),
			"a file":  s.entry(strings.Repeat("a", mostName+1), &tar.Header{Typeflag: tar.TypeReg}, packed{}),
			"a link":  s.entry("x", &tar.Header{Typeflag: tar.TypeSymlink, Linkname: long}, packed{}),
			"a copy":  s.tree.change().add(imagebuild.File{Name: strings.Repeat("a", mostName+1)}),
		} {
			if !errors.Is(err, errdefs.ErrInvalidArgument) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if len(s.tree.entries) > 0 {
			t.Errorf("%d files are left", len(s.tree.entries))
		}
	}
}

// Small letters may have more or fewer bytes than capital ones.
func TestListInOtherLetters(t *testing.T) {
	s := &stage{tree: newTree(false, nil)}
	for _, folder := range []string{"ȺȺȺȺ", "İİİİ", "KKKK", "\xff\xff"} {
		if err := s.entry(folder+"/Sub/File", &tar.Header{Typeflag: tar.TypeReg}, packed{}); err != nil {
			t.Fatal(err)
		}
		files, is, err := s.tree.list(t.Context(), folder)
		if err != nil || !is || len(files) != 2 || files[0].Name != "Sub" || files[1].Name != "Sub/File" {
			t.Errorf("%q: %+v, %t, %v", folder, files, is, err)
		}
	}
}

// Files that a layer removes go with what is in them, and no others do. A stage that begins with this one has its own.
func TestRemoved(t *testing.T) {
	s := &stage{linux: true, tree: newTree(true, nil)}
	names := func(of tree) string { return strings.Join(slices.Sorted(maps.Keys(of.entries)), " ") }
	put := func(all ...string) {
		t.Helper()
		for _, name := range all {
			if err := s.entry(name, &tar.Header{Typeflag: tar.TypeReg}, packed{}); err != nil {
				t.Fatal(err)
			}
		}
	}

	put("a/b/c", "a/b/d", "ab", "e")
	before := s.tree.clone()
	put("a/.wh.b", ".wh.missing")
	if got := names(s.tree); got != "a ab e" {
		t.Error(got)
	}

	put("a/b/c", "a/.wh..wh..opq", "a/new")
	if got := names(s.tree); got != "a a/new ab e" {
		t.Error(got)
	}

	put("a") // in the place of the folder
	if got := names(s.tree); got != "a ab e" {
		t.Error(got)
	}

	put(".wh..wh..opq")
	if got := names(s.tree); got != "" {
		t.Error(got)
	}
	if got := names(before); got != "a a/b a/b/c a/b/d ab e" {
		t.Error(got)
	}
}

// What a layer removes takes as long as it is much: 50,000 folders among as many files took minutes when each asked all
// files.
func TestRemovesMany(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	const many = 50_000
	s := &stage{linux: true, tree: newTree(true, nil)}
	began := time.Now()
	for _, name := range []string{"%d/x", ".wh.%d"} {
		for i := range many {
			if err := s.entry(fmt.Sprintf(name, i), &tar.Header{Typeflag: tar.TypeReg}, packed{}); err != nil {
				t.Fatal(err)
			}
		}
	}

	if len(s.tree.entries) > 0 || time.Since(began) > 20*time.Second {
		t.Errorf("%d files are left after %v", len(s.tree.entries), time.Since(began))
	}
}
