package emptydirs_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/runtime/emptydirs"
)

// kubelet is a node's C: with the folders of the kubelet.
type kubelet struct{ drive string }

func (k kubelet) path(parts ...string) string {
	return filepath.Join(append([]string{k.drive, "var/lib/kubelet/pods"}, parts...)...)
}

// volume makes a volume of a pod with something in it.
func (k kubelet) volume(t *testing.T, pod, plugin, name string, ready bool) {
	t.Helper()
	dir := k.path(pod, "volumes", plugin, name)
	err := errors.Join(os.MkdirAll(filepath.Join(dir, `..\v`), 0o755),
		os.WriteFile(filepath.Join(dir, `..\v`, "a*b"), nil, 0o644), os.Symlink("/", filepath.Join(dir, "root")))
	if ready {
		state := k.path(pod, "plugins", plugin, name)
		err = errors.Join(err, os.MkdirAll(state, 0o755), os.WriteFile(filepath.Join(state, "ready"), nil, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (k kubelet) entries(t *testing.T, pod, plugin, name string) int {
	t.Helper()
	entries, err := os.ReadDir(k.path(pod, "volumes", plugin, name))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

const emptyDir = "kubernetes.io~empty-dir"

func TestSweep(t *testing.T) {
	k := kubelet{t.TempDir()}
	k.volume(t, "gone", emptyDir, "v", false)
	k.volume(t, "gone", emptyDir, "still-ready", true)
	k.volume(t, "gone", "kubernetes.io~csi", "v", false)
	k.volume(t, "gone", "kubernetes.io~projected", "v", false)
	k.volume(t, "runs", emptyDir, "v", false)
	k.volume(t, "linked", emptyDir, "v", false)

	// A volume that is a link, as the kubelet has it for one that is elsewhere.
	if err := os.Symlink(k.path("gone", "volumes", "kubernetes.io~csi", "v"), k.path("linked", "volumes", emptyDir, "link")); err != nil {
		t.Fatal(err)
	}

	held := map[string]int{}
	s := emptydirs.Sweeper{
		Drive: k.drive,
		Hold: func(pod string) (func(), bool) {
			held[pod]++
			return func() { held[pod]-- }, pod != "runs"
		},
		Log: slog.New(slog.DiscardHandler),
	}

	n, err := s.Sweep(t.Context())
	if n != 6 || err == nil { // the error is the link's
		t.Errorf("%d entries, %v; want 6 and an error", n, err)
	}

	for _, v := range []struct {
		pod, plugin, name string
		want              int
	}{
		{"gone", emptyDir, "v", 0},
		{"gone", emptyDir, "still-ready", 2},
		{"gone", "kubernetes.io~csi", "v", 2},
		{"gone", "kubernetes.io~projected", "v", 2},
		{"runs", emptyDir, "v", 2},
		{"linked", emptyDir, "v", 0},
	} {
		if got := k.entries(t, v.pod, v.plugin, v.name); got != v.want {
			t.Errorf("%s %s %s: %d entries, want %d", v.pod, v.plugin, v.name, got, v.want)
		}
	}

	if held["gone"] != 0 || held["linked"] != 0 {
		t.Errorf("pods are still held: %v", fmt.Sprint(held))
	}
}

func TestSweepWithoutPods(t *testing.T) {
	s := emptydirs.Sweeper{Drive: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
