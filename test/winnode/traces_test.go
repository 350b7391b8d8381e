//go:build wine

package winnode_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// traces are files that programs under test would leave outside of the rig's folders.
func traces(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{
		// what containerd's shims and runc do by default
		"/run/containerd/s/*", "/run/containerd/runc/*/*", "/run/runc/*",
		"/sys/class/net/mt-*", "/sys/fs/cgroup/mullion-t-*", "/sys/fs/cgroup/*/mullion-t-*", "/run/mullion/t-*",
	} {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, list...)
	}

	return found
}

// checkTraces fails if the rig left something on the machine. What others leave or remove meanwhile is told by the tag
// where a name has one; the rest is compared with what was there before.
func (r *rig) checkTraces(t *testing.T) {
	t.Helper()
	if left := r.mounts(t); len(left) > 0 {
		t.Errorf("mounts left behind: %v", left)
	}
	for _, path := range traces(t) {
		others := strings.Contains(path, "-t-") || strings.Contains(path, "/mt-") || strings.Contains(path, "/t-")
		if strings.Contains(path, r.tag) || (!others && !slices.Contains(r.before, path)) {
			t.Errorf("left behind: %s", path)
		}
	}
}

// checkNoCgroups fails if a container that is gone keeps a cgroup. A container's cgroup goes when the kubelet removes
// the container (cri.Server.RemoveContainer), and that happens beside the deletion of the pod, not before it.
func (r *rig) checkNoCgroups(t *testing.T) {
	t.Helper()
	parents, err := filepath.Glob("/sys/fs/cgroup/*" + r.host.Cgroup)
	if err != nil {
		t.Fatal(err)
	}

	eventually(t, "no container has a cgroup", 10*time.Second, func() error {
		var left []error
		for _, parent := range append(parents, "/sys/fs/cgroup"+r.host.Cgroup) {
			err := filepath.WalkDir(parent, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() && path != parent {
					left = append(left, fmt.Errorf("cgroup left behind: %s", path))
				}
				return nil
			})
			left = append(left, err)
		}

		return errors.Join(left...)
	})
}
