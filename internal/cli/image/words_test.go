package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/exit"
)

// TestBuildDockersWords: flags of `docker build` do what they do there, or are refused.
func TestBuildDockersWords(t *testing.T) {
	m := newMachine(t)
	top := filepath.Dir(m.Paths.Data)
	dir, out := filepath.Join(top, "app"), filepath.Join(top, "app.tar")
	id := filepath.Join(top, "id")
	m.Write(filepath.Join(dir, "Dockerfile"), "FROM scratch\nCOPY app.exe /\n")
	m.Write(filepath.Join(dir, "app.exe"), "MZ")

	got := m.Run("image", "build", "-t", "app:v1", "-q", "--label", "team=web", "--platform", "windows/amd64", "--iidfile", id,
		"--output", "type=oci,dest="+out, dir)
	digest, err := os.ReadFile(id)
	if err != nil || got.Code != exit.OK || got.Err != "" || got.Out != string(digest)+"\n" {
		t.Errorf("%+v, %q, %v", got, digest, err)
	}
	archive, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(archive), `"team":"web"`) {
		t.Errorf("the label is missing: %v", err)
	}

	got = m.Run("image", "build", "-t", "app:v1", "-o", "-", "--progress", "plain", dir)
	if got.Code != exit.OK || !strings.Contains(got.Out, "oci-layout") || !strings.Contains(got.Err, "in standard output") {
		t.Errorf("to standard output: %d, %s", got.Code, got.Err)
	}

	for _, tt := range []struct {
		args, input, said string
		code              int
	}{
		{"- -o " + out, "FROM scratch\nENV A=1\n", "", exit.OK},
		{"-f - -o " + out + " " + dir, "FROM scratch\nCOPY app.exe /b.exe\n", "COPY app.exe /b.exe", exit.OK},
		{"- -o " + out, "FROM scratch\nCOPY app.exe /\n", `"app.exe" is not in the folder of the build`, exit.Usage},
		{"- -o " + out, "a\x00b", "standard input is no Dockerfile", exit.Usage},
		{"- -f x -o " + out, "", "-f names another one", exit.Usage},
		{"--platform windows/arm64 " + dir, "", "is neither windows/amd64 nor linux/amd64", exit.Usage},
		{"--platform linux --os windows " + dir, "", "are not the same", exit.Usage},
		{"--progress fast " + dir, "", "none of auto, plain, quiet", exit.Usage},
		{"--label =x " + dir, "", "want NAME=VALUE", exit.Usage},
		{"--load --run " + dir, "", "leave one of them out", exit.Usage},
		{"-o type=local,dest=" + out + " " + dir, "", "an archive is of the type oci", exit.Usage},
		{"-o type=oci " + dir, "", "want dest=FILE", exit.Usage},
		{"-o type=oci,dest=x,name=y " + dir, "", `"name" is not known here`, exit.Usage},
	} {
		m.Env.In = strings.NewReader(tt.input)
		got := m.Run(append([]string{"image", "build", "-t", "app:v1"}, strings.Fields(tt.args)...)...)
		if got.Code != tt.code || !strings.Contains(got.Err, tt.said) {
			t.Errorf("%s: %+v", tt.args, got)
		}
	}

	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "mullion-input-*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestBuildForNoCluster: what is for a cluster that is not there is refused before it is built, with where else it can
// go.
func TestBuildForNoCluster(t *testing.T) {
	m := newMachine(t)
	m.Env.Euid = 0
	dir := filepath.Join(filepath.Dir(m.Paths.Data), "app")
	m.Write(filepath.Join(dir, "Dockerfile"), "FROM scratch\nCOPY absent.exe /\n")
	m.Run("image", "build", "-t", "app:v1", dir).Has(t, exit.NotFound, "mullion: no cluster in ")
	m.Run("image", "build", "-t", "app:v1", dir).Has(t, exit.NotFound, "→ `--run` puts the image where `mullion run` finds it")
}
