//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// volumeID finds a volume's name in an answer of csi-proxy, as it is in JSON.
var volumeID = regexp.MustCompile(`"\\\\\\\\\?\\\\Volume\{[0-9a-f-]+\}\\\\"`)

// csiProxyDisks calls the methods of csi-proxy's groups for disks and volumes on a disk that the host is given, and has
// the driver for disks serve it to pods.
func (c cluster) csiProxyDisks(t *testing.T) {
	t.Helper()
	serial := regexp.MustCompile(`serial number (\w+)`).FindStringSubmatch(
		c.must(t, "node", "disk", "add", "win-1", "--size", "500Mi", "--name", "spare"))
	if serial == nil {
		t.Fatal("the new disk has no serial number")
	}

	c.must(t, "node", "disk", "add", "win-1", "--size", "500Mi")
	c.calls(t, []proxyCall{
		{"disk", "ListDiskIDs", "{}", `"serialNumber":"` + serial[1] + `"`},
		{"disk-v1beta1", "ListDiskIDs", "{}", serial[1]},
		{"disk", "ListDiskLocations", "{}", `"LUNID":"1"`},
		{"disk", "GetDiskStats", `{"diskNumber":1}`, `"totalBytes":"524288000"`},
		{"disk-v1beta1", "DiskStats", `{"diskID":"1"}`, "524288000"},
		{"disk", "GetDiskState", `{"diskNumber":1}`, `"isOnline":true`},
		{"disk", "SetDiskState", `{"diskNumber":1,"isOnline":false}`, "{}"},
		{"disk-v1beta2", "GetAttachState", `{"diskID":"1"}`, `"isOnline":false`},
		{"disk", "PartitionDisk", `{"diskNumber":1}`, "The disk is offline."},
		{"disk-v1beta2", "SetAttachState", `{"diskID":"1","isOnline":true}`, "{}"},
		{"disk", "PartitionDisk", `{"diskNumber":1}`, "{}"},
		{"disk-v1beta3", "PartitionDisk", `{"diskNumber":1}`, "{}"}, // has one already
	})

	id := c.volumeOf(t, "volume", "ListVolumesOnDisk", `{"diskNumber":1}`)
	if same := c.volumeOf(t, "volume", "ListVolumesOnDisk", `{"diskNumber":1,"partitionNumber":2}`); same != id {
		t.Errorf("the volume of partition 2 is %s, that of the disk %s", same, id)
	}

	c.csiProxyVolumeOf(t, id)
	c.csiProxyDiskDriver(t, serial[1], id)
	for _, number := range []string{"1", "2"} {
		// Another program of the machine may have a copy of its mounts.
		poll(t, settle, func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, "node", "disk", "rm", "win-1", number)
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}

	c.calls(t, []proxyCall{{"disk", "ListDiskIDs", "{}", `"diskIDs":{}`}})
}

// volumeOf returns the one volume in an answer of csi-proxy.
func (c cluster) volumeOf(t *testing.T, group, method, request string) string {
	t.Helper()
	out, err := c.ofProxy(t.Context(), t, group, method, request)
	found := volumeID.FindAllString(out, -1)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s %s %s: %v, not one volume in:\n%s", group, method, request, err, out)
	}
	return found[0]
}

// csiProxyVolumeOf calls the methods for a volume that is not formatted yet. In the end it is formatted and nowhere
// mounted.
func (c cluster) csiProxyVolumeOf(t *testing.T, id string) {
	t.Helper()
	const mount = `C:\\var\\lib\\kubelet\\plugins\\disk-test`
	volume, path := `{"volumeId":`+id+`}`, `{"path":"`+mount+`"}`
	target := `{"targetPath":"` + mount + `"}`
	both := `{"volumeId":` + id + `,"targetPath":"` + mount + `"}`
	c.calls(t, []proxyCall{
		{"volume", "IsVolumeFormatted", volume, `"formatted":false`},
		{"volume", "MountVolume", both, "The access path is not valid."},
		{"volume", "FormatVolume", volume, "{}"},
		{"volume-v1beta3", "IsVolumeFormatted", volume, `"formatted":true`},
		{"volume", "GetDiskNumberFromVolumeID", volume, `"diskNumber":1`},
		{"filesystem", "Mkdir", path, "{}"},
		{"volume", "MountVolume", both, "{}"},
		{"volume", "MountVolume", both, "The access path is not valid."},
		{"filesystem", "IsSymlink", path, `"isSymlink":true`},
		{"volume", "WriteVolumeCache", volume, "{}"},
		{"volume", "UnmountVolume", both, "{}"},
		{"volume-v1beta1", "DismountVolume", `{"volumeId":` + id + `,"path":"` + mount + `"}`, "The access path is not valid."},
		{"filesystem", "IsSymlink", path, `"isSymlink":false`},
		{"filesystem", "Mkdir", `{"path":"` + mount + `\\in\\it"}`, "{}"},
		{"volume", "MountVolume", both, "is not empty"},
		{"filesystem", "Rmdir", `{"path":"` + mount + `\\in","force":true}`, "{}"},
		{"volume", "MountVolume", both, "{}"},
	})

	if found := c.volumeOf(t, "volume", "GetVolumeIDFromTargetPath", target); found != id {
		t.Errorf("%s leads to %s, want %s", mount, found, id)
	}
	c.calls(t, []proxyCall{{"filesystem", "Mkdir", `{"path":"` + mount + `\\a\\b"}`, "{}"}})
	if found := c.volumeOf(t, "volume-v2alpha1", "GetClosestVolumeIDFromTargetPath",
		`{"targetPath":"`+mount+`\\a\\b"}`); found != id {
		t.Errorf("a folder below %s is on %s, want %s", mount, found, id)
	}

	c.calls(t, []proxyCall{
		{"filesystem", "Rmdir", `{"path":"` + mount + `\\a","force":true}`, "{}"},
		{"volume", "UnmountVolume", both, "{}"},
		{"filesystem", "Rmdir", path, "{}"},
	})
}

// space returns the size of a pod's volume and what is free, as GetDiskFreeSpaceEx says it.
func (c cluster) space(t *testing.T, pod string) (size, free int64) {
	t.Helper()
	out := c.must(t, "kubectl", "exec", pod, "--", "tool", "space", `C:\disk`)
	if _, err := fmt.Sscan(out, &size, &free); err != nil {
		t.Fatalf("the space of pod %s: %v\n%s", pod, err, out)
	}
	return size, free
}

// csiProxyDiskDriver serves the disk to one pod, makes it larger meanwhile, and serves it to another pod.
func (c cluster) csiProxyDiskDriver(t *testing.T, serial, id string) {
	t.Helper()
	pod := func(name string) string {
		t.Helper()
		file := filepath.Join(c.home, name+"-disk.yaml")
		filled(t, "testdata/csiproxy/diskpod.yaml", file, strings.NewReplacer("NAME", name, "SERIAL", serial))
		return file
	}
	c.must(t, "kubectl", "apply", "-f", "testdata/csiproxy/diskdriver.yaml")
	c.must(t, "kubectl", "rollout", "status", "daemonset/csi-disk", "--timeout=120s")
	first := pod("one")
	c.must(t, "kubectl", "apply", "-f", first)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/one", "--timeout=120s")
	tool := func(name string, args ...string) (string, error) {
		return c.mullion(t.Context(), t, append([]string{"kubectl", "exec", name, "--", "tool"}, args...)...)
	}

	if out, err := tool("one", "write", `C:\disk\kept`, "bytes of a pod"); err != nil {
		t.Fatalf("write to the disk: %v\n%s", err, out)
	}
	size, free := c.space(t, "one")
	if size < 400<<20 || size > 500<<20 || free > size {
		t.Errorf("the volume has %d bytes, %d of them free", size, free)
	}

	// full is full, with Windows' words of ERROR_DISK_FULL
	out, err := tool("one", "grow", `C:\disk\large`, strconv.FormatInt(size>>20+1, 10))
	if err == nil || !strings.Contains(out, "There is not enough space on the disk.") {
		t.Errorf("more than the volume has: %v\n%s", err, out)
	}
	// who uses it keeps it
	if out, err := c.mullion(t.Context(), t, "node", "disk", "rm", "win-1", "1"); err == nil {
		t.Errorf("a disk that a pod uses is taken away: %s", out)
	}

	// larger while the pod uses it; the agent's end ends nothing
	c.must(t, "node", "disk", "grow", "win-1", "1", "--size", "800Mi")
	c.calls(t, []proxyCall{{"volume", "ResizeVolume", `{"volumeId":` + id + `}`, "{}"}})
	if larger, _ := c.space(t, "one"); larger < size+250<<20 {
		t.Errorf("the volume has %d bytes, and had %d", larger, size)
	}

	for _, pid := range c.matching(`mullion-node serve `)(t) {
		if p, err := os.FindProcess(pid); err != nil || p.Kill() != nil {
			t.Errorf("the agent is not killed: %v", err)
		}
	}

	until(t, settle, func() error { // exec goes by the agent
		if out, err := tool("one", "write", `C:\disk\after`, "bytes after the agent's end"); err != nil {
			return fmt.Errorf("write to the disk: %w\n%s", err, out)
		}
		return nil
	})
	c.must(t, "kubectl", "delete", "-f", first, "--timeout=90s")
	poll(t, settle, func(ctx context.Context) error { // it is staged no more
		out, err := c.mullion(ctx, t, "node", "disk", "ls", "win-1")
		if err == nil && strings.Contains(out, "globalmount") {
			err = fmt.Errorf("the volume is still mounted: %s", out)
		}
		return err
	})

	second := pod("two")
	c.must(t, "kubectl", "apply", "-f", second)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/two", "--timeout=120s")
	c.prints(t, "bytes of a pod", "kubectl", "exec", "two", "--", "tool", "cat", `C:\disk\kept`)
	c.prints(t, "bytes after", "kubectl", "exec", "two", "--", "tool", "cat", `C:\disk\after`)
	c.must(t, "kubectl", "delete", "-f", second, "--timeout=90s")
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "node", "disk", "ls", "win-1")
		if err == nil && strings.Contains(out, "globalmount") {
			err = fmt.Errorf("the volume is still mounted: %s", out)
		}
		return err
	})
	c.must(t, "kubectl", "delete", "-f", "testdata/csiproxy/diskdriver.yaml", "--timeout=90s")
}
