package image

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/runtime/dockerfile"
)

// TestImageBuildByDockerfile: a folder's Dockerfile is what its image is built by, and no file of the image.
func TestImageBuildByDockerfile(t *testing.T) {
	m := newMachine(t)
	dir := filepath.Join(filepath.Dir(m.Paths.Data), "app")
	out := filepath.Join(filepath.Dir(m.Paths.Data), "app.tar")
	write := func(name, text string) { m.Write(filepath.Join(dir, name), text) }
	build := func(more ...string) clitest.Outcome {
		return m.Run(append([]string{"image", "build", dir, "-t", "mullion.local/app:v1", "-o", out}, more...)...)
	}
	write("app.exe", "MZ")
	write("Dockerfile", "FROM scratch AS one\nARG V=1\nENV V=$V\nCOPY app.exe /\nFROM one\nRUN --network=host setup.exe\n")

	if got := build("--target", "one", "--build-arg", "V=2"); got.Code != exit.OK ||
		!strings.Contains(got.Err, "#1 [one 1/1] COPY app.exe /\n#1 DONE 0.") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}

	if got := build("--target", "one"); got.Code != exit.OK || !strings.Contains(got.Err, "#1 CACHED\n") {
		t.Errorf("again: %+v", got)
	}
	if got := build("--target", "one", "--no-cache"); got.Code != exit.OK || strings.Contains(got.Err, "CACHED") {
		t.Errorf("without the cache: %+v", got)
	}

	build().Has(t, exit.Usage, "mullion: Dockerfile:6: RUN --network=host setup.exe: --network of RUN")
	build("--target", "three").Has(t, exit.Usage, `mullion: Dockerfile has no stage "three", but one`)
	build("--target", "one", "--cmd", "x").Has(t, exit.Usage, "mullion: --cmd is for a folder without a Dockerfile")
	build("--target", "one", "--build-arg", "=x").Has(t, exit.Usage, `mullion: --build-arg "=x": want NAME=VALUE`)
	build("-f", filepath.Join(dir, "absent")).Has(t, exit.Usage, "mullion: read Dockerfile: open TMP/app/absent: no such file")

	write("image.yaml", "{}")
	build().Has(t, exit.Usage, "mullion: \"TMP/app\" has a Dockerfile and an image.yaml: say by -f")
	if got := build("-f", filepath.Join(dir, "image.yaml")); got.Code != exit.OK {
		t.Errorf("by the description: %+v", got)
	}
	build("-f", filepath.Join(dir, "image.yaml"), "--target", "one").Has(t, exit.Usage, "mullion: --target is for a Dockerfile")
}

// TestRootsCacheIsItsOwn: root says what to do about a cache that others can change, as with sudo -E.
func TestRootsCacheIsItsOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's caches are other than their owner's")
	}
	m := newMachine(t)
	dir, cache := filepath.Join(filepath.Dir(m.Paths.Data), "app"), filepath.Join(filepath.Dir(m.Paths.Data), "cache")
	m.Write(filepath.Join(dir, "Dockerfile"), "FROM scratch\nENV V=1\n")
	if err := errors.Join(os.Mkdir(cache, 0o700), os.Chown(cache, 1000, 1000)); err != nil {
		t.Fatal(err)
	}

	got := m.Run("image", "build", dir, "-o", filepath.Join(dir, "app.tar"))
	got.Has(t, exit.Requirement, `mullion: open the cache of builds: folder "TMP/cache": others can change it`)
	if !strings.Contains(got.Err, "unset MULLION_CACHE_DIR") {
		t.Errorf("it does not say what to do: %s", got.Err)
	}
}

// TestWorkFolder: what is large lies where layers do, and nothing of it is left.
func TestWorkFolder(t *testing.T) {
	m := newMachine(t)
	top := filepath.Dir(m.Paths.Data)
	t.Setenv("TMPDIR", filepath.Join(top, "none"))
	if got := m.Run("image", "push", "x.example/y:1"); got.Code != exit.NotFound || strings.Contains(got.Err, "none") {
		t.Errorf("it wants the temporary folder: %+v", got)
	}
	if left, err := os.ReadDir(filepath.Join(top, "cache", "build", "work")); err != nil || len(left) > 0 {
		t.Errorf("there is left %v (%v)", left, err)
	}

	t.Setenv("TMPDIR", top)
	a := &builds{&reader.Reader{Call: &invoke.Call{Env: invoke.Env{Euid: 1000}}}}
	dir, remove, err := a.workFolder(t.Context())
	if err != nil || filepath.Dir(dir) != top {
		t.Fatalf("without a folder of caches it is %q (%v)", dir, err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}

// TestImageBuildSaysNothingOdd: what is in a Dockerfile draws nothing on the terminal, and fills no page.
func TestImageBuildSaysNothingOdd(t *testing.T) {
	m := newMachine(t)
	dir := filepath.Join(filepath.Dir(m.Paths.Data), "app")
	long := strings.Repeat("\x1b[31m", 1<<12)
	m.Write(filepath.Join(dir, "Dockerfile"), "FROM scratch\nLABEL x=\""+long+"\"\nEXPOSE 1:2"+long)

	got := m.Run("image", "build", dir, "-t", "a:b", "-o", filepath.Join(dir, "x.tar"))
	if all := got.Out + got.Err; got.Code != exit.Usage || strings.Contains(all, "\x1b") || len(all) > 40_000 {
		t.Errorf("exit code %d, %d bytes, %.300q", got.Code, len(all), all)
	}
}

// TestBuildProgress prints what Docker's plain progress does.
func TestBuildProgress(t *testing.T) {
	var out strings.Builder
	at := time.Unix(0, 0)
	p := &buildProgress{
		to:   &out,
		name: "Dockerfile",
		now:  func() time.Time { return at },
	}

	p.say(dockerfile.Event{
		Number: 1,
		Line:   2,
		Step:   "[1/2] FROM a",
	})

	p.say(dockerfile.Event{
		Number: 1,
		Line:   2,
		Ended:  true,
		Cached: true,
	})

	p.say(dockerfile.Event{
		Number: 2,
		Line:   3,
		Step:   "[2/2] RUN b",
	})
	p.say(dockerfile.Event{Line: 3, Warning: "odd"})
	o := p.output(2)
	at = at.Add(1500 * time.Millisecond)
	for _, text := range []string{"one\r\ntw", "o\n\n", "\x1b[2Jend"} {
		if n, err := o.Write([]byte(text)); err != nil || n != len(text) {
			t.Error(n, err)
		}
	}

	o.flush()
	p.say(dockerfile.Event{
		Number: 2,
		Ended:  true,
		Took:   2 * time.Second,
	})

	const want = "#1 [1/2] FROM a\n#1 CACHED\n\n#2 [2/2] RUN b\nwarning: Dockerfile:3: odd\n" +
		"#2 1.500 one\n#2 1.500 two\n#2 1.500 \n#2 1.500 %send\n#2 DONE 2.0s\n\n"
	if got := strings.Replace(out.String(), plaintext.OneLine("\x1b[2J"), "%s", 1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBuildSecrets reads Docker's words, and refuses what is none.
func TestBuildSecrets(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	m := newMachine(t)
	file := filepath.Join(filepath.Dir(m.Paths.Data), "token")
	m.Write(file, "of a file")
	m.Env.Environ = append(m.Env.Environ, "TOKEN=of a variable")
	a := &builds{&reader.Reader{Call: &invoke.Call{Env: m.Env}}}

	for flag, want := range map[string]string{
		"id=x,src=" + file: "of a file", "type=file,id=x,source=" + file: "of a file", "id=x,env=TOKEN": "of a variable",
		"id=x,type=env,src=TOKEN": "of a variable", "id=TOKEN,type=env": "of a variable",
	} {
		got, err := a.buildSecrets([]string{flag})
		if err != nil || len(got) != 1 || (string(got["x"]) != want && string(got["TOKEN"]) != want) {
			t.Errorf("%s: %q, %v", flag, got, err)
		}
	}

	for _, flag := range []string{"", "x", "src=" + file, "id=x,dst=y", "id=x,env=ABSENT", "id=absent", "id=x,src=" + m.Paths.Data} {
		if got, err := a.buildSecrets([]string{flag}); err == nil {
			t.Errorf("%q: %q", flag, got)
		}
	}
}
