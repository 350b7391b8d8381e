//go:build kernel

package image

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/namespaces"

	store "mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/winver"
)

// Versions of Windows, as the images that mullion builds name them.
var (
	v2019 = versionOf("ltsc2019")
	v2022 = versionOf("ltsc2022")
	v2025 = versionOf("ltsc2025")
)

func versionOf(name string) string {
	b, err := winver.Lookup(name)
	if err != nil {
		panic(err)
	}
	return b.Version.String()
}

// systemFiles makes the C: drive of a system layer as Wine spells it.
func systemFiles(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, p := range []string{
		"windows/system32/ntdll.dll", "windows/system32/kernel32.dll",
		"windows/system32/vcruntime140.dll", "users/Public/x",
	} {
		file := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("wine"), 0o644); err != nil {
			tb.Fatal(err)
		}
	}

	return dir
}

func open(tb testing.TB, c *client.Client, version string) *store.Store {
	tb.Helper()
	s, err := store.New(c, namespace, store.Config{
		OSVersion:   version,
		Handlers:    store.DefaultHandlers(),
		SystemFiles: systemFiles(tb),
		Owner:       100000,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// leftovers lists all content, half-fetched blobs, snapshots and references.
func leftovers(t *testing.T, c *client.Client) []string {
	t.Helper()
	ctx := namespaces.WithNamespace(t.Context(), namespace)
	var out []string
	if err := c.ContentStore().Walk(ctx, func(i content.Info) error {
		out = append(out, "blob "+i.Digest.String())
		return nil
	}); err != nil {
		t.Fatal(err)
	}

	half, err := c.ContentStore().ListStatuses(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range half {
		out = append(out, "half "+s.Ref)
	}

	out = append(out, snapshotNames(t, c)...)
	images, err := c.ImageService().List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images {
		out = append(out, "image "+i.Name)
	}

	leases, err := c.LeasesService().List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases {
		out = append(out, "lease "+l.ID)
	}

	slices.Sort(out)
	return out
}

func snapshotNames(t *testing.T, c *client.Client) []string {
	t.Helper()
	ctx := namespaces.WithNamespace(t.Context(), namespace)
	var out []string
	if err := c.SnapshotService("overlayfs").Walk(ctx, func(_ context.Context, i snapshots.Info) error {
		out = append(out, "snapshot "+i.Name)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// mountImage mounts what a container of the image sees and returns the folder.
func mountImage(t *testing.T, c *client.Client, chain string) string {
	t.Helper()
	ctx := namespaces.WithNamespace(t.Context(), namespace)
	sn := c.SnapshotService("overlayfs")
	dir := t.TempDir()
	key := "view-" + strings.ReplaceAll(dir, "/", "-")
	mounts, err := sn.View(ctx, key, chain)
	if err != nil {
		t.Fatal(err)
	}

	if err := mount.All(mounts, dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = mount.UnmountAll(dir, 0)
		_ = sn.Remove(context.WithoutCancel(ctx), key)
	})
	return dir
}

func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if rel == "." {
			return nil
		}

		info, err := d.Info()
		if err != nil {
			return err
		}
		line := info.Mode().String() + " " + rel
		if d.Type()&fs.ModeSymlink != 0 {
			to, _ := os.Readlink(p)
			line += " -> " + to
		}

		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}
