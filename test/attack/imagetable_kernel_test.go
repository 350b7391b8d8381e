//go:build kernel

package attack

import (
	"archive/tar"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// imageAttack is an image that attacks what reads it.
type imageAttack struct {
	name   string
	layers [][]member
	// lie changes the image; truth, of its control, changes it in the same way within what is allowed.
	lie, truth func(t *testing.T, m *made)
	// load and pull are parts of the errors that refuse it; empty: it is taken, with the harm left out.
	load, pull string
	// archive are more members of the archive that is loaded.
	archive []member
}

// refused returns an attack that is refused in the same words whichever way it comes.
func refused(name, words string, members ...member) imageAttack {
	return imageAttack{
		name:   name,
		layers: [][]member{members},
		load:   words,
		pull:   words,
	}
}

// taken returns an image that is taken without its harm.
func taken(name string, members ...member) imageAttack {
	return imageAttack{name: name, layers: [][]member{members}}
}

// layerAttacks returns the attacks by the entries of a layer. Their control is that they harm who unpacks them naively.
func layerAttacks(victim string) []imageAttack {
	const outside, leaves, none = "outside Files and Hives", "leaves the drive", "no such file or directory"
	climb := strings.Repeat("../", 40)
	v := strings.TrimPrefix(victim, "/")
	in := "/" + filepath.Dir(v) + "/"
	windows := strings.ReplaceAll(climb+v, "/", `\`)

	return []imageAttack{
		refused("name-climbs", outside, file("Files/"+climb+v+"/note", "changed")),
		refused("name-climbs-twice", outside, file("Files/a/../../Files/"+climb+v+"/note", "changed")),
		refused("name-absolute", outside, file("/"+v+"/note", "changed")),
		refused("name-backslashes", outside, file(`Files\`+windows+`\note`, "changed")),
		refused("name-both-slashes", outside, file(`Files/a\..\`+windows+`/note`, "changed")),
		refused("name-drive", outside, file("C:"+strings.ReplaceAll(victim, "/", `\`)+`\note`, "changed")),
		refused("name-folder", outside, folder("Files/"+climb+v+"/planted")),
		refused("hive-climbs", outside, file("Hives/"+climb+v+"/note", "changed")),
		refused("machine-climbs", outside, file("UtilityVM/"+climb+v+"/note", "changed")),

		taken("link-absolute", symlink("Files/out", victim)),
		taken("link-climbs", symlink("Files/out", climb+v)),
		taken("link-backslashes", symlink("Files/a/out", windows)),
		taken("link-unix", symlink("Files/out", `\\?\unix`+strings.ReplaceAll(victim, "/", `\`))),
		taken("link-then-file", symlink("Files/out", victim), file("Files/out/note", "changed")),
		taken("link-then-folder", symlink("Files/out", climb+v), folder("Files/out/planted")),
		taken("link-then-file-by-case", symlink("Files/Out", victim), file("Files/OUT/note", "changed")),
		taken("link-behind-link", symlink("Files/a", "b"), symlink("Files/b", victim), file("Files/a/note", "changed")),
		taken("link-up-and-up", symlink("Files/a", ".."), symlink("Files/a/b", ".."), symlink("Files/a/c", climb+v),
			file("Files/a/c/note", "changed")),
		taken("link-over-folder", file("Files/App/a", "a"), symlink("Files/APP", victim),
			file("Files/app/note", "changed")),
		taken("link-to-device", symlink("Files/out", "/dev/mem")),
		taken("link-to-itself", symlink("Files/out", "/proc/self/root"), symlink("Files/loop", "loop")),
		taken("link-in-hives", symlink("Hives/out", victim), file("Hives/out/note", "changed")),
		taken("link-for-machine", symlink("UtilityVM", victim), file("UtilityVM/note", "changed")),
		refused("link-for-drive", "not a folder", symlink("Files", victim), file("Files/note", "changed")),

		refused("hard-link-climbs", leaves, hardlink("Files/h", "Files/"+climb+v+"/note")),
		refused("hard-link-absolute", leaves, hardlink("Files/h", victim+"/note")),
		refused("hard-link-backslashes", leaves, hardlink("Files/h", windows+`\note`)),
		refused("hard-link-then-file", leaves, hardlink("Files/h", climb+v+"/note"), file("Files/h", "changed")),
		refused("hard-link-through-link", none, symlink("Files/out", victim), hardlink("Files/h", "Files/out/note"),
			file("Files/h", "changed")),

		refused("whiteout-climbs", outside, file("Files/"+climb+filepath.Dir(v)+"/.wh.victim", "")),
		refused("whiteout-parent", "invalid whiteout name", file("Files/a", "a"), file("Files/.wh...", "")),
		refused("whiteout-root", outside, file("Files/../.wh...", "")),
		taken("whiteout-through-link", symlink("Files/out", in), file("Files/out/.wh.victim", "")),
		taken("opaque-through-link", symlink("Files/out", victim), file("Files/out/.wh..wh..opq", "")),
		refused("opaque-climbs", outside, file("Files/"+climb+v+"/.wh..wh..opq", "")),

		taken("device-memory", device(tar.TypeChar, "Files/mem", 1, 1)),
		taken("device-disk", device(tar.TypeBlock, "Files/disk", 254, 0)),
		taken("device-tun", device(tar.TypeChar, "Files/dev/net/tun", 10, 200)),
		taken("device-in-hives", device(tar.TypeBlock, "Hives/disk", 254, 0)),
		taken("pipe", device(tar.TypeFifo, "Files/pipe", 0, 0)),
		taken("pipe-in-hives", device(tar.TypeFifo, "Hives/pipe", 0, 0)),

		taken("set-user-id", withMode(file("Files/su", "x"), 0o4755)),
		taken("set-group-id", withMode(file("Files/sg", "x"), 0o2755)),
		taken("set-group-id-folder", withMode(folder("Files/folder"), 0o2777)),
		taken("set-user-id-hive", withMode(file("Hives/su", "x"), 0o6755)),
		taken("owner", ownedBy(file("Files/own", "x"), 4242)),
		taken("owner-hive", ownedBy(file("Hives/own", "x"), 4242)),

		taken("capability", marked("Files/cap", "security.capability",
			"\x01\x00\x00\x02\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00")),
		taken("capability-hive", marked("Hives/cap", "security.capability",
			"\x01\x00\x00\x02\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00")),
		taken("overlay-redirect", marked("Files/redirect", "trusted.overlay.redirect", victim)),
		taken("overlay-metacopy", marked("Files/metacopy", "trusted.overlay.metacopy", "")),
		taken("overlay-origin", marked("Files/origin", "trusted.overlay.origin", "x")),
		taken("own-attribute", marked("Files/sd", "user.mullion.sd", "\x01\x00\x04\x80")),
	}
}

func withMode(m member, mode int64) member {
	m.Mode = mode
	return m
}

func ownedBy(m member, uid int) member {
	m.Uid, m.Gid = uid, uid
	return m
}

// harmless returns what an image has that lies of something else.
func harmless() [][]member { return [][]member{{file("Files/a", "a")}, {file("Files/b", "b")}} }

// deep returns a name of so many folders.
func deep(folders int) string { return "Files/" + strings.Repeat("d/", folders) + "f" }

// many are files in folders of their own with long names.
func many(n int) []member {
	var all []member
	for i := range n {
		all = append(all, file(fmt.Sprint("Files/", i, strings.Repeat("/"+strings.Repeat("n", 150), 18)), ""))
	}
	return all
}

// slow is for images that are not pulled here: a node unpacks them until it refuses them, which takes a minute.
const slow = "slow"

// liesOfSize are images whose names or sizes have no end. Their control is the same image with less.
func liesOfSize() []imageAttack {
	layer := func(members ...member) func(*testing.T, *made) {
		return func(t *testing.T, m *made) {
			t.Helper()
			stream := plain(t, members)
			m.layer(t, ocispec.MediaTypeImageLayerGzip, zipped(t, stream), digest.FromBytes(stream))
		}
	}

	sized := func(change func(m *made, size int)) func(int) func(*testing.T, *made) {
		return func(size int) func(*testing.T, *made) {
			return func(_ *testing.T, m *made) { change(m, size) }
		}
	}

	layers := sized(func(m *made, n int) {
		for len(m.manifest.Layers) < n {
			m.manifest.Layers = append(m.manifest.Layers, m.manifest.Layers[0])
			m.image.RootFS.DiffIDs = append(m.image.RootFS.DiffIDs, m.image.RootFS.DiffIDs[0])
		}
	})

	config := sized(func(m *made, n int) { m.image.Author = strings.Repeat("a", n) })
	manifest := sized(func(m *made, n int) {
		m.manifest.Annotations = map[string]string{"a": strings.Repeat("a", n)}
	})

	claim := sized(func(m *made, n int) { m.manifest.Layers[1].Size = int64(n) })
	zstd := func(window byte) func(*testing.T, *made) {
		return func(t *testing.T, m *made) {
			t.Helper()
			const zeros = 600 << 20
			stream := plain(t, []member{file("Files/z", "z")})
			whole := append(slices.Clone(stream), make([]byte, zeros)...)
			m.layer(t, ocispec.MediaTypeImageLayerZstd, blown(stream, window, zeros), digest.FromBytes(whole))
		}
	}

	noise := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	var hives []member
	for _, name := range []string{"DefaultUser", "Sam", "Security", "Software", "System"} {
		hives = append(hives, file("Hives/"+name+"_Delta", string(noise)), file("Hives/"+name+"_Base", "regf"))
	}

	const large, names, json = "image is too large", "names", "of 8388608 that are read"
	same := func(name, words string, lie, truth func(*testing.T, *made)) imageAttack {
		return imageAttack{
			name:   name,
			layers: harmless(),
			lie:    lie,
			truth:  truth,
			load:   words,
			pull:   words,
		}
	}

	return []imageAttack{
		same("deep-folders", large, layer(file(deep(100_000), "")), layer(file(deep(100), ""))),
		same("deep-link", large, layer(symlink("Files/l", deep(100_000))), layer(symlink("Files/l", deep(100)))),
		same("long-name", "file name too long", layer(file("Files/"+strings.Repeat("n", 300), "")),
			layer(file("Files/"+strings.Repeat("n", 200), ""))),
		same("very-long-name", large, layer(file("Files/"+strings.Repeat("n", 900_000), "")), nil),
		{
			name: "many-names", layers: harmless(), lie: layer(many(7000)...), truth: layer(many(100)...), load: names,
			pull: slow,
		},
		same("bomb", "more than the 64 GiB", layer(claimed("Files/a", 65<<30)), nil),
		same("bomb-hive", "more than the 64 GiB", layer(claimed("Hives/System_Delta", 65<<30)), nil),
		same("bomb-zstd", "window size exceeded", zstd(19), zstd(16)),
		same("hives", "", layer(hives...), nil),
		same("many-layers", "300 layers", layers(300), layers(200)),
		same("large-configuration", json, config(9<<20), config(7<<20)),
		{
			name: "large-manifest", layers: harmless(), lie: manifest(9 << 20), truth: manifest(3 << 20), load: json,
			pull: "rejecting 94",
		},
		same("large-sum", "more than the 64 GiB", claim(65<<30), nil),
		same("size-below-zero", "more than the 64 GiB", claim(-1), nil),
		{name: "size-smaller", layers: harmless(), lie: claim(1), pull: "past expected size"},
		{name: "size-larger", layers: harmless(), lie: claim(1 << 20), pull: "size"},
	}
}

// liesOfParts are images whose parts do not fit each other.
func liesOfParts(evil string) []imageAttack {
	last := func(change func(m *made, i int)) func(*testing.T, *made) {
		return func(_ *testing.T, m *made) { change(m, len(m.manifest.Layers)-1) }
	}
	nested := func(depth, times int) func(*testing.T, *made) {
		return func(t *testing.T, m *made) { t.Helper(); m.nest(t, depth, times) }
	}
	blob := func(mediaType string, data []byte) func(*testing.T, *made) {
		return func(t *testing.T, m *made) { t.Helper(); m.layer(t, mediaType, data, digest.FromBytes(data)) }
	}

	garbage := []byte(strings.Repeat("garbage ", 1000))
	mediaType := func(kind string) func(*testing.T, *made) {
		return last(func(m *made, i int) { m.manifest.Layers[i].MediaType = kind })
	}

	same := func(name, words string, lie, truth func(*testing.T, *made)) imageAttack {
		return imageAttack{
			name:   name,
			layers: harmless(),
			lie:    lie,
			truth:  truth,
			load:   words,
			pull:   words,
		}
	}

	return []imageAttack{
		same("other-diff-id", "wrong diff id", last(func(m *made, i int) {
			m.image.RootFS.DiffIDs[i] = digest.FromString("other")
		}), nil),
		same("no-diff-id", "diffIDs don't match", last(func(m *made, i int) {
			m.image.RootFS.DiffIDs = m.image.RootFS.DiffIDs[:i]
		}), nil),
		same("diff-id-too-many", "diffIDs don't match", last(func(m *made, _ int) {
			m.image.RootFS.DiffIDs = append(m.image.RootFS.DiffIDs, digest.FromString("other"))
		}), nil),
		same("foreign-addresses", "", last(func(m *made, i int) { m.manifest.Layers[i].URLs = []string{evil} }), nil),
		same("foreign-configuration", "", func(t *testing.T, m *made) {
			t.Helper()
			m.finish(t)
			m.manifest.Config.URLs = []string{evil}
		}, nil),
		same("unknown-media-type", "diffIDs don't match", mediaType("application/x-unknown"), nil),
		same("says-zstd", "", mediaType(ocispec.MediaTypeImageLayerZstd), nil),
		same("says-plain", "", mediaType(ocispec.MediaTypeImageLayer), nil),
		same("garbage", "tar", blob(ocispec.MediaTypeImageLayerGzip, garbage), nil),
		same("garbage-gzip", "gzip", blob(ocispec.MediaTypeImageLayerGzip,
			append([]byte{0x1f, 0x8b, 8}, garbage...)), nil),
		same("garbage-zstd", "unknown dictionary", blob(ocispec.MediaTypeImageLayerZstd,
			append([]byte{0x28, 0xb5, 0x2f, 0xfd}, garbage...)), nil),
		same("deep-index", "nested too deeply", nested(20, 1), nested(4, 1)),
		same("index-bomb", "", nested(7, 60), nested(7, 1)),
		{
			name: "index-of-itself", layers: harmless(), load: "not found", pull: "digest",
			lie: func(t *testing.T, m *made) {
				t.Helper()
				m.nest(t, 1, 1)
				self := digest.FromString("itself")
				d := m.f.target
				d.Digest = self
				var index ocispec.Index
				index.SchemaVersion, index.Manifests = 2, []ocispec.Descriptor{d}
				inner := m.f.put(t, ocispec.MediaTypeImageIndex, index)
				m.f.blobs[self], m.f.kinds[self] = m.f.blobs[inner.Digest], inner.MediaType
				d.Size = inner.Size
				m.f.target = d
			},
		},
		{
			name: "other-build-is-bad", layers: harmless(), load: "diffIDs don't match", // the node takes its own build
			lie: func(t *testing.T, m *made) {
				t.Helper()
				good := m.finish(t)
				m.image.OSVersion, m.manifest.Layers = build2019, m.manifest.Layers[:1]
				bad := m.finish(t)
				var index ocispec.Index
				index.SchemaVersion, index.MediaType = 2, ocispec.MediaTypeImageIndex
				index.Manifests = []ocispec.Descriptor{good, bad}
				m.f.target = m.f.put(t, ocispec.MediaTypeImageIndex, index)
			},
		},
		same("other-system", "no match for platform", func(_ *testing.T, m *made) { m.image.OS = "linux" }, nil),
		same("no-configuration", "unexpected end of JSON", func(t *testing.T, m *made) {
			t.Helper()
			m.manifest.Config = m.f.put(t, ocispec.MediaTypeImageConfig, []byte("{"))
		}, nil),
	}
}

// archiveAttacks returns the attacks by the archive itself: only who loads it reads it.
func archiveAttacks(victim string) []imageAttack {
	climb := strings.Repeat("../", 40) + strings.TrimPrefix(victim, "/")
	with := func(name string, members ...member) imageAttack {
		return imageAttack{
			name:    name,
			layers:  harmless(),
			archive: members,
		}
	}

	return []imageAttack{
		with("archive-climbs", file("blobs/sha256/"+climb+"/note", "changed")),
		with("archive-absolute", file(victim+"/note", "changed")),
		with("archive-link", symlink("blobs/out", victim), file("blobs/out/note", "changed")),
		with("archive-hard-link", hardlink("blobs/h", climb+"/note"), file("blobs/h", "changed")),
		with("archive-device", device(tar.TypeBlock, "blobs/disk", 254, 0)),
	}
}
