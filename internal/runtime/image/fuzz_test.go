package image

import (
	"archive/tar"
	"encoding/json"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/images"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// FuzzLayerEntry filters the entries of a layer, one a line: a letter for the type, the name, and after a tab what it
// links to. Whatever an image says, what is written lies on the drive or beside it as a hive, and no link leads out.
func FuzzLayerEntry(f *testing.F) {
	for _, seed := range []string{
		"fFiles/app/data/x\nlFiles/a\tFiles/app/data/x\nsFiles/b\t../../../etc/passwd",
		"sFiles/up\t..\\..\\..\\x\nfFiles/up/y\ndFiles/UP\nfFiles/up/.wh..wh..opq\nfFiles/.wh.APP",
		"sFiles/v\t\\??\\Volume{1}\\x\nsFiles/d\tD:\\x\nsFiles/c\tc:\\..\\..\\x\nfFiles/outside/passwd",
		"fHives/../../x\nfHives/System_Delta\nfUtilityVM/x\nfFiles\\..\\..\\x\nfFiles/./../Files/a//b\nfFiles/\x00\nlFiles/h\t/etc",
		"dFiles/users/ContainerUser\nfFiles/Windows/System32/ntdll.dll\nfFiles/a:b\nfFiles/ .\nfFiles/CON",
	} {
		f.Add(seed)
	}

	types := map[byte]byte{
		'f': tar.TypeReg, 'd': tar.TypeDir, 's': tar.TypeSymlink, 'l': tar.TypeLink, 'c': tar.TypeChar,
		'p': tar.TypeFifo,
	}

	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		filter := &layerFilter{
			names: drives(t),
			owner: -1,
			room:  newBudget(),
		}

		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if line == "" {
				continue
			}

			name, link, _ := strings.Cut(line[1:], "\t")
			hdr := &tar.Header{
				Typeflag: types[line[0]],
				Name:     name,
				Linkname: link,
			}
			if ok, err := filter.entry(hdr); err != nil || !ok {
				continue
			}

			top, _, _ := strings.Cut(hdr.Name, "/")
			if !filepath.IsLocal(hdr.Name) || (top != "Files" && top != "Hives") {
				t.Fatalf("%q is written to %q", line, hdr.Name)
			}

			to := ""
			switch hdr.Typeflag {
			case tar.TypeLink:
				to = hdr.Linkname
			case tar.TypeSymlink:
				if path.IsAbs(hdr.Linkname) {
					t.Fatalf("%q links to %q", line, hdr.Linkname)
				}
				to = path.Join(path.Dir(hdr.Name), hdr.Linkname)
			default:
				continue
			}

			if !under(to, "Files") {
				t.Fatalf("%q at %q links to %q", line, hdr.Name, hdr.Linkname)
			}
		}
	})
}

// FuzzPlanLayers reads a manifest and a configuration that belong together or not. What is accepted has one layer for
// each of the manifest's that has the media type of a layer.
func FuzzPlanLayers(f *testing.F) {
	const digest = "sha256:0123456789012345678901234567890123456789012345678901234567890123"
	const layer = `{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"` + digest + `","size":3`
	f.Add(`{"layers":[`+layer+`,"urls":["https://x"]}]}`,
		`{"os.version":"10.0.20348.1","rootfs":{"type":"layers","diff_ids":["`+digest+`"]},"history":[{"created_by":"Apply image"}]}`)
	f.Add(`{"layers":[`+layer+`},`+layer+`},{"mediaType":"text/plain"}]}`,
		`{"rootfs":{"diff_ids":["`+digest+`","`+digest+`"]},"history":[{"created_by":"Apply image 1"},{}]}`)
	f.Add(`{"layers":[{},{}]}`, `{"rootfs":{"diff_ids":["","x"]},"history":[{"empty_layer":true},{},{},{}]}`)
	f.Add(`{}`, `{}`)

	f.Fuzz(func(t *testing.T, manifest, config string) {
		var m ocispec.Manifest
		var c ocispec.Image
		if json.Unmarshal([]byte(manifest), &m) != nil || json.Unmarshal([]byte(config), &c) != nil {
			return
		}

		want := 0
		for _, l := range m.Layers {
			if images.IsLayerType(l.MediaType) {
				want++
			}
		}

		layers, err := planLayers(m, c)
		if err == nil && len(layers) != want {
			t.Fatalf("%d layers planned of %d", len(layers), want)
		}
		if err == nil {
			_ = checkSizes(layers)
		}
	})
}
