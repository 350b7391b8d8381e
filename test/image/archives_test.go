//go:build kernel

package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	store "mullion.dev/mullion/internal/runtime/image"
)

// archiveOf writes a tar archive, whose names that end with a slash are folders.
func archiveOf(t *testing.T, names []string, files map[string][]byte) io.Reader {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		h := &tar.Header{
			Name:     name,
			Typeflag: tar.TypeReg,
			Size:     int64(len(files[name])),
			Mode:     0o644,
		}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}

		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

// parts are the blobs of an image, as archives have them.
type parts struct {
	manifest, config, layer, plain []byte
	descriptor                     string // of the manifest
	digest, configID, layerID      string // in digits
}

func partsOf(t *testing.T, img v1.Image) parts {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	var p parts
	var err error
	p.manifest, err = img.RawManifest()
	must(err)
	p.config, err = img.RawConfigFile()
	must(err)
	layers, err := img.Layers()
	must(err)
	read := func(from io.ReadCloser, err error) []byte {
		must(err)
		text, err := io.ReadAll(from)
		must(err)
		return text
	}

	p.layer, p.plain = read(layers[0].Compressed()), read(layers[0].Uncompressed())
	digest, err := img.Digest()
	must(err)
	config, err := img.ConfigName()
	must(err)
	layer, err := layers[0].Digest()
	must(err)
	kind, err := img.MediaType()
	must(err)
	p.digest = digest.Hex
	p.configID, p.layerID = config.Hex, layer.Hex
	p.descriptor = fmt.Sprintf(`"mediaType":%q,"digest":"sha256:%s","size":%d`, kind, p.digest, len(p.manifest))

	return p
}

const layoutFile = `{"imageLayoutVersion":"1.0.0"}`

// layout returns the archive of an OCI layout with a descriptor at its top, and more blobs.
func (p parts) layout(t *testing.T, top string, more map[string][]byte) io.Reader {
	t.Helper()
	files := map[string][]byte{
		"oci-layout":                 []byte(layoutFile),
		"index.json":                 []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[` + top + `]}`),
		"blobs/sha256/" + p.digest:   p.manifest,
		"blobs/sha256/" + p.configID: p.config,
		"blobs/sha256/" + p.layerID:  p.layer,
	}
	names := []string{"blobs/", "blobs/sha256/", "blobs/sha256/" + p.digest, "blobs/sha256/" + p.configID, "blobs/sha256/" + p.layerID}
	for name, text := range more {
		names, files[name] = append(names, name), text
	}
	return archiveOf(t, append(names, "index.json", "oci-layout"), files)
}

// TestArchivesOfBuilders: what buildx, buildah, docker, ko and crane write is loaded, under the name that it has there.
func TestArchivesOfBuilders(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	img := makeImage(t, "windows", v2022, part{layer: makeLayer(t, entry{name: "Files/"}, entry{name: "Files/a", body: "a"})})
	p := partsOf(t, img)
	const name = "mullion.local/built:v1"

	statement, statementHash := blobOf(t, []byte(`{"_type":"https://in-toto.io/Statement/v0.1"}`))
	unknown, unknownHash := blobOf(t, []byte(`{"architecture":"unknown","os":"unknown","config":{},`+
		`"rootfs":{"type":"layers","diff_ids":["sha256:`+statementHash+`"]}}`))
	attestation := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:` + unknownHash + `","size":` +
		fmt.Sprint(len(unknown)) + `},"layers":[{"mediaType":"application/vnd.in-toto+json","digest":"sha256:` + statementHash +
		`","size":` + fmt.Sprint(len(statement)) + `}]}`)

	attested, attestedHash := blobOf(t, attestation)
	index := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{` + p.descriptor +
		`,"platform":{"architecture":"amd64","os":"windows","os.version":"` + v2022 + `"}},` +
		`{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:` + attestedHash + `","size":` +
		fmt.Sprint(len(attested)) + `,"annotations":{"vnd.docker.reference.type":"attestation-manifest"},` +
		`"platform":{"architecture":"unknown","os":"unknown"}}]}`)
	indexed, indexHash := blobOf(t, index)

	dockerManifest, err := json.Marshal([]map[string]any{{
		"Config": "blobs/sha256/" + p.configID, "RepoTags": []string{name}, "Layers": []string{"blobs/sha256/" + p.layerID},
	}})
	if err != nil {
		t.Fatal(err)
	}

	oldManifest, err := json.Marshal([]map[string]any{{
		"Config": p.configID + ".json", "RepoTags": []string{name}, "Layers": []string{p.layerID + "/layer.tar"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	named := `{` + p.descriptor + `,"annotations":{"io.containerd.image.name":"` + name + `","org.opencontainers.image.ref.name":"v1"}}`

	for who, tt := range map[string]struct {
		archive io.Reader
		name    string
	}{
		"docker buildx -o type=oci, with an attestation": {archive: p.layout(t, `{"mediaType":"application/vnd.oci.image.index.v1+json",`+
			`"digest":"sha256:`+indexHash+`","size":`+fmt.Sprint(len(indexed))+`,"annotations":{"io.containerd.image.name":"`+name+
			`","org.opencontainers.image.created":"2026-01-01T00:00:00Z","org.opencontainers.image.ref.name":"v1"}}`,
			map[string][]byte{
				"blobs/sha256/" + indexHash: indexed, "blobs/sha256/" + attestedHash: attested,
				"blobs/sha256/" + unknownHash: unknown, "blobs/sha256/" + statementHash: statement,
			})},
		"docker buildx -o type=docker":           {archive: p.layout(t, named, map[string][]byte{"manifest.json": dockerManifest})},
		"docker save, since 25":                  {archive: p.layout(t, named, map[string][]byte{"manifest.json": dockerManifest, "repositories": []byte("{}")})},
		"buildah push oci-archive:FILE:NAME":     {archive: p.layout(t, `{`+p.descriptor+`,"annotations":{"org.opencontainers.image.ref.name":"`+name+`"}}`, nil)},
		"buildah push oci-archive:FILE, unnamed": {archive: p.layout(t, `{`+p.descriptor+`}`, nil), name: name},
		"docker save, before 25": {archive: archiveOf(t,
			[]string{
				p.layerID + "/", p.layerID + "/VERSION", p.layerID + "/json", p.layerID + "/layer.tar", p.configID + ".json",
				"manifest.json", "repositories",
			},
			map[string][]byte{
				p.layerID + "/VERSION": []byte("1.0"), p.layerID + "/json": []byte("{}"), p.layerID + "/layer.tar": p.plain,
				p.configID + ".json": p.config, "manifest.json": oldManifest, "repositories": []byte("{}"),
			})},
		"ko --tarball, crane pull": {archive: dockerArchive(t, name, img)},
	} {
		t.Run(who, func(t *testing.T) {
			machine := open(t, c, v2022)
			loaded, err := machine.Load(t.Context(), tt.archive, store.LoadOptions{Name: tt.name, Unpinned: true})
			if err != nil || len(loaded) != 1 || loaded[0].Ref != name {
				t.Fatalf("%+v, %v", loaded, err)
			}
			info, err := machine.Get(t.Context(), name)
			if err != nil || info.ID != "sha256:"+p.configID {
				t.Errorf("%+v, %v", info, err)
			}

			if err := machine.Remove(t.Context(), name); err != nil {
				t.Error(err)
			}
		})
	}

	if _, err := open(t, c, v2022).Load(t.Context(), p.layout(t, `{`+p.descriptor+`}`, nil), store.LoadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "has no name, give one by --tag") {
		t.Error(err)
	}
}

// blobOf returns a blob and its sum.
func blobOf(t *testing.T, text []byte) ([]byte, string) {
	t.Helper()
	hash, _, err := v1.SHA256(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return text, hash.Hex
}
