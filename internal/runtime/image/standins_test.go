package image_test

import (
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/winver"
)

// A host has the stand-ins of its own build and of those whose containers it runs, under all their tags; each group is
// one image, which can be built.
func TestStandIns(t *testing.T) {
	for name, want := range map[string][]string{
		"ltsc2019": {"nanoserver:ltsc2019", "nanoserver:1809", "servercore:ltsc2019", "windows:1809"},
		"ltsc2025": {"nanoserver:ltsc2025", "nanoserver:ltsc2022", "servercore:ltsc2025", "server:ltsc2022"},
	} {
		host, err := winver.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}

		var all []string
		for _, refs := range image.StandIns(host) {
			all = append(all, refs...)
			built, err := image.BuildStandIn(t.Context(), refs)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(built.Refs, refs) || len(built.OSVersions) != 1 {
				t.Errorf("for %q there is %q of %q", refs, built.Refs, built.OSVersions)
			}
		}

		for _, ref := range want {
			if !slices.ContainsFunc(all, func(has string) bool { return strings.HasSuffix(has, ref) }) {
				t.Errorf("%s lacks %s", name, ref)
			}
		}

		if slices.ContainsFunc(all, func(has string) bool { return strings.Contains(has, "ltsc2016") }) {
			t.Errorf("%s has an image that it cannot run: %q", name, all)
		}
	}

	if _, err := image.BuildStandIn(t.Context(), []string{"mullion.local/other:v1"}); err == nil {
		t.Error("an image was made that stands in for one that is not in the table")
	}
	if _, err := image.BuildStandIn(t.Context(), nil); err == nil {
		t.Error("an image was made for none")
	}
}
