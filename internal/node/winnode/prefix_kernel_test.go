//go:build kernel

package winnode

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/node/kubenode"
)

// TestPodsFolder: pods' volumes lie beside the drive and are seen on it, also those of an older host; and they can be
// mounted again and again.
func TestPodsFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	p := &prefix{Config: Config{Config: kubenode.Config{Dir: t.TempDir()}}}
	lower := filepath.Join(p.Dir, "lower")
	older := filepath.Join(p.Dir, "upper", podsFolder, "uid", "volume")
	for _, dir := range []string{lower, older} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	seen := filepath.Join(Prefix(p.Dir), podsFolder)
	for range 2 { // a host that is switched off and on
		if err := p.mount([]string{lower}); err != nil {
			t.Fatal(err)
		}
		if err := p.mount([]string{lower}); err != nil { // an agent that begins anew
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(seen, "uid", "new"), 0o755); err != nil {
			t.Error(err)
		}

		for _, dir := range []string{"uid/volume", "uid/new"} {
			if _, err := os.Stat(filepath.Join(p.Dir, "pods", dir)); err != nil {
				t.Errorf("beside the drive: %v", err)
			}
			if _, err := os.Stat(filepath.Join(seen, dir)); err != nil {
				t.Errorf("on the drive: %v", err)
			}
		}

		for _, at := range []string{seen, Prefix(p.Dir)} {
			if err := unix.Unmount(at, 0); err != nil {
				t.Fatalf("unmount %q: %v", at, err)
			}
		}
	}

	if left, err := os.ReadDir(filepath.Dir(filepath.Dir(older))); err == nil && len(left) > 0 {
		t.Errorf("the drive still has %v", left)
	}
}

// TestPodsFolderBehindALink: a link in the place of the kubelet's folder leads nowhere.
func TestPodsFolderBehindALink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	p := &prefix{Config: Config{Config: kubenode.Config{Dir: t.TempDir()}}}
	lower, elsewhere := filepath.Join(p.Dir, "lower"), t.TempDir()
	lib := filepath.Join(p.Dir, "upper", "Files", "var", "lib")
	for _, dir := range []string{lower, lib} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink(elsewhere, filepath.Join(lib, "kubelet")); err != nil {
		t.Fatal(err)
	}
	if err := p.mount([]string{lower}); err == nil {
		t.Error("it was mounted behind the link")
	}

	_ = unix.Unmount(Prefix(p.Dir), unix.MNT_DETACH)
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("elsewhere there is %v (%v)", left, err)
	}
}
