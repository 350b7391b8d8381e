package image

import (
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// TestBaseLayers takes histories as published images have them: hello-world:nanoserver for 10.0.26100.33438, for
// 10.0.17134.829 (RTM and update) and for 10.0.14393.2551 (foreign media types), from docker-library/repo-info.
func TestBaseLayers(t *testing.T) {
	const (
		plain   = "application/vnd.docker.image.rootfs.diff.tar.gzip"
		foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
		oci     = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
		cp      = "cmd /S /C #(nop) COPY file:22c7 in C: "
	)

	tests := []struct {
		name    string
		types   []string
		history []string // "-" marks an entry without a layer
		want    int      // base layers from the bottom
	}{
		{
			"ltsc2025",
			[]string{plain, plain, plain},
			[]string{"Apply image 10.0.26100.33438", cp, "cmd /S /C #(nop)  CMD"},
			1,
		},
		{
			"1803",
			[]string{plain, plain, plain},
			[]string{"Apply image 1803-RTM-amd64", "Install update 1803-amd64", cp},
			2,
		},
		{"foreign", []string{foreign, foreign, plain}, nil, 2},
		{"foreign-oci", []string{oci, plain}, nil, 1},
		{"empty-history-entries", []string{plain, plain}, []string{"Apply image 10.0.20348.1", "-", cp}, 1},
		{"no-base", []string{plain, plain}, []string{"mullion", "mullion"}, 0},
		{"history-does-not-fit", []string{plain, plain}, []string{"Apply image 10.0.20348.1"}, 0},
		{"only-from-the-bottom", []string{plain, foreign}, []string{cp, "Apply image 10.0.20348.1"}, 0},
		{
			"user-command-is-no-base",
			[]string{plain, plain},
			[]string{"Apply image 10.0.20348.1", "cmd /S /C Install update x"},
			1,
		},
		{"base-only", []string{plain}, []string{"Apply image 10.0.20348.1"}, 1},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m ocispec.Manifest
			var spec ocispec.Image
			for i, mt := range tt.types {
				d := digest.FromString(string(rune('a' + i)))
				m.Layers = append(m.Layers, ocispec.Descriptor{MediaType: mt, Digest: d})
				spec.RootFS.DiffIDs = append(spec.RootFS.DiffIDs, d)
			}

			for _, h := range tt.history {
				spec.History = append(spec.History, ocispec.History{CreatedBy: h, EmptyLayer: h == "-"})
			}

			layers, err := planLayers(m, spec)
			if err != nil {
				t.Fatal(err)
			}

			got := 0
			for _, l := range layers {
				if l.base != "" {
					got++
				}
			}

			if got != tt.want {
				t.Errorf("%d base layers, want %d: %+v", got, tt.want, layers)
			}
		})
	}

	if _, err := planLayers(ocispec.Manifest{},
		ocispec.Image{RootFS: ocispec.RootFS{DiffIDs: []digest.Digest{"x"}}}); err == nil {
		t.Error("layers and diff IDs that do not fit are accepted")
	}
}
