package image

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func windows(version string, features ...string) ocispec.Platform {
	return ocispec.Platform{
		OS:           "windows",
		Architecture: "amd64",
		OSVersion:    version,
		OSFeatures:   features,
	}
}

// TestMatch holds the compatibility table of Windows containers
// (https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility).
func TestMatch(t *testing.T) {
	const (
		w2019 = "10.0.17763.6414"
		w2022 = "10.0.20348.2762"
		w23h2 = "10.0.25398.1189"
		w2025 = "10.0.26100.2314"
	)

	tests := []struct {
		node            string
		image           ocispec.Platform
		process, hyperV bool
	}{
		{w2019, windows("10.0.17763.1"), true, true},
		{w2019, windows("10.0.17763.9999"), true, true}, // the revision does not count
		{w2019, windows("10.0.17134.1"), false, true},
		{w2019, windows("10.0.18362.1"), false, false},
		{w2019, windows(w2022), false, false},
		{w2022, windows(w2022), true, true},
		{w2022, windows(w2022, "win32k"), true, true},
		{w2022, windows(w2019), false, true},
		{w2022, windows(w2025), false, false},
		{w23h2, windows(w2022), true, true},
		{w23h2, windows(w23h2), true, true},
		{w23h2, windows(w2019), false, true},
		{w2025, windows(w2022), true, true},
		{w2025, windows(w23h2), true, true},
		{w2025, windows(w2025), true, true},
		{w2025, windows(w2019), false, true},
		{w2022, windows(""), true, true}, // an image without a version fits everywhere
		{w2022, ocispec.Platform{OS: "linux", Architecture: "amd64"}, false, false},
		{w2022, ocispec.Platform{
			OS:           "windows",
			Architecture: "arm64",
			OSVersion:    w2022,
		}, false, false},
		{"", windows(w2019), true, true}, // the store of all builds
		{"", windows(w2025), true, true},
	}

	for _, tt := range tests {
		t.Run(tt.node+"_runs_"+tt.image.OS+tt.image.OSVersion, func(t *testing.T) {
			if got := newMatcher(tt.node, Process).Match(tt.image); got != tt.process {
				t.Errorf("process isolation: %v, want %v", got, tt.process)
			}
			if got := newMatcher(tt.node, HyperV).Match(tt.image); got != tt.hyperV {
				t.Errorf("hyper-v isolation: %v, want %v", got, tt.hyperV)
			}
		})
	}
}

func TestPickFromIndex(t *testing.T) {
	offer := func(versions ...string) []ocispec.Descriptor {
		out := []ocispec.Descriptor{{
			Digest:   "sha256:linux",
			Platform: &ocispec.Platform{OS: "linux", Architecture: "amd64"},
		}}
		for _, v := range versions {
			p := windows(v)
			out = append(out, ocispec.Descriptor{Digest: "sha256:0", Platform: &p})
		}

		return out
	}

	tests := []struct {
		name, node string
		iso        Isolation
		offered    []ocispec.Descriptor
		want       string
	}{
		{"exact", "10.0.17763.1", Process, offer("10.0.20348.1", "10.0.17763.5", "10.0.26100.1"), "10.0.17763.5"},
		{
			"newest-that-fits", "10.0.26100.1", Process, offer("10.0.20348.1", "10.0.26100.7", "10.0.17763.5"),
			"10.0.26100.7",
		},
		{"stable-interface", "10.0.26100.1", Process, offer("10.0.20348.1", "10.0.17763.5"), "10.0.20348.1"},
		{"hyper-v-takes-older", "10.0.20348.1", HyperV, offer("10.0.26100.7", "10.0.17763.5"), "10.0.17763.5"},
		{"none", "10.0.20348.1", Process, offer("10.0.26100.7", "10.0.17763.5"), ""},
		{"server-2016", "10.0.14393.8783", Process, offer("10.0.26100.7", "10.0.14393.5", "10.0.16299.1"), "10.0.14393.5"},
		{"server-2016-takes-no-other", "10.0.14393.8783", Process, offer("10.0.26100.7", "10.0.16299.1"), ""},
		{"linux-only", "10.0.20348.1", Process, offer(), ""},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Store{cfg: Config{OSVersion: tt.node, Handlers: map[string]Isolation{"h": tt.iso}}}
			got, err := s.pick(newMatcher(tt.node, tt.iso), "h").index(tt.offered)
			if tt.want == "" {
				if !errdefs.IsNotFound(err) ||
					!strings.HasPrefix(err.Error(), "no match for platform in manifest: not found") {
					t.Errorf("error %v", err)
				}
				var mismatch *MismatchError
				if has := errors.As(err, &mismatch); has != slices.ContainsFunc(tt.offered,
					func(d ocispec.Descriptor) bool { return d.Platform.OS == "windows" }) {
					t.Errorf("error speaks of a mismatch: %v: %v", has, err)
				}

				return
			}

			if err != nil || got.Platform.OSVersion != tt.want {
				t.Errorf("got %v, %v; want %s", got.Platform, err, tt.want)
			}
		})
	}
}

func TestMismatchWords(t *testing.T) {
	err := checkPlatform(windows("10.0.17763.1"), "10.0.20348.2762", Process)
	for _, want := range []string{
		"hcs::CreateComputeSystem", MismatchMessage, "0xc0370101", "10.0.17763.1",
		"10.0.20348.2762",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}

	if !errdefs.IsFailedPrecondition(err) {
		t.Errorf("class of %v", err)
	}
	if err := checkPlatform(windows("10.0.17763.1"), "10.0.20348.2762", HyperV); err != nil {
		t.Errorf("hyper-v: %v", err)
	}

	if err := checkPlatform(ocispec.Platform{
		OS:           "linux",
		Architecture: "amd64",
	}, "10.0.20348.2762", Process); !errdefs.IsNotFound(err) {
		t.Errorf("linux: %v", err)
	}
}
