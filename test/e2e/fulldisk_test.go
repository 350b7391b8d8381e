//go:build cluster

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// diskYAML uses other subnets than the other tests' clusters.
const diskYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-disk
networking: {underlaySubnet: 10.204.0.0/24, podSubnet: 10.224.0.0/16, serviceSubnet: 10.124.0.0/16}
nodes:
- os: linux
  taint: true
- windowsVersion: ltsc2022
`

// diskPods are a pod that fills the disk, and Deployments, one with a volume, that have to be there afterwards.
const diskPods = `
apiVersion: v1
kind: Pod
metadata: {name: fills}
spec:
  nodeName: win-1
  terminationGracePeriodSeconds: 1
  containers: [{name: fills, image: 'mullion.local/e2e:v1', args: [sleep, 1h]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: kept}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: keeps}
spec:
  selector: {matchLabels: {app: keeps}}
  template:
    metadata: {labels: {app: keeps}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: keeps, image: 'mullion.local/e2e:v1', args: [sleep, 1h], volumeMounts: [{name: kept, mountPath: 'C:\kept'}]}]
      volumes: [{name: kept, persistentVolumeClaim: {claimName: kept}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: keeps-linux}
spec:
  selector: {matchLabels: {app: keeps-linux}}
  template:
    metadata: {labels: {app: keeps-linux}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {kubernetes.io/os: linux}
      tolerations: [{key: os, operator: Exists}]
      containers: [{name: keeps, image: 'mullion.local/e2e-linux:v1', args: [sleep, 1h]}]
`

// smallDisk is a file system in a sparse file: space that is only reserved on it takes nothing of the real disk.
type smallDisk struct{ path string }

func newSmallDisk(t *testing.T, size int64) smallDisk {
	t.Helper()
	dir := t.TempDir()
	file, d := filepath.Join(dir, "disk"), smallDisk{path: filepath.Join(dir, "mounted")}
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size),
		os.Mkdir(d.path, 0o700)); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{{"mkfs.ext4", "-q", "-m", "0", file}, {"mount", "-o", "loop", file, d.path}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}

	t.Cleanup(func() {
		if out, err := exec.Command("umount", d.path).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
		}
	})

	return d
}

// fill leaves so many MiB free; the function returned makes room again.
func (d smallDisk) fill(t *testing.T, left uint64) (free func()) {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(d.path, &fs); err != nil {
		t.Fatal(err)
	}

	room := fs.Bavail * uint64(fs.Bsize)
	file, err := os.CreateTemp(d.path, "filler")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if room <= left<<20 {
		t.Fatalf("the disk has %d MiB left already, %d are to be", room>>20, left)
	}

	// The cluster may take the last of the room while it is being filled.
	if err := unix.Fallocate(int(file.Fd()), 0, 0, int64(room-left<<20)); err != nil &&
		(left > 0 || !errors.Is(err, unix.ENOSPC)) {
		t.Fatal(err)
	}

	return func() {
		if err := os.Remove(file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
}

// TestFieldFullDisk fills the disk that a cluster is on. Its nodes must report that, what fills the disk must be
// evicted, and when there is room again, everything must be as it was.
func TestFieldFullDisk(t *testing.T) {
	needs(t, ownCluster("E2E_DATA_DIR names a cluster on the machine's own disk"))

	disk := newSmallDisk(t, 4<<30)
	c := newCluster(t)
	c.data = filepath.Join(disk.path, "data")

	c.bringUp(t, diskYAML)
	c.image(t)
	c.must(t, "kubectl", "apply", "-f", c.file(t, "pods.yaml", diskPods))
	c.must(t, "kubectl", "wait", "--for=condition=Available", "deployments", "--all", "--timeout=2m")
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/fills", "--timeout=1m")
	c.must(t, "kubectl", "exec", "deploy/keeps", "--", "tool", "write", `C:\kept\note`, "kept")

	free := disk.fill(t, 180)
	defer free()
	c.pressure(t, "True")
	if p := fmt.Sprintf("%+v", c.status(t.Context(), t)); !strings.Contains(p, "DiskPressure") ||
		!strings.Contains(p, c.data) {
		t.Errorf("mullion status does not say that the disk is full, or which: %s", p)
	}

	if out := c.must(t, "kubectl", "get", "pods", "-o",
		"jsonpath={.items[*].status.phase}"); out != "Running Running Running" {
		t.Errorf("pods are %s at once, want them to go on for two minutes", out)
	}
	out, err := c.mullion(t.Context(), t, "kubectl", "exec", "fills", "--", "tool", "grow", `C:\big`, "130")
	if err != nil {
		t.Errorf("a pod that fills the disk: %v\n%s", err, out)
	}

	c.jsonpath(
		t, `^Failed Evicted The node was low on resource: ephemeral-storage\. Threshold quantity: 100Mi, available: \d+.*Container fills was using 13\d{4}Ki`,
		"pod", "fills", "{.status.phase} {.status.reason} {.status.message}")

	full := disk.fill(t, 0)
	defer full()
	written := c.writes(t)
	if p := c.status(t.Context(), t); !strings.Contains(fmt.Sprintf("%+v", p),
		"{Severity:problem Object:disk "+c.data) {
		t.Errorf("mullion status of a disk without any room: %+v", p)
	}

	full()
	free()
	c.pressure(t, "False")
	c.healthy(t)
	c.must(t, "kubectl", "wait", "--for=condition=Available", "deployments", "--all", "--timeout=2m")
	if out := c.must(t, "kubectl", "exec", "deploy/keeps", "--", "tool", "cat", `C:\kept\note`); !strings.Contains(out,
		"kept") {
		t.Errorf("what was in the volume: %s", out)
	}

	have := c.must(t, "kubectl", "get", "configmaps", "-o", "name")
	for _, name := range written {
		if !strings.Contains(have, "configmap/"+name+"\n") {
			t.Errorf("the API had taken ConfigMap %s, and it is gone", name)
		}
	}

	t.Logf("%d ConfigMaps were taken with the disk full", len(written))
}

// pressure waits until every node reports that status of DiskPressure.
func (c cluster) pressure(t *testing.T, status string) {
	t.Helper()
	c.jsonpath(t, "^"+status+" "+status+"$", "nodes", "",
		`{.items[*].status.conditions[?(@.type=="DiskPressure")].status}`)
}

// writes makes ConfigMaps until the API refuses one or has accepted many, and returns those that it accepted.
func (c cluster) writes(t *testing.T) (taken []string) {
	t.Helper()
	file := filepath.Join(c.home, "big")
	if err := os.WriteFile(file, []byte(strings.Repeat("written ", 100<<10)), 0o600); err != nil {
		t.Fatal(err)
	}

	for n := range 200 {
		name := fmt.Sprintf("written-%d", n)
		out, err := c.mullion(t.Context(), t, "kubectl", "create", "configmap", name, "--from-file="+file,
			"--request-timeout=10s")
		if err != nil {
			t.Logf("the API says: %s", out)
			return taken
		}
		taken = append(taken, name)
	}

	return taken
}
