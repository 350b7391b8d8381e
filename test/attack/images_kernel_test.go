//go:build kernel

package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/image"
)

// readers are who reads images: the command line's store, a node's, and what lies around them.
type readers struct {
	c       *client.Client
	root    string
	machine *image.Store
	node    *image.Store
	old     *image.Store // of a node of an older build
	victim  string
	asked   atomic.Int64 // how often an image's foreign address was asked
}

func newReaders(t *testing.T) *readers {
	t.Helper()
	r := &readers{root: t.TempDir(), victim: newVictim(t)}
	if err := unix.Mount("tmpfs", r.root, "tmpfs", 0, "size=2g"); err != nil { // for the test's speed
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = unix.Unmount(r.root, unix.MNT_DETACH) })
	r.c = startContainerd(t, r.root)
	system := t.TempDir()
	if err := os.MkdirAll(filepath.Join(system, "windows/system32"), 0o755); err != nil {
		t.Fatal(err)
	}

	var err error
	if r.machine, err = image.New(r.c, containerdNamespace, image.Config{}); err != nil {
		t.Fatal(err)
	}

	for version, node := range map[string]**image.Store{build2022: &r.node, build2019: &r.old} {
		if *node, err = image.New(r.c, containerdNamespace, image.Config{
			OSVersion: version, SystemFiles: system, Owner: owner,
		}); err != nil {
			t.Fatal(err)
		}
	}

	return r
}

// state returns what no image may change: the victim, and what containerd has.
func (r *readers) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	ctx := t.Context()
	l, err := r.c.LeasesService().Create(ctx, leases.WithRandomID())
	if err == nil { // what nothing refers to is collected when a lease goes
		err = r.c.LeasesService().Delete(ctx, l, leases.SynchronousDelete)
	}
	if err != nil {
		t.Fatal(err)
	}

	err = r.c.ContentStore().Walk(ctx, func(i content.Info) error {
		fmt.Fprintln(&all, i.Digest)
		return nil
	})

	err = errors.Join(err, r.c.SnapshotService("overlayfs").Walk(ctx, func(_ context.Context, i snapshots.Info) error {
		fmt.Fprintln(&all, i.Name)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}

	return look(t, r.victim) + all.String()
}

// harm returns what is in the unpacked images.
func (r *readers) harm(t *testing.T) []string {
	t.Helper()
	trees, err := filepath.Glob(filepath.Join(r.root, "root/io.containerd.snapshotter.v1.overlayfs/snapshots/*/fs"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, tree := range trees {
		all = append(all, harmIn(t, tree, owner, owner+image.ContainerUserID)...)
	}
	return all
}

// load has an archive loaded by the command line and unpacked by a node.
func (r *readers) load(ctx context.Context, archive []byte) error {
	loaded, err := r.machine.Load(ctx, bytes.NewReader(archive), image.LoadOptions{})
	if err != nil {
		return err
	}
	if _, err := r.machine.Tags(ctx); err != nil {
		return err
	}
	_, err = r.node.Get(ctx, loaded[0].Ref)
	return err
}

// bounds of one attack. The time is for a machine that has other work too.
const (
	mostMemory = 384 << 20
	mostTime   = 2 * time.Minute
)

// attack has the image come in one way, and judges what came of it: an error, and the harm.
func (r *readers) attack(t *testing.T, words string, come func(ctx context.Context) error) (harm []string) {
	t.Helper()
	before := r.state(t)
	debug.FreeOSMemory()
	peak(t)
	resident := peak(t)
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()

	err := come(ctx)
	if grown := peak(t) - resident; grown > mostMemory {
		harm = append(harm, fmt.Sprintf("it took %d MiB of memory", grown>>20))
	}

	switch {
	case ctx.Err() != nil:
		harm = append(harm, fmt.Sprintf("it took longer than %v: %v", mostTime, err))
	case words == "" && err != nil:
		harm = append(harm, fmt.Sprintf("it was refused: %v", err))
	case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
		harm = append(harm, fmt.Sprintf("error %v, want %q", err, words))
	case err != nil:
		t.Log(err)
	}

	harm = append(harm, r.harm(t)...)
	for _, s := range []*image.Store{r.node, r.old} {
		if _, err := s.List(t.Context()); err != nil {
			harm = append(harm, fmt.Sprintf("images cannot be listed any more: %v", err))
		}
	}

	list, err := r.machine.List(t.Context())
	if err != nil {
		harm = append(harm, fmt.Sprintf("images cannot be listed any more: %v", err))
	}

	for _, i := range list {
		if !slices.ContainsFunc(i.RepoTags, func(ref string) bool { return strings.Contains(ref, "bystander") }) {
			if err := r.machine.Remove(t.Context(), i.ID); err != nil {
				harm = append(harm, fmt.Sprintf("it cannot be removed: %v", err))
			}
		}
	}

	if after := r.state(t); after != before {
		harm = append(harm, fmt.Sprintf("there was\n%s\nand is\n%s", before, after))
	}
	return harm
}

// TestImages has images attack what reads them, loaded as `mullion image load` does and pulled from a registry.
func TestImages(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	r := newReaders(t)
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { r.asked.Add(1) }))
	t.Cleanup(foreign.Close)
	bystander := forge(t, [][]member{{file("Files/bystander", "b")}}, nil)
	if err := r.load(t.Context(), bystander.archive(t, "mullion.local/bystander:v1")); err != nil {
		t.Fatal(err)
	}

	tried, reached := 0, 0
	count := func(t *testing.T, harm []string) {
		t.Helper()
		tried++
		if len(harm) > 0 {
			reached++
			t.Errorf("it got somewhere:\n%s", strings.Join(harm, "\n"))
		}
	}

	attacks := slices.Concat(layerAttacks(r.victim), liesOfSize(), liesOfParts(foreign.URL), archiveAttacks(r.victim))
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			r.control(t, a)
			forged := forge(t, a.layers, a.lie)
			ref := "mullion.local/" + a.name + ":v1"
			archive := forged.archive(t, ref)
			if a.archive != nil {
				first := plain(t, a.archive)
				archive = append(first[:len(first)-1024], archive...) // without the end of an archive
			}

			count(t, r.attack(t, a.load, func(ctx context.Context) error { return r.load(ctx, archive) }))
			if a.archive != nil || a.pull == slow {
				return
			}
			registry := httptest.NewServer(forged)
			defer registry.Close()

			count(t, r.attack(t, a.pull, func(ctx context.Context) error {
				ref := strings.TrimPrefix(registry.URL, "http://") + "/" + a.name + ":v1"
				_, err := r.node.Pull(ctx, ref, nil, "")
				if _, err := r.old.Pull(ctx, ref, nil, ""); err != nil {
					t.Log(err)
				}
				return err
			}))
		})
	}

	if n := r.asked.Load(); n != 0 {
		t.Errorf("an image's foreign address was asked %d times", n)
	}
	r.foreignControl(t, foreign.URL)
	t.Logf("images: %d of %d attacks of %d images got somewhere", reached, tried, len(attacks))
}

// control checks that an attack is one: it harms who believes it, or the same image is taken without the lie.
func (r *readers) control(t *testing.T, a imageAttack) {
	t.Helper()
	if a.lie == nil {
		area := t.TempDir()
		tree, before := filepath.Join(area, "tree"), look(t, r.victim)
		members := slices.Concat(a.layers...)
		if a.archive != nil {
			members = a.archive
		}

		naively(t, tree, members)
		harm := harmIn(t, tree, owner)
		if look(t, r.victim) == before && len(harm) == 0 {
			t.Error("control: unpacked naively it harms nobody")
		}
		r.heal(t)
		return
	}

	twin := forge(t, a.layers, a.truth)
	if harm := r.attack(t, "", func(ctx context.Context) error {
		return r.load(ctx, twin.archive(t, "mullion.local/"+a.name+":twin"))
	}); len(harm) > 0 {
		t.Errorf("control: the same image without the lie: %s", strings.Join(harm, "\n"))
	}
}

// heal makes the victim anew after a control.
func (r *readers) heal(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(r.victim); err != nil {
		t.Fatal(err)
	}
	fresh := newVictim(t)
	if err := os.Rename(fresh, r.victim); err != nil {
		t.Fatal(err)
	}
}

// foreignControl shows that a client which follows an image's addresses does ask there.
func (r *readers) foreignControl(t *testing.T, address string) {
	t.Helper()
	fetcher, err := docker.NewResolver(docker.ResolverOptions{}).Fetcher(t.Context(), "127.0.0.1:1/a:v1")
	if err != nil {
		t.Fatal(err)
	}

	rc, err := fetcher.Fetch(t.Context(), ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageLayerGzip, Digest: digest.FromString("a"), Size: 1, URLs: []string{address},
	})
	if err == nil {
		_, err = io.ReadAll(rc)
		_ = rc.Close()
	}

	if r.asked.Load() == 0 {
		t.Errorf("control: nobody asks an image's foreign address: %v", err)
	}
}
