package dockerfile_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// judge is a module with Dockerfiles for Windows, each of which is built as it is.
type judge struct {
	module string
	files  []string
	// args are values of --build-arg, which the module's own makefile gives.
	args map[string]string
}

// judges returns those of TestFieldPublicDockerfiles.
func judges() []judge {
	e2e := map[string]string{
		"BASEIMAGE": "mcr.microsoft.com/windows/nanoserver:ltsc2022", "REGISTRY": "registry.example/e2e",
		"OS_VERSION": "ltsc2022", "BASE": "mcr.microsoft.com/windows/nanoserver", "ARCH": "amd64",
		"GOLANG_VERSION": "1.26", "SOURCE": "registry.example/helper:1", "RUNNERIMAGE": "mcr.microsoft.com/windows/nanoserver:ltsc2022",
		"BASE_IMAGE": "mcr.microsoft.com/windows/servercore:ltsc2022",
	}
	images := func(names string) (files []string) {
		for name := range strings.FieldsSeq(names) {
			files = append(files, "test/images/"+name+"/Dockerfile_windows")
		}
		return files
	}
	helpers := []string{
		"test/images/windows-servercore-cache/Dockerfile", "test/images/windows/powershell-helper/Dockerfile",
		"build/pause/Dockerfile_windows",
	}

	return []judge{
		{
			module: "k8s.io/kubernetes@v1.37.1", args: e2e,
			files: append(images("nginx-new sample-apiserver busybox resource-consumer glibc-dns-testing nginx "+
				"windows/powershell-helper agnhost"), helpers...),
		},
		{
			module: "k8s.io/kubernetes@v1.29.10", args: e2e,
			files: append(images("nginx-new redis sample-apiserver jessie-dnsutils httpd-new busybox resource-consumer nginx "+
				"windows/powershell-helper httpd agnhost"), append(helpers, "cluster/images/etcd/Dockerfile.windows")...),
		},
		{
			module: "k8s.io/kubernetes@v1.20.15", args: e2e,
			files: append(images("echoserver redis sample-apiserver jessie-dnsutils busybox agnhost"), append(helpers,
				"test/images/windows/busybox-helper/Dockerfile")...),
		},
		{module: "sigs.k8s.io/cri-tools@v1.36.0", args: e2e, files: []string{"images/image-test-win/Dockerfile"}},
		{
			module: "github.com/docker/docker@v28.5.2+incompatible",
			files:  []string{"Dockerfile.windows", "contrib/busybox/Dockerfile"},
		},
		{
			module: "github.com/prometheus-community/windows_exporter@v0.27.2", args: e2e,
			files: []string{"Dockerfile", "Dockerfile.cross"},
		},
		{module: "github.com/vmware-tanzu/velero@v1.18.3", args: e2e, files: []string{"Dockerfile-Windows"}},
		{
			module: "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver@v1.28.1", args: e2e, files: []string{"Dockerfile.Windows"},
		},
	}
}

// TestFieldPublicDockerfiles builds public Dockerfiles for Windows as they are published in modules of Go, but that ADD
// asks a server of the test. Files that somebody else makes, as a makefile, a command of RUN or another image, are made
// here. What the commands of RUN do is not asked.
func TestFieldPublicDockerfiles(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("made"))
	}))
	defer web.Close()
	built := 0
	for _, j := range judges() {
		dir := moduleOf(t, j.module)
		for _, name := range j.files {
			if err := j.build(t, dir, name, web.URL); err != nil {
				t.Errorf("%s, %s: %v", j.module, name, err)
				continue
			}
			built++
		}
	}

	const said = 43
	if built != said {
		t.Errorf("%d Dockerfiles are built, and docs/guide/images.md says %d", built, said)
	}
}

// moduleOf returns the folder of a module's files.
func moduleOf(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir() // of no module
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if wrong := json.Unmarshal(out, &got); err != nil || wrong != nil {
		t.Fatalf("download %s: %v, %v: %s", module, err, wrong, out)
	}
	return got.Dir
}

// mostMissing bounds how many files of a Dockerfile are made.
const mostMissing = 60

// build builds a Dockerfile of the module, and makes what it misses.
func (j judge) build(t *testing.T, dir, name, web string) error {
	t.Helper()
	files := map[string]string{}
	context := filepath.Dir(name)
	if strings.HasPrefix(name, "cluster/") || !strings.Contains(name, "/") {
		context = "."
	}

	bases := &anyBase{files: map[string]string{}}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	files["Dockerfile"] = addresses.ReplaceAllString(string(text), "${1}"+web+"/")
	j.copySmall(t, filepath.Join(dir, context), files)

	for range mostMissing {
		c := commands{files: bases.layer()}
		_, err = try(t, files, func(o *dockerfile.Options) {
			c.in(o)
			o.Args, o.Base = j.args, bases.find
		})
		if err == nil || !bases.make(err, files) {
			return err
		}
	}

	return err
}

// addresses are those of ADD.
var addresses = regexp.MustCompile(`(?m)^(ADD (?:--\S+ )*)https?://`)

// copySmall puts the small files of a context that lie in no folder into a build's.
func (j judge) copySmall(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		const small = 64 << 10
		_, made := files[e.Name()]
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > small || made || e.Name() == ".dockerignore" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
}

// anyBase has every image.
type anyBase struct{ files map[string]string }

func (b *anyBase) find(_ context.Context, ref, system string) (dockerfile.Base, error) {
	if spec, files, ok := image.StandIn(ref); ok && system == imagebuild.Windows {
		all := maps.Clone(b.files)
		maps.Copy(all, files)
		return dockerfile.Base{Spec: spec, Files: all}, nil
	}
	if system == imagebuild.Linux {
		return b.linux()
	}
	if strings.Contains(ref, "golang") || strings.Contains(ref, "alpine") || strings.Contains(ref, "debian") {
		return dockerfile.Base{}, fs.ErrNotExist // these are for Linux
	}
	return dockerfile.Base{Spec: imagebuild.Spec{OSVersions: []string{"ltsc2022"}}, Files: b.files}, nil
}

// linux is an image for Linux.
func (b *anyBase) linux() (dockerfile.Base, error) {
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	for name, data := range b.files {
		head := &tar.Header{
			Name: name,
			Mode: 0o755,
			Size: int64(len(data)),
		}
		if err := archive.WriteHeader(head); err != nil {
			return dockerfile.Base{}, err
		}
		if _, err := archive.Write([]byte(data)); err != nil {
			return dockerfile.Base{}, err
		}
	}

	if err := archive.Close(); err != nil {
		return dockerfile.Base{}, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(open)
	if err != nil {
		return dockerfile.Base{}, err
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64"})
	if err == nil {
		img, err = mutate.AppendLayers(img, layer)
	}
	return dockerfile.Base{Image: img}, err
}

// layer is what a command leaves: all that was missing in a stage.
func (b *anyBase) layer() (files []imagebuild.File) {
	for name, text := range b.files {
		files = append(files, imagebuild.File{
			Name: name,
			Data: []byte(text),
			Size: int64(len(text)),
		})
	}
	return files
}

// missing is what an error says of a file that is not there.
var missing = regexp.MustCompile(`"([^"]+)" is not in the (folder of the build|stage|image)`)

// make makes a file that is missing, and reports whether it has.
func (b *anyBase) make(err error, files map[string]string) bool {
	found := missing.FindStringSubmatch(err.Error())
	if found == nil {
		return false
	}

	name := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(found[1], "C:"), "/"), "*", "x")
	name = strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/")
	to := b.files
	if found[2] == "folder of the build" {
		to = files
	}
	if name == "" {
		return false
	}
	if !strings.Contains(filepath.Base(name), ".") {
		name += "/made" // it is a folder
	}
	if to[name] != "" {
		return false
	}
	to[name] = "made"
	return true
}
