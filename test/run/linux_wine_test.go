//go:build wine

package run

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/linuxrun"
)

// linuxBase pushes an image for Linux of this machine's own programs, and of more files, to a registry of the test's,
// and returns its reference.
func linuxBase(t *testing.T, more map[string]string) string {
	t.Helper()
	silent := registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))
	web := httptest.NewServer(registry.New(silent))
	t.Cleanup(web.Close)
	ref := strings.TrimPrefix(web.URL, "http://") + "/linux:1"

	var text bytes.Buffer
	w := tar.NewWriter(&text)
	add := func(h tar.Header, bytes []byte) {
		t.Helper()
		h.Size, h.Mode = int64(len(bytes)), 0o755
		err := w.WriteHeader(&h)
		if err == nil {
			_, err = w.Write(bytes)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	for _, dir := range []string{"usr", "usr/bin", "usr/lib", "usr/lib64", "etc", "tmp", "root", "home", "run"} {
		add(tar.Header{Name: dir + "/", Typeflag: tar.TypeDir}, nil)
	}

	add(tar.Header{
		Name:     "home/dev",
		Typeflag: tar.TypeDir,
		Uid:      1000,
		Gid:      1001,
	}, nil)

	for _, link := range []string{"bin", "lib", "lib64"} {
		add(tar.Header{
			Name:     link,
			Typeflag: tar.TypeSymlink,
			Linkname: "usr/" + link,
		}, nil)
	}

	add(tar.Header{
		Name:     "etc/nowhere",
		Typeflag: tar.TypeSymlink,
		Linkname: "/not/there",
	}, nil)

	files := map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\ndev:x:1000:1001::/home/dev:/bin/sh\n",
		"etc/group":  "root:x:0:\nstaff:x:1001:\n",
		"etc/old":    "old",
	}

	const programs = "sh cat id ls mkdir rm cp chmod chown stat sleep ln touch sha256sum dd env"
	for program := range strings.FieldsSeq(programs) {
		for _, file := range withLibraries(t, "/bin/"+program) {
			bytes, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			at := strings.TrimPrefix(file, "/")
			if !strings.HasPrefix(at, "usr/") {
				at = "usr/" + at
			}
			files[at] = string(bytes)
		}
	}

	maps.Copy(files, more)
	for at, bytes := range files {
		add(tar.Header{Name: at, Typeflag: tar.TypeReg}, []byte(bytes))
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text.Bytes())), nil
	})
	if err != nil {
		t.Fatal(err)
	}

	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS:           "linux",
		Architecture: "amd64",
		Config:       v1.Config{Env: []string{"PATH=/usr/local/go/bin:/usr/bin:/bin", "FROM_IT=yes"}},
	})
	if err == nil {
		img, err = mutate.AppendLayers(img, layer)
	}

	named, nameErr := name.ParseReference(ref)
	if err = errors.Join(err, nameErr); err == nil {
		err = remote.Write(named, img)
	}
	if err != nil {
		t.Fatal(err)
	}

	return ref
}

// withLibraries returns a program of the machine and what it is linked with.
func withLibraries(t *testing.T, program string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ldd", program).Output()
	if err != nil {
		t.Fatalf("ldd %s: %v", program, err)
	}
	return append(regexp.MustCompile(`/\S+\.so\S*`).FindAllString(string(out), -1), program)
}

const linuxStages = `FROM BASE AS build
ARG TARGETOS
WORKDIR /src
COPY --chmod=0750 --chown=dev tool.sh bin/
RUN ./bin/tool.sh "$TARGETOS" > /out.txt && cat /out.txt && rm /etc/old /etc/nowhere && ln -s ../out.txt /src/link
RUN <<END
test ! -e /etc/old
test ! -L /etc/nowhere
stat -c '%u:%g %a' bin/tool.sh
id -u
cat /proc/self/uid_map
echo instances $(cat /proc/sys/user/max_inotify_instances)
cat /proc/self/limits /proc/mounts
test ! -e /sys/kernel
cat /etc/resolv.conf
END
RUN echo f > /was && ln -s loop /loop
RUN rm /was /loop && mkdir /was /loop && echo x > /was/x
USER dev
RUN id -un && touch ~/mine && chmod 600 ~/mine && test ! -w /etc/passwd
USER root
ENV LAST=a
SHELL ["/bin/sh", "-ec"]
RUN --mount=type=cache,target=/cache --mount=type=secret,id=token --mount=type=bind,target=/ctx \
  touch /cache/x /run/left /tmp/left; cat /run/secrets/token; cat /ctx/tool.sh > /src/copy; \
  stat -c '%u %n' /cache /ctx /ctx/tool.sh /home/dev/mine; echo $LAST-$FROM_IT
FROM build AS second
RUN test -e /was/x && test -d /loop && test -e /tmp/left && test -e /run/left && test ! -e /cache/x && \
  test ! -e /ctx/tool.sh && ls / > /list
FROM mcr.microsoft.com/windows/nanoserver:ltsc2022
COPY --from=build /src/link C:\of-linux.txt
COPY --from=second /list /src/copy /home/dev/mine C:/
CMD type C:\of-linux.txt
`

// TestBuildLinuxStages: the stages for Linux that a Dockerfile for Windows builds with run their commands, each on what
// those before have made, as nobody of the machine, and what they have made is in the image for Windows.
func TestBuildLinuxStages(t *testing.T) {
	b := builder{theRoom(t), filepath.Join(t.TempDir(), "cache")}
	base := linuxBase(t, nil)
	dir := folderWith(t, "")
	for name, text := range map[string]string{
		"Dockerfile": strings.ReplaceAll(linuxStages, "BASE", base),
		"tool.sh":    "#!/bin/sh\necho made for $1 by $(id -u)\n",
		"token":      "s3cr3t",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	args := []string{
		"image", "build", "--run", "-t", "mullion.local/of-linux:1", dir, "--secret", "id=token,src=" + filepath.Join(dir, "token"),
	}

	out := b.must(t, args...)
	for _, want := range []string{
		base + " is not there for Windows, so this stage is for Linux", "made for windows by 0\n", "1000:1000 750\n",
		"0 1912668160 65536", "instances 8\n",
		"Max pending signals 8192 8192", "Max msgqueue size 0 0", ",max=64 0 0", "nameserver ", " dev\n", "s3cr3t", "0 /cache\n", " 0 /ctx\n", " 0 /ctx/tool.sh\n",
		" 1000 /home/dev/mine\n", "a-yes\n",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " ")+out, strings.TrimSuffix(want, "\n")) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}

	if got := b.room.run(t, "", "mullion.local/of-linux:1"); !strings.HasPrefix(got.out, "made for windows by 0") {
		t.Errorf("%+v", got)
	}

	began := time.Now()
	if out := b.must(t, args...); strings.Contains(out, "DONE") {
		t.Errorf("again:\n%s", out)
	}
	t.Logf("again: %v", time.Since(began))
	if found, err := filepath.Glob(filepath.Join(b.cache, "build/work/*")); err != nil || len(found) > 0 {
		t.Errorf("left %v, %v", found, err)
	}

	err := filepath.WalkDir(filepath.Join(b.cache, "build/folders"), func(_ string, e fs.DirEntry, err error) error {
		if info, infoErr := e.Info(); infoErr == nil && e.Name() == "x" {
			if owner := info.Sys().(*syscall.Stat_t).Uid; owner != linuxrun.Owner {
				t.Errorf("a command of a build has written as user %d of the machine", owner)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestBuildLinuxFails: a command that fails, cannot be started, or whose build is killed, ends the build with its line,
// and leaves nothing.
func TestBuildLinuxFails(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	b := builder{theRoom(t), filepath.Join(t.TempDir(), "cache")}
	base := linuxBase(t, nil)
	for run, want := range map[string]string{
		"RUN echo last words; exit 7":                 "Dockerfile:3: RUN echo last words; exit 7: the command ended with exit code 7",
		`RUN ["/no/such"]`:                            "no such file or directory",
		"USER nobody-here\nRUN id":                    `Dockerfile:4: RUN id: find user "nobody-here": unable to find user nobody-here`,
		"RUN --network=none cat /no":                  "exit code 1",
		"RUN dd if=/dev/zero of=/dev/sda || exit 3":   "exit code 3",
		"RUN dd if=/dev/null of=/big bs=1 seek=8T":    "it is more than 1000000 files or 64 GiB",
		"RUN --mount=type=bind,from=none,target=/x :": "Dockerfile:3",
	} {
		dir := folderWith(t, "FROM --platform=linux/amd64 "+base+" AS b\n"+run+"\nFROM scratch\nCOPY --from=b /etc/old /\n")
		if out, err := b.run(t, "image", "build", "--run", "-t", "mullion.local/no:1", dir); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v: %s, want %q", run, err, out, want)
		}
	}

	dir := folderWith(t, "FROM --platform=linux/amd64 "+base+" AS b\nRUN echo begun; sleep 600\nFROM scratch\nCOPY --from=b /etc/old /\n")
	cmd := b.command(t.Context(), "image", "build", "--run", "-t", "mullion.local/no:1", dir)
	progress, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}

	text := make([]byte, 1<<16)
	for said := ""; !strings.Contains(said, " begun"); {
		n, err := progress.Read(text)
		if said += string(text[:n]); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	sleeps := func(args []string) bool { return strings.Join(args, " ") == "sleep 600" }
	if !within(20*time.Second, func() bool { return b.room.process(sleeps) == 0 }) {
		t.Error("a command outlives its build")
	}
}
