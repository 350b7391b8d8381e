package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
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
		!strings.Contains(got.Err, "[one 3/3] COPY app.exe /\n") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
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
