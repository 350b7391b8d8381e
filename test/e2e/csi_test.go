//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
	"mullion.dev/mullion/test/built"
)

const csiFiles = "testdata/csidriver"

// TestFieldCSI brings up a cluster with a Linux and a Windows node, with upstream's provisioner, attacher, resizer and
// snapshotter beside a driver of the tests, whose node part registers itself. Pods of both systems get volumes, which
// are attached, grow, are copied by snapshots and clones, and go. The driver hangs, and comes back by itself. Then it
// does the same with folders of a share of Samba, which a Windows node maps by csi-proxy.
func TestFieldCSI(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"),
		program("csi/linux/csi-provisioner", "upstream's CSI sidecars", "csi"))

	c := newCluster(t)
	const machine = "10.187.0.254" // this one's address on the underlay
	text := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-csi\nnetworking:\n" +
		"  underlaySubnet: 10.187.0.0/24\n  podSubnet: 10.187.128.0/17\n  serviceSubnet: 10.187.64.0/18\n" +
		"nodes:\n- {os: linux}\n- {os: windows, windowsVersion: ltsc2022}\n"

	c.bringUp(t, text, "--wait", "15m") // on a busy machine
	t.Cleanup(func() {
		if t.Failed() {
			c.csiLogs(t)
		}
	})
	c.image(t)
	c.csiDriver(t)

	c.csiVolumes(t)
	c.csiGrows(t)
	c.csiCopies(t)
	c.csiNodeHangs(t)
	c.csiControllerHangs(t)
	c.csiGone(t)
	c.csiShares(t, machine)
}

// csiLogs prints what the driver and the sidecars say.
func (c cluster) csiLogs(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"get", "pods,pvc,pv,volumeattachments,volumesnapshots,events", "-A"},
		{"logs", "deployment/csi-folder", "--all-containers", "--tail=60"},
		{"logs", "daemonset/csi-folder-windows", "--tail=60"},
		{"logs", "daemonset/csi-folder-linux", "--tail=60"},
		{"logs", "deployment/csi-share", "--all-containers", "--tail=60"},
	} {
		out, _ := c.mullion(context.WithoutCancel(t.Context()), t, append([]string{"kubectl"}, args...)...)
		t.Logf("== kubectl %s\n%s", strings.Join(args, " "), out)
	}
}

// csiDriver deploys the sidecars and the driver for folders of nodes.
func (c cluster) csiDriver(t *testing.T) {
	t.Helper()
	driver := filepath.Join(c.home, "csi-linux", "csidriver")
	compile(t, "linux", csiDriver, driver)

	c.must(t, "image", "build", driver, "--os", "linux", "-t", "mullion.local/e2e-csi-linux:v1")
	c.must(t, "image", "build", filepath.Join(c.bin, "csi/linux"), "--os", "linux", "-t", "mullion.local/csi-sidecars:v1")
	file := filepath.Join(c.home, "csi-driver.yaml")
	filled(t, filepath.Join(csiFiles, "driver.yaml"), file, strings.NewReplacer("TOKEN}", "token-of-the-test}"))
	c.must(t, "kubectl", "create", "-f", filepath.Join(c.bin, "csi/manifests/crds.yaml"))
	for _, manifest := range []string{
		filepath.Join(c.bin, "csi/manifests/rbac.yaml"), filepath.Join(csiFiles, "snapshotcontroller.yaml"), file,
	} {
		c.must(t, "kubectl", "apply", "-f", manifest)
	}

	for _, name := range []string{
		"deployment/csi-folder", "daemonset/csi-folder-linux", "daemonset/csi-folder-windows",
	} {
		c.must(t, "kubectl", "rollout", "status", name, "--timeout=180s")
	}

	c.must(t, "kubectl", "-n", "kube-system", "rollout", "status", "deployment/snapshot-controller", "--timeout=120s")
	for _, node := range []string{"win-1", "linux-1"} {
		c.prints(t, "csi.e2e.mullion.dev="+node, "kubectl", "get", "csinode", node, "-o",
			"jsonpath={range .spec.drivers[*]}{.name}={.nodeID}{end}")
	}
}

// csiPods are the pods of testdata/csidriver/pods.yaml, by their system: where they have their volume, and the program
// of their images.
var csiPods = map[string]struct{ root, tool, image, node, volumes string }{
	"windows": {`C:\`, "tool", "mullion.local/e2e:v1", "win-1", `cmd /c dir /b C:\csi-folder\volumes`},
	"linux":   {"/", "/tool", "mullion.local/e2e-linux:v1", "linux-1", "ls /var/lib/csi-folder/volumes"},
}

// csiVolumes has pods of both systems get volumes, which are attached to their nodes.
func (c cluster) csiVolumes(t *testing.T) {
	t.Helper()
	begin := time.Now()
	c.must(t, "kubectl", "apply", "-f", filepath.Join(csiFiles, "pods.yaml"))
	c.ready(t, "csi-windows", "csi-linux")
	t.Logf("both pods have their volumes after %s", time.Since(begin).Round(time.Second))
	for system, p := range csiPods {
		c.must(t, "kubectl", "exec", "csi-"+system, "--", p.tool, "write", p.root+"data/note", "kept by "+system)
		pv := c.must(t, "kubectl", "get", "pvc", "csi-"+system, "-o", "jsonpath={.spec.volumeName}")
		// The attacher and the driver have attached it, by an object that the controller manager made.
		c.prints(t, pv+" "+p.node+" true", "kubectl", "get", "volumeattachments", "-o", "jsonpath={range .items[*]}"+
			"{.spec.source.persistentVolumeName} {.spec.nodeName} {.status.attached}{'\\n'}{end}")
		c.prints(t, pv, append([]string{"node", "exec", p.node, "--"}, strings.Fields(p.volumes)...)...)
		c.jsonpath(t, system, "pv", pv, "{.spec.nodeAffinity.required.nodeSelectorTerms[*].matchExpressions[*].values}")
	}

	c.jsonpath(t, "csi-folder [0-9]+", "csistoragecapacities", "",
		"{range .items[*]}{.storageClassName} {.capacity} {end}")
}

// csiGrows makes volumes larger while pods use them. A folder has no size that a pod could see; the kubelet's figures
// of the pod's volume have it.
func (c cluster) csiGrows(t *testing.T) {
	t.Helper()
	for system, p := range csiPods {
		c.must(t, "kubectl", "patch", "pvc", "csi-"+system, "-p", `{"spec":{"resources":{"requests":{"storage":"32Mi"}}}}`)
		c.jsonpath(t, `^32Mi$`, "pvc", "csi-"+system, "{.status.capacity.storage}")
		c.prints(t, "expand", "kubectl", "logs", "daemonset/csi-folder-"+system)
		c.usesVolume(t, p.node, "csi-"+system, 32<<20)
	}
}

// usesVolume waits until the kubelet's figures have a claim's size.
func (c cluster) usesVolume(t *testing.T, node, claim string, size int64) {
	t.Helper()
	want := regexp.MustCompile(fmt.Sprintf(`"capacityBytes": ?%d,[^{}]*"pvcRef": ?\{[^{}]*"name": ?"%s"`, size, claim))
	poll(t, 3*time.Minute, func(ctx context.Context) error { // the kubelet asks once in a minute
		out, err := c.mullion(ctx, t, "kubectl", "get", "--raw", "/api/v1/nodes/"+node+"/proxy/stats/summary")
		if err == nil && !want.MatchString(out) {
			err = fmt.Errorf("no %s of %d bytes in %s", claim, size, out)
		}
		return err
	})
}

// csiCopies makes a snapshot and a clone of each pod's volume, which are what the volume was; the clone grows while no
// pod uses it.
func (c cluster) csiCopies(t *testing.T) {
	t.Helper()
	for system, p := range csiPods {
		file := filepath.Join(c.home, "csi-copies-"+system+".yaml")
		filled(t, filepath.Join(csiFiles, "copy.yaml"), file,
			strings.NewReplacer("SYSTEM", system, "IMAGE", p.image, "ROOT", p.root))
		c.must(t, "kubectl", "apply", "-f", file)
		c.ready(t, "csi-copies-"+system)
		c.jsonpath(t, "^true$", "volumesnapshot", "csi-"+system, "{.status.readyToUse}")
		c.must(t, "kubectl", "exec", "csi-"+system, "--", p.tool, "write", p.root+"data/note", "changed")
		for _, of := range []string{"restored", "cloned"} {
			c.prints(t, "kept by "+system, "kubectl", "exec", "csi-copies-"+system, "--", p.tool, "cat", p.root+of+"/note")
		}

		c.must(t, "kubectl", "delete", "pod", "csi-copies-"+system, "--timeout=60s")
		c.must(t, "kubectl", "patch", "pvc", "csi-cloned-"+system, "-p",
			`{"spec":{"resources":{"requests":{"storage":"48Mi"}}}}`)
		c.jsonpath(t, "FileSystemResizePending", "pvc", "csi-cloned-"+system, "{.status.conditions[*].type}")
		c.must(t, "kubectl", "apply", "-f", file, "-l", "app=csi-copies") // the claim stays as it is
		c.ready(t, "csi-copies-"+system)
		c.jsonpath(t, `^48Mi$`, "pvc", "csi-cloned-"+system, "{.status.capacity.storage}")
		c.must(t, "kubectl", "delete", "-f", file, "--timeout=120s")
	}
}

// stops stops the processes of the cluster that match a pattern.
func (c cluster) stops(t *testing.T, pattern string) {
	t.Helper()
	for _, pid := range c.matching(pattern)(t) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatalf("stop process %d: %v", pid, err)
		}
	}
}

// csiNodeHangs stops the driver's process on each node. Pods that run do not notice it, one that starts waits and is
// told why, and all is well again when the kubelet has found that the driver hangs.
func (c cluster) csiNodeHangs(t *testing.T) {
	t.Helper()
	for system, p := range csiPods {
		c.stops(t, map[string]string{"windows": `csidriver\.exe node`, "linux": `^/csidriver node`}[system])
		begin := time.Now()
		file := filepath.Join(c.home, "csi-second-"+system+".yaml")
		filled(t, filepath.Join(csiFiles, "second.yaml"), file,
			strings.NewReplacer("SYSTEM", system, "IMAGE", p.image, "ROOT", p.root))
		c.must(t, "kubectl", "apply", "-f", file)
		for _, word := range []string{"one", "two"} {
			c.must(t, "kubectl", "exec", "csi-"+system, "--", p.tool, "write", p.root+"data/hangs", word)
			c.prints(t, word, "kubectl", "exec", "csi-"+system, "--", p.tool, "cat", p.root+"data/hangs")
		}

		c.jsonpath(t, "csi-folder-"+system, "events", "", `{.items[?(@.reason=="Unhealthy")].involvedObject.name}`)
		c.jsonpath(t, "csi-second-"+system, "events", "", `{.items[?(@.reason=="FailedMount")].involvedObject.name}`)
		c.ready(t, "csi-second-"+system)
		t.Logf("%s: the driver that hung is back, and the pod has its volume, after %s", system,
			time.Since(begin).Round(time.Second))
		if restarts := c.must(t, "kubectl", "get", "pod", "csi-"+system, "-o",
			"jsonpath={.status.containerStatuses[0].restartCount}"); restarts != "0" {
			t.Errorf("the pod csi-%s was restarted %s times", system, restarts)
		}

		c.must(t, "kubectl", "delete", "-f", file, "--timeout=120s")
	}
}

// csiControllerHangs stops the driver's controller. A claim waits, its events say why, and it gets its volume when the
// kubelet has found that the controller hangs.
func (c cluster) csiControllerHangs(t *testing.T) {
	t.Helper()
	p := csiPods["windows"]
	c.stops(t, `^/csidriver controller`)
	begin := time.Now()
	file := filepath.Join(csiFiles, "waits.yaml")
	c.must(t, "kubectl", "apply", "-f", file)
	c.jsonpath(t, "csi-waits", "events", "", `{.items[?(@.reason=="ProvisioningFailed")].involvedObject.name}`)
	c.must(t, "kubectl", "exec", "csi-windows", "--", p.tool, "write", p.root+"data/note", "written meanwhile")
	c.ready(t, "csi-waits")
	t.Logf("the controller that hung is back, and the pod has its volume, after %s", time.Since(begin).Round(time.Second))
	c.must(t, "kubectl", "delete", "-f", file, "--timeout=120s")
}

// csiGone removes the claims, with which the volumes go.
func (c cluster) csiGone(t *testing.T) {
	t.Helper()
	c.must(t, "kubectl", "delete", "-f", filepath.Join(csiFiles, "pods.yaml"), "--timeout=120s")
	for _, kind := range []string{"pv", "volumeattachments", "volumesnapshotcontents"} {
		c.jsonpath(t, "^$", kind, "", "{.items[*].metadata.name}")
	}

	for _, p := range csiPods {
		poll(t, settle, func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, append([]string{"node", "exec", p.node, "--"}, strings.Fields(p.volumes)...)...)
			if strings.Contains(out, "pvc-") {
				return fmt.Errorf("%s still has %s (%w)", p.node, out, err)
			}
			return nil
		})
	}
}

// csiShares does it with folders of a share. Two pods use one volume at once.
func (c cluster) csiShares(t *testing.T, machine string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(c.bin, "csi-proxy/csi-proxy.exe")); err != nil {
		t.Logf("not with shares: it needs csi-proxy: make csi-proxy: %v", err)
		return
	}

	server := smbtest.Start(t, "/proc/self/ns/net", machine, smbtest.Options{})
	c.csiProxyPrograms(t)
	c.must(t, "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-File", `C:\service.ps1`)
	c.must(t, "kubectl", "apply", "-f", "testdata/csiproxy/driver.yaml")
	file := filepath.Join(c.home, "csi-share.yaml")
	filled(t, filepath.Join(csiFiles, "share.yaml"), file,
		strings.NewReplacer("MACHINE", machine, "PASSWORD", smbtest.Password))
	c.must(t, "kubectl", "apply", "-f", file)
	pods, copies := filepath.Join(csiFiles, "sharepods.yaml"), filepath.Join(csiFiles, "sharecopy.yaml")
	c.must(t, "kubectl", "apply", "-f", pods)
	c.ready(t, "csi-share-1", "csi-share-2")
	c.must(t, "kubectl", "exec", "csi-share-1", "--", "tool", "write", `C:\data\note`, "of one pod")
	c.prints(t, "of one pod", "kubectl", "exec", "csi-share-2", "--", "tool", "cat", `C:\data\note`)
	pv := c.must(t, "kubectl", "get", "pvc", "csi-share", "-o", "jsonpath={.spec.volumeName}")
	onDisk := filepath.Join(server.Dir, "volumes", pv, "note")
	if got, err := os.ReadFile(onDisk); err != nil || string(got) != "of one pod" {
		t.Errorf("the share has %q, %v", got, err)
	}

	c.must(t, "kubectl", "patch", "pvc", "csi-share", "-p", `{"spec":{"resources":{"requests":{"storage":"32Mi"}}}}`)
	c.jsonpath(t, `^32Mi$`, "pvc", "csi-share", "{.status.capacity.storage}")
	c.must(t, "kubectl", "apply", "-f", copies)
	c.ready(t, "csi-share-copy")
	c.must(t, "kubectl", "exec", "csi-share-1", "--", "tool", "write", `C:\data\note`, "changed")
	c.prints(t, "of one pod", "kubectl", "exec", "csi-share-copy", "--", "tool", "cat", `C:\data\note`)
	c.must(t, "kubectl", "delete", "-f", copies, "-f", pods, "--timeout=120s")
	until(t, settle, func() error {
		left, err := filepath.Glob(filepath.Join(server.Dir, "*", "*"))
		if err == nil && len(left) != 0 {
			err = fmt.Errorf("the share still has %q", left)
		}
		return err
	})
}

// TestFieldCSISanity judges the tests' driver on Linux by upstream's csi-sanity.
func TestFieldCSISanity(t *testing.T) {
	needs(t, program("csi/csi-sanity", "upstream's csi-sanity", "csi"))
	sanity := filepath.Join(built.Dir(t), "csi/csi-sanity")

	dir := t.TempDir()
	driver, socket := filepath.Join(dir, "csidriver"), filepath.Join(dir, "csi.sock")
	compile(t, "linux", csiDriver, driver)

	serves := exec.CommandContext(t.Context(), driver, "all", "-node", "here", "-address", "here",
		"-folder", filepath.Join(dir, "volumes"), "-socket", socket)
	if err := serves.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serves.Process.Kill()
		_ = serves.Wait()
	})

	until(t, settle, func() error {
		_, err := os.Stat(socket)
		return err
	})

	out, err := exec.CommandContext(t.Context(), sanity, "-csi.endpoint="+socket, "-ginkgo.no-color",
		"-csi.mountdir="+filepath.Join(dir, "mount"), "-csi.stagingdir="+filepath.Join(dir, "staging")).CombinedOutput()
	passed := regexp.MustCompile(`(\d+) Passed \| 0 Failed`).FindSubmatch(out)
	if err != nil || passed == nil {
		t.Fatalf("csi-sanity: %v\n%s", err, out)
	}
	if n, err := strconv.Atoi(string(passed[1])); err != nil || n < 60 {
		t.Errorf("only %d specs ran, %v\n%s", n, err, out)
	}

	left, err := filepath.Glob(filepath.Join(dir, "volumes", "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("the driver left %q, %v", left, err)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("the driver left mounts, %v:\n%s", err, mounts)
	}
}
