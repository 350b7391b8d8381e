//go:build wine

package run

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
)

// buildFile makes and deletes files, and changes the machine's and the user's registry, by cmd and by PowerShell.
const buildFile = "# escape=`\n" + `FROM mcr.microsoft.com/windows/servercore:ltsc2022
ARG VERSION=3
WORKDIR C:\app
COPY old.txt .
RUN echo built %VERSION%.> built.txt & del old.txt & setx /M TOOL C:\tools
RUN reg add HKLM\Software\Own /v A /t REG_SZ /d "x y" /f & reg delete HKLM\Software\Own /v B /f & setx MINE here
SHELL ["powershell", "-Command"]
RUN if ($env:TOOL -ne 'C:\tools' -or $env:MINE -ne 'here') { exit 3 }; Set-Content C:\data.txt 'from powershell'
SHELL ["cmd", "/S", "/C"]
RUN if exist old.txt exit 4
CMD type built.txt & type C:\data.txt & echo %TOOL% %MINE% & reg query HKLM\Software\Own & if exist old.txt echo old
`

// TestBuild builds an image whose steps run programs, and runs it: each step sees what those before have changed.
func TestBuild(t *testing.T) {
	r := theRoom(t)
	dir, archive := t.TempDir(), filepath.Join(t.TempDir(), "image.tar")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	mullion := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "mullion"), append([]string{"--data-dir", r.data}, args...)...)
		cmd.Env = append(os.Environ(), "MULLION_CACHE_DIR="+filepath.Join(r.dir, "cache"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	write("Dockerfile", buildFile)
	write("old.txt", "old")

	if out, err := mullion("image", "build", dir, "-t", "mullion.local/built:1", "-o", archive); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := mullion("image", "load", "--run", archive); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	got := r.run(t, "", "mullion.local/built:1")
	const want = "built 3. \nfrom powershell\nC:\\tools here \n\nHKEY_LOCAL_MACHINE\\Software\\Own\n    A    REG_SZ    x y\n\n"
	if got.code != 0 || got.out != want {
		t.Errorf("%+v, want %q", got, want)
	}

	out, err := mullion("image", "build", dir, "-t", "mullion.local/built:1", "-o", archive)
	if err != nil || strings.Contains(out, "DONE") || !strings.Contains(out, "#6 CACHED") {
		t.Errorf("again: %v: %s", err, out)
	}

	write("Dockerfile", strings.Replace(buildFile, "if exist old.txt exit 4", "exit 4", 1))
	out, err = mullion("image", "build", dir, "-t", "mullion.local/built:2", "-o", archive)
	if err == nil || !strings.Contains(out, "Dockerfile:11: RUN exit 4: the command ended with exit code 4") {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(r.data, "build-*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// mountFile has what Docker's documentation shows of --mount, in Windows' paths.
//
//nolint:lll // a Dockerfile
const mountFile = "# escape=`\n" + `FROM mcr.microsoft.com/windows/servercore:ltsc2022 AS tools
COPY tool.cmd C:\tools\
FROM mcr.microsoft.com/windows/servercore:ltsc2022
RUN --mount=type=cache,target=C:\cache echo line>> C:\cache\lines.txt & find /c "line" C:\cache\lines.txt
RUN --mount=type=cache,target=C:\cache --mount=type=secret,id=token --mount=type=secret,id=other,env=OTHER ` + "`" + `
    echo line>> C:\cache\lines.txt & find /c "line" C:\cache\lines.txt & type C:\run\secrets\token & echo. & echo is-%OTHER%
RUN --mount=target=C:\src --mount=from=tools,source=/tools,target=C:\tools,rw --mount=type=tmpfs,target=C:\scratch ` + "`" + `
    type C:\src\sub\a.txt > C:\a.txt & C:\tools\tool.cmd & echo x> C:\tools\new & echo y> C:\scratch\y & echo z> C:\src\z || exit 0
USER ContainerUser
RUN --mount=type=cache,target=C:\cache echo line>> C:\cache\user.txt & find /c "line" C:\cache\user.txt
CMD type C:\a.txt & dir /b C:\cache C:\tools C:\scratch C:\src C:\run\secrets
`

// TestBuildMounts: caches outlive a step and a build, secrets and copies are in no layer, and nothing of the machine
// changes.
func TestBuildMounts(t *testing.T) {
	r := theRoom(t)
	dir, archive := t.TempDir(), filepath.Join(t.TempDir(), "image.tar")
	cache := filepath.Join(t.TempDir(), "cache")
	for name, text := range map[string]string{
		"Dockerfile": mountFile, "sub/a.txt": "of the folder", "tool.cmd": "@echo of the tool", "token": "s3cr3t-file",
	} {
		file := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}

	build := func(more ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		args := append([]string{
			"--data-dir", r.data, "image", "build", dir, "-t", "mullion.local/mounts:1", "-o", archive,
			"--secret", "id=token,src=" + filepath.Join(dir, "token"), "--secret", "id=other,env=OTHER",
		}, more...)

		cmd := exec.CommandContext(ctx, filepath.Join(r.bin, "mullion"), args...)
		cmd.Env = append(os.Environ(), "MULLION_CACHE_DIR="+cache, "OTHER=s3cr3t-variable")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}

		return string(out)
	}

	out := build()
	for _, want := range []string{"LINES.TXT: 1", "LINES.TXT: 2", "USER.TXT: 1", "s3cr3t-file", "is-s3cr3t-variable", "of the tool"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}

	if out := build(); strings.Contains(out, "DONE") || strings.Contains(out, "s3cr3t") {
		t.Errorf("again:\n%s", out)
	}
	if out := build("--no-cache"); !strings.Contains(out, "LINES.TXT: 4") {
		t.Errorf("the cache of a mount is for every build:\n%s", out)
	}

	text, err := os.ReadFile(archive)
	if err != nil || strings.Contains(string(text), "s3cr3t") {
		t.Errorf("a secret is in the image: %v", err)
	}
	for _, name := range []string{"sub/z", "z", "new"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("a command has written %s to the machine", name)
		}
	}

	for _, pattern := range []string{filepath.Join(cache, "build/work/*"), "/run/mullion-build-*/*"} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}

	load := exec.CommandContext(t.Context(), filepath.Join(r.bin, "mullion"), "--data-dir", r.data, "image", "load", "--run", archive)
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := r.run(t, "", "mullion.local/mounts:1")
	if !strings.HasPrefix(got.out, "of the folder") || strings.Contains(got.out, "lines.txt") ||
		strings.Contains(got.out, "tool.cmd") || strings.Contains(got.out, "token") {
		t.Errorf("%+v", got)
	}
}

// builder runs mullion with a cache of its own.
type builder struct {
	room  *room
	cache string
}

func (b builder) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(b.room.bin, "mullion"), append([]string{"--data-dir", b.room.data}, args...)...)
	cmd.Env = append(os.Environ(), "MULLION_CACHE_DIR="+b.cache)
	return cmd
}

func (b builder) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := b.command(ctx, args...).CombinedOutput()
	return string(out), err
}

func (b builder) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.run(t, args...)
	if err != nil {
		t.Fatalf("mullion %v: %v: %s", args, err, out)
	}
	return out
}

// folderWith makes a folder with a Dockerfile.
func folderWith(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("# escape=`\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestBuildOnImages: an image that was built is the base of the next, from the store and from a registry, to which it
// was pushed under another name.
func TestBuildOnImages(t *testing.T) {
	b := builder{theRoom(t), filepath.Join(t.TempDir(), "cache")}
	silent := registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))
	web := httptest.NewServer(registry.New(silent))
	defer web.Close()
	pushed := strings.TrimPrefix(web.URL, "http://") + "/team/app:1"

	b.must(t, "image", "build", "--run", "-t", "mullion.local/base:1", folderWith(t,
		"FROM mcr.microsoft.com/windows/servercore:ltsc2022\nENV FROM_BASE=yes\nRUN echo base> C:\\base.txt & setx /M KEPT here\n"))
	b.must(t, "image", "build", "--run", "-t", "mullion.local/app:1", folderWith(t,
		"FROM mullion.local/base:1\nRUN type C:\\base.txt > C:\\app.txt & echo %KEPT%-%FROM_BASE%>> C:\\app.txt\nCMD type C:\\app.txt"))
	if got := b.room.run(t, "", "mullion.local/app:1"); strings.Join(strings.Fields(got.out), " ") != "base here-yes" {
		t.Errorf("%+v", got)
	}

	b.must(t, "image", "tag", "--run", "mullion.local/app:1", pushed)
	if out := b.must(t, "image", "push", "--run", pushed); !strings.Contains(out, "pushed "+pushed+"@sha256:") {
		t.Error(out)
	}
	b.must(t, "image", "build", "--pull", "--run", "-t", "mullion.local/third:1", folderWith(t,
		"FROM "+pushed+"\nRUN copy C:\\app.txt C:\\third.txt\nCMD type C:\\third.txt"))
	if got := b.room.run(t, "", "mullion.local/third:1"); !strings.Contains(got.out, "here-yes") {
		t.Errorf("%+v", got)
	}

	archive := filepath.Join(t.TempDir(), "app.tar")
	b.must(t, "image", "save", "--run", "mullion.local/third:1", "-o", archive)
	b.must(t, "image", "load", "--run", archive)
	if out, err := b.run(t, "image", "push", "--run", "mullion.local/absent:1"); err == nil ||
		!strings.Contains(out, "mullion.local/absent:1") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestBuildKilled: of a build that was killed nothing is kept but whole steps, and the next one makes the rest.
func TestBuildKilled(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	b := builder{theRoom(t), filepath.Join(t.TempDir(), "cache")}
	dir := folderWith(t, "FROM mcr.microsoft.com/windows/servercore:ltsc2022\nRUN echo one> C:\\one.txt\n"+
		"RUN echo two> C:\\two.txt & ping -n 4 127.0.0.1\nCMD type C:\\one.txt C:\\two.txt")
	args := []string{"image", "build", "--run", "-t", "mullion.local/killed:1", dir}

	for _, after := range []string{`^#2 DONE`, `^#3 \[3/3\]`, `^#3 [0-9]`} {
		cmd := b.command(t.Context(), append(args, "--no-cache")...)
		progress, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		for lines := bufio.NewScanner(progress); lines.Scan(); {
			if regexp.MustCompile(after).MatchString(lines.Text()) {
				break
			}
		}

		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}

	out := b.must(t, args...)
	if !strings.Contains(out, "#2 CACHED") || !strings.Contains(out, "#3 DONE") {
		t.Errorf("after the kills:\n%s", out)
	}
	if got := b.room.run(t, "", "mullion.local/killed:1"); !strings.Contains(got.out, "one") || !strings.Contains(got.out, "two") {
		t.Errorf("%+v", got)
	}

	for _, pattern := range []string{filepath.Join(b.cache, "build/work/*"), filepath.Join(b.room.data, "layer-*")} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}

// TestBuildDiskFull: a step for which there is no room ends the build with its line, and leaves nothing.
func TestBuildDiskFull(t *testing.T) {
	b := builder{theRoom(t), filepath.Join(t.TempDir(), "cache")}
	if err := os.Mkdir(b.cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := b.room.end(); err != nil { // the next engine sees what is mounted
		t.Fatal(err)
	}

	if err := unix.Mount("small", b.cache, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(b.room.end(), unix.Unmount(b.cache, 0)); err != nil {
			t.Error(err)
		}
	}()

	dir := folderWith(t, "FROM mcr.microsoft.com/windows/servercore:ltsc2022\nRUN echo one> C:\\one.txt\n"+
		"SHELL [\"powershell\", \"-Command\"]\n"+
		"RUN [IO.File]::WriteAllBytes('C:\\large', (New-Object byte[] 20000000))")
	out, err := b.run(t, "image", "build", "--run", "-t", "mullion.local/full:1", dir)
	if err == nil || !strings.Contains(out, "Dockerfile:5: RUN") {
		t.Errorf("%v: %s", err, out)
	}

	if left, err := filepath.Glob(filepath.Join(b.cache, "build/work/*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
