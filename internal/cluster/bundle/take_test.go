package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster/bundle/bundletest"
)

// ours is the version of the bundles that the tests make.
const ours = "v1.37.0-alpha.1.7+0a1b2c3d4e5f67"

// forMachine makes a program for Linux, or one for Windows, one for another machine.
func forMachine(program []byte, machine uint16) []byte {
	at := 18
	if program[0] == 'M' {
		at = 68
	}
	binary.LittleEndian.PutUint16(program[at:], machine)
	return program
}

const arm64ELF, arm64PE = 183, 0xaa64

// files returns the files of a whole bundle as upstream releases it, with names below kubernetes.
func files() map[string][]byte {
	all := map[string][]byte{
		"kubernetes/server/bin/kube-apiserver.docker_tag": []byte(ours),
		"kubernetes/server/bin/kubeadm":                   []byte("anything"),
		"kubernetes/LICENSES":                             []byte("free"),
	}
	for name, data := range bundletest.Programs(ours) {
		all["kubernetes/"+name] = data
	}
	return all
}

// pack writes an archive of files and then of further entries.
func pack(t *testing.T, compressed bool, files map[string][]byte, more ...tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, data := range files {
		more = append(more, tar.Header{
			Name:     name,
			Typeflag: tar.TypeReg,
			Size:     int64(len(data)),
			Mode:     0o755,
		})
	}

	for _, h := range more {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if data, ok := files[h.Name]; ok && h.Typeflag == tar.TypeReg {
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	text := out.Bytes()
	if compressed {
		var z bytes.Buffer
		zip, err := gzip.NewWriterLevel(&z, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := zip.Write(text); err != nil {
			t.Fatal(err)
		}

		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
		text = z.Bytes()
	}

	file := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// part returns the files below one folder of a bundle, server or node.
func part(all map[string][]byte, folder string) map[string][]byte {
	some := map[string][]byte{}
	for name, data := range all {
		if strings.HasPrefix(name, "kubernetes/"+folder+"/") {
			some[name] = data
		}
	}
	return some
}

// placed returns the files that lie in a folder, with what links say.
func placed(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if to, linkErr := os.Readlink(path); linkErr == nil {
			name += " -> " + to
		}
		all = append(all, name)
		return err
	}); err != nil {
		t.Fatal(err)
	}

	slices.Sort(all)
	return all
}

func TestTake(t *testing.T) {
	all := files()
	bare := map[string][]byte{}
	for name, data := range all {
		bare[strings.TrimPrefix(name, "kubernetes/")] = data
	}

	withEtcd := files()
	withEtcd["kubernetes/server/bin/etcd"] = bundletest.Linux("etcd 3.6")
	want := []string{
		"node/bin/kube-proxy.exe", "node/bin/kubelet.exe", "server/bin/kube-apiserver", "server/bin/kube-controller-manager",
		"server/bin/kube-proxy", "server/bin/kube-scheduler", "server/bin/kubectl", "server/bin/kubelet",
	}

	for name, tt := range map[string]struct {
		sources []string
		want    []string
	}{
		"folder":       {[]string{bundletest.Put(t, t.TempDir(), bare)}, want},
		"as-unpacked":  {[]string{bundletest.Put(t, t.TempDir(), all)}, want},
		"two-folders":  {[]string{bundletest.Put(t, t.TempDir(), part(all, "node")), bundletest.Put(t, t.TempDir(), part(all, "server"))}, want},
		"archives":     {[]string{pack(t, true, part(all, "server")), pack(t, true, part(all, "node"))}, want},
		"plain-tar":    {[]string{pack(t, false, all)}, want},
		"own-etcd":     {[]string{pack(t, true, withEtcd)}, append([]string{"server/bin/etcd"}, want...)},
		"folder-mixed": {[]string{pack(t, true, part(all, "server")), bundletest.Put(t, t.TempDir(), part(all, "node"))}, want},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			version, err := Take(t.Context(), dir, tt.sources)
			if err != nil || version != ours {
				t.Fatalf("version %q, %v", version, err)
			}
			slices.Sort(tt.want)
			if diff := cmp.Diff(tt.want, placed(t, dir)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}

			b := Bundle{Dir: dir, Spare: bundletest.Put(t, t.TempDir(), map[string][]byte{"server/bin/etcd": nil})}
			if missing := b.Missing(); len(missing) > 0 {
				t.Errorf("missing: %v", missing)
			}
			info, err := os.Stat(filepath.Join(dir, "server/bin/kubelet"))
			if err != nil || info.Mode().Perm()&0o111 != 0o111 {
				t.Errorf("kubelet: %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestTakeLinked takes a folder as Mullion builds it: one program under several names.
func TestTakeLinked(t *testing.T) {
	all := map[string][]byte{"server/bin/hyperkube": bundletest.Linux("Kubernetes " + ours)}
	for name, data := range part(files(), "node") {
		all[strings.TrimPrefix(name, "kubernetes/")] = data
	}

	from, dir := bundletest.Put(t, t.TempDir(), all), t.TempDir()
	for _, p := range programs() {
		if strings.HasPrefix(p.place, serverDir) {
			if err := os.Symlink("hyperkube", filepath.Join(from, p.place)); err != nil {
				t.Fatal(err)
			}
		}
	}

	if version, err := Take(t.Context(), dir, []string{from}); err != nil || version != ours {
		t.Fatalf("version %q, %v", version, err)
	}
	want := []string{
		"node/bin/kube-proxy.exe", "node/bin/kubelet.exe", "server/bin/etcd", "server/bin/kube-apiserver -> etcd",
		"server/bin/kube-controller-manager -> etcd", "server/bin/kube-proxy -> etcd", "server/bin/kube-scheduler -> etcd",
		"server/bin/kubectl -> etcd", "server/bin/kubelet -> etcd",
	}

	if diff := cmp.Diff(want, placed(t, dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if same, err := Same(Bundle{Dir: from}, Bundle{Dir: dir}); err != nil || !same {
		t.Errorf("the copy is the same: %v, %v", same, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "node/bin/kubelet.exe"), bundletest.Windows("kubelet.exe "+ours+"!"), 0o600); err != nil {
		t.Fatal(err)
	}

	if same, err := Same(Bundle{Dir: from}, Bundle{Dir: dir}); err != nil || same {
		t.Errorf("with another kubelet.exe it is the same: %v, %v", same, err)
	}
}

func TestTakeRefuses(t *testing.T) {
	const server, node = "kubernetes/server/bin/", "kubernetes/node/bin/"
	// changed is an archive of a whole bundle with some files replaced, or left out where the data is nil
	changed := func(change map[string][]byte) []string {
		all := files()
		for name, data := range change {
			if all[name] = data; data == nil {
				delete(all, name)
			}
		}
		return []string{pack(t, false, all)}
	}

	// entry is an archive of one entry
	entry := func(h tar.Header) []string { return []string{pack(t, true, nil, h)} }
	two := bundletest.Put(t, t.TempDir(), map[string][]byte{"server/bin/kubectl": bundletest.Linux(ours)})
	linked := bundletest.Put(t, t.TempDir(), map[string][]byte{"server/bin/kubectl": bundletest.Linux(ours)})
	outside := bundletest.Put(t, t.TempDir(), map[string][]byte{"kubelet": bundletest.Linux(ours)})
	if err := os.Symlink(filepath.Join(outside, "kubelet"), filepath.Join(linked, "server/bin/kubelet")); err != nil {
		t.Fatal(err)
	}

	text := bundletest.Put(t, t.TempDir(), map[string][]byte{"letter": []byte("Dear reader,"), "empty": {}, "half.gz": {0x1f, 0x8b, 8, 0}})
	whole := pack(t, true, files())
	packed, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}

	cut := filepath.Join(bundletest.Put(t, t.TempDir(), map[string][]byte{"cut": packed[:len(packed)/2]}), "cut")
	for name, tt := range map[string]struct {
		sources []string
		words   string
	}{
		"no-such-file":  {[]string{"/nowhere/x.tar.gz"}, "/nowhere/x.tar.gz: no such file or directory"},
		"device":        {[]string{"/dev/null"}, "/dev/null: it is neither a folder nor an archive"},
		"text":          {[]string{text + "/letter"}, "letter: it is neither a .tar.gz nor a .tar archive"},
		"empty":         {[]string{text + "/empty"}, "empty: it is neither a .tar.gz nor a .tar archive"},
		"no-gzip":       {[]string{text + "/half.gz"}, "half.gz: it is neither a .tar.gz nor a .tar archive"},
		"cut-off":       {[]string{cut}, "unexpected EOF"},
		"other-folder":  {[]string{text}, "it has no program of Kubernetes where upstream's releases have them"},
		"other-archive": {entry(tar.Header{Name: "a/b", Typeflag: tar.TypeReg}), "it has no program of Kubernetes"},
		"upwards":       {entry(tar.Header{Name: "kubernetes/server/bin/../../../x", Typeflag: tar.TypeReg}), `entry "kubernetes/server/bin/../../../x" leads out`},
		"absolute":      {entry(tar.Header{Name: "/server/bin/kubelet", Typeflag: tar.TypeReg}), `entry "/server/bin/kubelet" leads out`},
		"symbolic-link": {entry(tar.Header{
			Name:     server + "kubelet",
			Typeflag: tar.TypeSymlink,
			Linkname: "/bin/sh",
		}), `entry "kubernetes/server/bin/kubelet" is a link`},
		"hard-link": {entry(tar.Header{
			Name:     "./" + server + "kubelet",
			Typeflag: tar.TypeLink,
			Linkname: "/bin/sh",
		}), `entry "./kubernetes/server/bin/kubelet" is a link`},
		"device-entry":     {entry(tar.Header{Name: node + "kubelet.exe", Typeflag: tar.TypeChar}), `entry "kubernetes/node/bin/kubelet.exe" is a link or a device`},
		"too-large":        {[]string{giant(t)}, "server/bin/kubelet has 2147483648 bytes, which is more"},
		"twice":            {changed(map[string][]byte{"server/bin/kubelet": bundletest.Linux(ours)}), "entry server/bin/kubelet is there twice"},
		"in-two":           {[]string{whole, two}, "server/bin/kubectl is there, and in " + whole + " too"},
		"link-out":         {[]string{linked}, "server/bin/kubelet"},
		"only-server":      {[]string{pack(t, true, part(files(), "server"))}, "the bundle lacks node/bin/kubelet.exe, node/bin/kube-proxy.exe"},
		"no-scheduler":     {changed(map[string][]byte{server + "kube-scheduler": nil}), "the bundle lacks server/bin/kube-scheduler"},
		"script":           {changed(map[string][]byte{server + "kubelet": []byte("#!/bin/sh\nexec kubelet-of-mine --with-many-flags-and-words-to-come\n")}), "server/bin/kubelet is no program, and not a program for Linux"},
		"arm64":            {changed(map[string][]byte{server + "kubelet": forMachine(bundletest.Linux(ours), arm64ELF)}), "server/bin/kubelet is a program for Linux on arm64, and not a program for Linux on x86-64"},
		"windows-on-linux": {changed(map[string][]byte{server + "kubelet": bundletest.Windows(ours)}), "server/bin/kubelet is a program for Windows on x86-64, and not a program for Linux"},
		"linux-on-windows": {changed(map[string][]byte{node + "kubelet.exe": bundletest.Linux(ours)}), "node/bin/kubelet.exe is a program for Linux on x86-64, and not a program for Windows"},
		"windows-arm64":    {changed(map[string][]byte{node + "kubelet.exe": forMachine(bundletest.Windows(ours), arm64PE)}), "node/bin/kubelet.exe is a program for Windows on arm64"},
		"not-etcd":         {changed(map[string][]byte{server + "etcd": []byte("etcd")}), "server/bin/etcd is no program"},
		"other-version":    {changed(map[string][]byte{node + "kubelet.exe": bundletest.Windows("v1.36.3")}), "node/bin/kubelet.exe is not of version " + ours + ", which server/bin/kube-apiserver says"},
		"does-not-run":     {changed(map[string][]byte{server + "kube-apiserver": forMachine(bundletest.Linux(ours), 62)[:80]}), "server/bin/kube-apiserver --version: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			version, err := Take(t.Context(), dir, tt.sources)
			if err == nil || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("version %q, %v, want %q", version, err, tt.words)
			}

			for _, name := range placed(t, dir) {
				if strings.Contains(name, "->") {
					t.Errorf("a link was made: %s", name)
				}
			}
		})
	}
}

// giant returns an archive that says that a program has two gigabytes; it has not.
func giant(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{
		Name:     "server/bin/kubelet",
		Typeflag: tar.TypeReg,
		Size:     2 << 30,
	}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bundletest.Put(t, t.TempDir(), map[string][]byte{"giant": out.Bytes()}), "giant")
}

// TestTakeEnds ends with its context.
func TestTakeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Take(ctx, t.TempDir(), []string{pack(t, true, files())}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestCounted(t *testing.T) {
	c := &counted{
		ctx:  t.Context(),
		in:   strings.NewReader("12345"),
		left: 4,
	}
	if n, err := c.Read(make([]byte, 3)); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := c.Read(make([]byte, 3)); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("%v", err)
	}
}

func TestReadVersion(t *testing.T) {
	for said, want := range map[string]string{
		"Kubernetes v1.36.3\n":                        "v1.36.3",
		"Kubernetes v1.37.0-alpha.1.7+0a1b2c3d4e5f67": ours,
		"Kubernetes v1.36.3-dirty":                    "v1.36.3-dirty",
		"Kubernetes v0.0.0-master+$Format:%H$":        "",
		"Kubernetes v1.36":                            "",
		"Kubernetes v1.36.3/..":                       "",
		"Kubernetes ../../x":                          "",
		"Kubernetes v1.36.3\nKubernetes v1.36.3":      "",
		"v1.36.3":                                     "",
		"":                                            "",
	} {
		got, err := readVersion(said)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", said, got, err, want)
		}
	}
}

func TestAskVersion(t *testing.T) {
	for name, tt := range map[string]struct{ script, words string }{
		"fails":   {"echo no such flag >&2; exit 3", "exit status 3: no such flag"},
		"chatty":  {"while true; do echo 0123456789012345678901234567890123456789; done", "--version: "},
		"another": {"echo Python 3.11", `read the version "Python 3.11"`},
	} {
		t.Run(name, func(t *testing.T) {
			script := []byte("#!/bin/sh\n" + tt.script + "\n")
			dir := bundletest.Put(t, t.TempDir(), map[string][]byte{"kubelet": script})
			if v, err := askVersion(t.Context(), filepath.Join(dir, "kubelet")); err == nil || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%q, %v, want %q", v, err, tt.words)
			}
		})
	}
}

// TestMentions finds a text across the borders of what is read at once.
func TestMentions(t *testing.T) {
	for _, before := range []int{0, 1<<20 - 3, 1 << 20, 3<<20 - 7} {
		dir := bundletest.Put(t, t.TempDir(), map[string][]byte{"f": append(make([]byte, before), ours...)})
		for text, want := range map[string]bool{ours: true, "v1.36.3": false} {
			if got, err := mentions(filepath.Join(dir, "f"), text); err != nil || got != want {
				t.Errorf("%s after %d bytes: %v, %v", text, before, got, err)
			}
		}
	}
}

func TestCheckProgram(t *testing.T) {
	dir := bundletest.Put(t, t.TempDir(), map[string][]byte{
		"elf": bundletest.Linux(""), "pe": bundletest.Windows(""), "mips": forMachine(bundletest.Linux(""), 8), "short": []byte("MZ"),
		"dos": append([]byte("MZ"), bytes.Repeat([]byte{0xff}, 80)...),
	})

	for _, tt := range []struct{ file, system, words string }{
		{"elf", "linux", ""},
		{"pe", "windows", ""},
		{"elf", "windows", "elf is a program for Linux on x86-64, and not a program for Windows on x86-64"},
		{"mips", "linux", "mips is a program for Linux on machine 0x8, and not"},
		{"short", "windows", "short is no program"},
		{"dos", "windows", "dos is no program"},
		{".", "linux", "is no file"},
		{"none", "linux", "no such file"},
	} {
		err := CheckProgram(filepath.Join(dir, tt.file), tt.system)
		if (err == nil) != (tt.words == "") || (err != nil && !strings.Contains(err.Error(), tt.words)) {
			t.Errorf("%s for %s: %v, want %q", tt.file, tt.system, err, tt.words)
		}
	}
}

// FuzzArchive reads archives of others: whatever they have, only programs are written, none of them a link.
func FuzzArchive(f *testing.F) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range []tar.Header{
		{Name: "kubernetes/server/bin/kubelet", Typeflag: tar.TypeReg, Size: 3},
		{Name: "node/bin/kubelet.exe", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			f.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte("abc")); err != nil {
				f.Fatal(err)
			}
		}
	}

	if err := w.Close(); err != nil {
		f.Fatal(err)
	}

	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		from, dir := bundletest.Put(t, t.TempDir(), map[string][]byte{"archive": data}), t.TempDir()
		if _, err := Take(t.Context(), dir, []string{filepath.Join(from, "archive")}); err == nil {
			t.Error("it was taken")
		}
		for _, name := range placed(t, dir) {
			if !slices.ContainsFunc(programs(), func(p program) bool { return p.place == name }) {
				t.Errorf("it wrote %s", name)
			}
		}
	})
}
