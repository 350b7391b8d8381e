package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

func newMachine(t *testing.T) *clitest.Machine {
	t.Helper()
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r)} }
	return m
}

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
		{ID: id, Size: 5_000_000}, // its ID alone names it
	}

	var out strings.Builder
	if err := printImages(&out, list, false); err != nil {
		t.Fatal(err)
	}

	b := "example.com/b@" + id
	pad := func(s string) string { return fmt.Sprintf("%-*s", len(b)+2, s) }
	want := pad("IMAGE") + "ID                   OS VERSION       SIZE\n" +
		pad("example.com/a:v1") + "sha256:0123456789ab  10.0.20348.2762  98.8 MB\n" +
		pad("example.com/a:v2") + "sha256:0123456789ab  10.0.20348.2762  98.8 MB\n" +
		pad("example.com/a@sha256:12") + "sha256:0123456789ab  10.0.20348.2762  98.8 MB\n" +
		pad(b) + "sha256:0123456789ab  linux            1.2 MB\n" +
		pad("<none>") + "sha256:0123456789ab                   5.0 MB\n"

	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestImagesOfNodesThatAreNotThere(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	const missing = `no node "win-9"; there are linux-1, win-1`
	m.Run("image", "ls", "--node", "win-9").Refused(t, exit.NotFound, missing, "")
	m.Run("image", "pull", "example.com/a:b", "--node", "win-9").Refused(t, exit.NotFound, missing, "")
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
		m.Describe(func(c *spec.Cluster) {
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
			got := m.RunIn(ctx, args...)
			got.Has(t, exit.NotReady, "mullion: ", "→ "+who+" "+remedy)
			if got.Out != "" || ctx.Err() != nil {
				t.Errorf("%v: %v, printed %s", args, ctx.Err(), got.Out)
			}
			cancel()
		}
	}
}

// TestPasswordFromStandardInput holds that a password may end with a line, and that no other blank is lost.
func TestPasswordFromStandardInput(t *testing.T) {
	for in, want := range map[string]string{
		"secret": "secret", "secret\n": "secret", "secret\r\n": "secret", " a b \n": " a b ", "two\nlines\n": "two\nlines",
	} {
		a := &commands{Reader: clitest.New(t).Reader(invoke.Env{In: strings.NewReader(in)})}
		auth, err := a.registryAuth("me", true)
		if err != nil || auth.Username != "me" || auth.Password != want {
			t.Errorf("%q: %+v, %v; want %q", in, auth, err, want)
		}
	}
	a := &commands{Reader: clitest.New(t).Reader(invoke.Env{})}
	if auth, err := a.registryAuth("", false); auth != nil || err != nil {
		t.Errorf("nobody: %+v, %v", auth, err)
	}
}

func TestArchiveThatIsNotThere(t *testing.T) {
	m := newMachine(t)
	m.Run("image", "load", filepath.Join(m.Paths.Data, "absent.tar")).Refused(t, exit.Usage,
		"load images: open DATA/absent.tar: no such file or directory",
		"name an archive that is there (docker save, or an OCI layout), or - for standard input")
}

// TestReaderErrors: each kind of refusal has its exit code, and what to do.
func TestReaderErrors(t *testing.T) {
	for kind, code := range map[view.Kind]int{
		view.Busy: exit.NotReady, view.NotFound: exit.NotFound, view.NotWindows: exit.Usage, view.Down: exit.NotReady,
		view.Wrong: exit.Requirement, view.Internal: exit.Internal,
	} {
		m := newMachine(t)
		m.ReadBy(clitest.Answers{"images": clitest.Refuses(kind, "so it is")})
		got := m.Run("image", "ls")
		if got.Code != code || !strings.Contains(got.Err, "so it is") {
			t.Errorf("%s: exit code %d, want %d: %s", kind, got.Code, code, got.Err)
		}
	}
}

func TestReader(t *testing.T) {
	m := newMachine(t)
	m.ReadBy(clitest.Answers{
		"images": func(ask view.Ask, to io.Writer) error {
			_, err := fmt.Fprintf(to, `[{"ID": "sha256:1", "RepoTags": ["app:%s"], "Size": 1000000, "OSVersion": "10.0"}]`,
				ask.Option("node"))
			return err
		},
	})
	m.Run("image", "ls", "--node", "win-1").Has(t, exit.OK, "app:win-1  sha256:1  10.0        1.0 MB")
}
