// Package emptydirs looks after the emptyDirs of a Windows node's pods from the Linux side, where a name, a depth or a
// number of entries that Windows cannot handle does not matter. It owns what is in the folders that the kubelet makes
// for volumes of this kind, and empties those that the kubelet is removing. It touches no other volume: what is behind
// a hostPath, a driver's or a share's belongs to somebody else. The folders themselves are the kubelet's to remove.
package emptydirs

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/base/beneath"
)

// Where the kubelet has pods on C:, and in a pod's folder the emptyDirs and what it knows of them
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/volume/emptydir/empty_dir.go, getPath and getMetaDir).
const (
	podsFolder    = "var/lib/kubelet/pods"
	volumesFolder = "volumes/kubernetes.io~empty-dir"
	stateFolder   = "plugins/kubernetes.io~empty-dir"
)

// Open opens the folder of a drive in which the kubelet has pods.
func Open(drive string) (*os.Root, error) { return os.OpenRoot(filepath.Join(drive, podsFolder)) }

// Folder returns where an emptyDir of a pod is in that folder, by the pod's UID.
func Folder(pod, volume string) string { return path.Join(pod, volumesFolder, volume) }

// interval is how often the folders are looked at. Those of pods that run are not.
const interval = 2 * time.Second

// Sweeper empties the emptyDirs that the kubelet of a node is removing.
type Sweeper struct {
	// Drive is the folder that is C: of the node.
	Drive string
	// Hold reports whether nothing of a pod runs, by its UID. Then nothing of it starts until release is called.
	Hold func(pod string) (release func(), idle bool)
	// Log takes what happens.
	Log *slog.Logger
}

// Run sweeps until ctx ends. One volume is emptied after the other, by a thread of its own that gives way to others.
func (s Sweeper) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()

	GiveWay()
	said := ""
	for {
		_, err := s.Sweep(ctx)
		if text := textOf(err); text != said && ctx.Err() == nil {
			said = text
			if err != nil {
				s.Log.Warn("an emptyDir of a pod that has ended cannot be emptied", "error", err)
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Sweep empties the volumes that are being removed now, and returns how many entries they had.
func (s Sweeper) Sweep(ctx context.Context) (int, error) {
	root, err := Open(s.Drive)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer root.Close()

	pods, err := list(root, ".")
	total := 0
	for _, pod := range pods {
		n, podErr := s.sweepPod(ctx, root, pod)
		total += n
		err = errors.Join(err, podErr)
	}

	return total, err
}

func (s Sweeper) sweepPod(ctx context.Context, root *os.Root, pod string) (int, error) {
	release, idle := s.Hold(pod)
	if !idle {
		return 0, nil
	}
	defer release()

	volumes, err := list(root, path.Join(pod, volumesFolder))
	total := 0
	for _, volume := range volumes {
		if !removing(root, pod, volume) {
			continue
		}

		begun := time.Now()
		n, emptyErr := beneath.Empty(ctx, root, Folder(pod, volume))
		err = errors.Join(err, emptyErr)
		total += n
		if n > 0 {
			s.Log.Info("emptied an emptyDir that the kubelet is removing", "pod", pod, "volume", volume, "entries", n,
				"took", time.Since(begun).Round(time.Millisecond))
		}
	}

	return total, err
}

// removing reports whether the kubelet is removing a volume: its first step is to take away the mark that the volume is
// ready, which it makes before it has anything of the pod started
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/volume/emptydir/empty_dir.go, SetUpAt and TearDownAt).
func removing(root *os.Root, pod, volume string) bool {
	_, err := root.Lstat(path.Join(pod, stateFolder, volume, "ready"))
	return errors.Is(err, fs.ErrNotExist)
}

// list returns the names in a folder; none if it is not there.
func list(root *os.Root, name string) ([]string, error) {
	folder, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Readdirnames(-1)
}
