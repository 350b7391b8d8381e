package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

func TestImageTable(t *testing.T) {
	id := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	linux := image.Info{
		ID:          id,
		RepoDigests: []string{"example.com/b@" + id},
		Size:        1_234_567,
	}

	linux.Spec.OS = spec.Linux
	list := []image.Info{
		{
			ID:          id,
			RepoTags:    []string{"example.com/a:v1", "example.com/a:v2"},
			RepoDigests: []string{"example.com/a@sha256:12"},
			OSVersion:   "10.0.20348.2762",
			Size:        98_760_000,
		},
		linux,
		{ID: id, Size: 5}, // nobody could name it
	}

	var out strings.Builder
	if err := printImages(&out, list); err != nil {
		t.Fatal(err)
	}

	b := "example.com/b@" + id
	pad := func(s string) string { return fmt.Sprintf("%-*s", len(b)+2, s) }
	want := pad("IMAGE") + "ID                   OS VERSION       SIZE\n" +
		pad("example.com/a:v1") + "sha256:0123456789ab  10.0.20348.2762  98.8 MB\n" +
		pad("example.com/a:v2") + "sha256:0123456789ab  10.0.20348.2762  98.8 MB\n" +
		pad("example.com/a@sha256:12") + "sha256:0123456789ab  10.0.20348.2762  98.8 MB\n" +
		pad(b) + "sha256:0123456789ab  linux            1.2 MB\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestImagesOfNodesThatAreNotThere(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	const missing = `no node "win-9"; there are linux-1, win-1`
	m.run("image", "ls", "--node", "win-9").refused(t, ExitNotFound, missing, "")
	m.run("image", "pull", "example.com/a:b", "--node", "win-9").refused(t, ExitNotFound, missing, "")
}

// TestImagesOfAClusterThatIsDown says at once which command brings it back, and not after the ten seconds that
// containerd's client waits.
func TestImagesOfAClusterThatIsDown(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(archive, []byte("no matter"), 0o600); err != nil {
		t.Fatal(err)
	}

	const remedy = "containerd does not answer: see `mullion status`, or bring the cluster back with `mullion up`"
	for system, who := range map[string]string{spec.Windows: "the cluster's", spec.Linux: "the node's"} {
		m := newMachine(t)
		m.describe(func(c *spec.Cluster) {
			for _, n := range c.Nodes {
				if n.OS == system {
					c.Nodes = []spec.Node{n}
				}
			}
		})

		for _, args := range [][]string{
			{"image", "ls"}, {"image", "load", archive}, {"image", "rm", "a:b"}, {"image", "pull", "example.com/a:b"},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			got := m.runIn(ctx, args...)
			got.has(t, ExitNotReady, "mullion: ", "→ "+who+" "+remedy)
			if got.out != "" || ctx.Err() != nil {
				t.Errorf("%v: %v, printed %s", args, ctx.Err(), got.out)
			}
			cancel()
		}
	}
}

func TestImageErrors(t *testing.T) {
	gone := fmt.Errorf("image %q: %w", "a:b", errdefs.ErrNotFound)
	node := fmt.Errorf("look for it: %w", &cluster.NotFoundError{Node: "x"})
	for err, code := range map[error]int{gone: ExitNotFound, node: ExitNotFound, io.ErrUnexpectedEOF: ExitInternal} {
		if got := remedy.NotFound(err); ExitCode(got) != code || got.Error() != err.Error() {
			t.Errorf("%v became %v with %d, want %d", err, got, ExitCode(got), code)
		}
	}
	if got := remedy.NotFound(nil); got != nil {
		t.Errorf("no error became %v", got)
	}
}

// TestPasswordFromStandardInput holds that a password may end with a line, and that no other blank is lost.
func TestPasswordFromStandardInput(t *testing.T) {
	for in, want := range map[string]string{
		"secret": "secret", "secret\n": "secret", "secret\r\n": "secret", " a b \n": " a b ", "two\nlines\n": "two\nlines",
	} {
		auth, err := (&app{Reader: readerOf(Env{In: strings.NewReader(in)}, calls{})}).registryAuth("me", true)
		if err != nil || auth.Username != "me" || auth.Password != want {
			t.Errorf("%q: %+v, %v; want %q", in, auth, err, want)
		}
	}
	if auth, err := (&app{Reader: readerOf(Env{}, calls{})}).registryAuth("", false); auth != nil || err != nil {
		t.Errorf("nobody: %+v, %v", auth, err)
	}
}

func TestImageForNoNodeOfTheCluster(t *testing.T) {
	m := newMachine(t)
	m.describe(func(c *spec.Cluster) { c.Nodes = c.Nodes[:1] }) // the Linux node
	dir := filepath.Join(filepath.Dir(m.paths.Data), "app")
	m.write(filepath.Join(dir, "app.exe"), "MZ")
	m.run("image", "build", dir, "-t", "mullion.local/app:v1").refused(t, ExitNotFound,
		"the cluster has no windows node to load the image for", "write it to a file with --output")
	m.env.Environ = append(m.env.Environ, "SOURCE_DATE_EPOCH=yesterday")
	m.run("image", "build", dir, "-t", "mullion.local/app:v1").has(t, ExitUsage,
		"mullion: read SOURCE_DATE_EPOCH: ", "→ `mullion image build --help` describes image.yaml")
}

func TestArchiveThatIsNotThere(t *testing.T) {
	m := newMachine(t)
	m.run("image", "load", filepath.Join(m.paths.Data, "absent.tar")).refused(t, ExitUsage,
		"load images: open DATA/absent.tar: no such file or directory",
		"name an archive that is there (docker save, or an OCI layout), or - for standard input")
}
