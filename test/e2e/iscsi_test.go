//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/hostservices/iscsi/iscsitest"
)

// TestFieldISCSI brings up a cluster beside a target of iSCSI on the machine, with upstream's csi-proxy.exe as a
// service of its Windows node. Every method of csi-proxy's group iscsi is called; a CSI driver, which has nothing but
// csi-proxy's pipes, and a FlexVolume driver serve a target's disks to pods. What keeps the session is killed, and the
// target goes and comes back; neither the node nor `down` waits for it.
func TestFieldISCSI(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"),
		program("csi-proxy/csi-proxy.exe", "csi-proxy", "csi-proxy"),
		installed("mkfs.xfs", "xfsprogs"), installed("tgtd", "tgt"))

	c := newCluster(t)
	const machine = "10.241.0.254" // this one's address on the underlay
	text := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-iscsi\nnetworking:\n" +
		"  underlaySubnet: 10.241.0.0/24\n  podSubnet: 10.241.128.0/17\n  serviceSubnet: 10.241.64.0/18\n" +
		"nodes:\n- {os: windows, windowsVersion: ltsc2022}\n"
	spec := c.file(t, "cluster.yaml", text)

	down := false
	t.Cleanup(func() {
		if t.Failed() {
			logs(t, c)
		}
		if !down {
			c.takeDown(t)
		}
	})
	c.must(t, "up", "-f", spec, "--wait", "15m") // on a busy machine
	server := iscsitest.Start(t, "/proc/self/ns/net", machine)
	c.csiProxyPrograms(t)
	c.must(t, "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-File", `C:\service.ps1`)
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.ofProxy(ctx, t, "disk", "Rescan", "{}")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})

	c.iscsiService(t)
	c.iscsiGroup(t, machine)
	c.iscsiFlexVolume(t, machine)
	c.iscsiDriver(t, machine, server)

	// with a pod that waits for a target that is gone
	server.Stop()
	write := c.writesInPod(t, "three")
	begin := time.Now()
	c.takeDown(t)
	down = true
	t.Logf("the cluster went in %s", time.Since(begin).Round(time.Second))
	<-write
}

// iscsiService starts the initiator's service, which drivers do first.
func (c cluster) iscsiService(t *testing.T) {
	t.Helper()
	c.prints(t, "Running", "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
		"Set-Service -Name msiscsi -StartupType Automatic; Start-Service msiscsi; (Get-Service MSiSCSI).Status")
}

// iscsiGroup calls each method of csi-proxy's group. In the end there is no session and no portal.
func (c cluster) iscsiGroup(t *testing.T, machine string) {
	t.Helper()
	portal := `"targetPortal":{"targetAddress":"` + machine + `","targetPort":3260}`
	of := func(iqn string, more ...string) string {
		return `{` + strings.Join(append([]string{portal, `"iqn":"` + iqn + `"`}, more...), ",") + `}`
	}
	chap := func(kind, secret string) []string {
		return []string{`"authType":"` + kind + `"`, `"chapUsername":"` + iscsitest.User + `"`, `"chapSecret":"` + secret + `"`}
	}

	c.calls(t, []proxyCall{
		{"iscsi", "ListTargetPortals", "{}", `"targetPortals":[]`},
		{"iscsi", "DiscoverTargetPortal", `{` + portal + `}`, "No MSFT_iSCSITargetPortal objects found"},
		{"iscsi", "AddTargetPortal", `{"targetPortal":{"targetAddress":"` + machine + `","targetPort":3261}}`, "Connection Failed"},
		{"iscsi", "AddTargetPortal", `{"targetPortal":{"targetAddress":"a b;c"}}`, "Invalid Parameter"},
		{"iscsi", "AddTargetPortal", `{` + portal + `}`, "{}"},
		{"iscsi", "ListTargetPortals", "{}", machine},
		{"iscsi", "DiscoverTargetPortal", `{` + portal + `}`, iscsitest.Open},
		{"iscsi", "GetTargetDisks", of(iscsitest.Open), `"diskIDs":[]`}, // there is no session
		{"iscsi", "ConnectTarget", of(iscsitest.Open), "{}"},
		{"iscsi", "ConnectTarget", of(iscsitest.Open), "The target has already been logged in via an iSCSI session."},
		{"iscsi", "ConnectTarget", of("iqn.2026-11.dev.mullion:none"), "The target name is not found"},
		{"iscsi", "ConnectTarget", of(iscsitest.Guarded), "Authentication Failure"},
		{"iscsi", "ConnectTarget", of(iscsitest.Guarded, chap("ONE_WAY_CHAP", "wrong-hush-test")...), "Authentication Failure"},
		{"iscsi", "ConnectTarget", of(iscsitest.Guarded, chap("ONE_WAY_CHAP", iscsitest.Secret)...), "{}"},
		{"iscsi", "DisconnectTarget", of(iscsitest.Guarded), "{}"},
		{"iscsi", "ConnectTarget", of(iscsitest.Guarded, chap("MUTUAL_CHAP", iscsitest.Secret)...), "Authentication Failure"},
		{"iscsi", "SetMutualChapSecret", `{"MutualChapSecret":"` + iscsitest.TargetSecret + `"}`, "{}"},
		{"iscsi", "ConnectTarget", of(iscsitest.Guarded, chap("MUTUAL_CHAP", iscsitest.Secret)...), "{}"},
	})

	disks := func(iqn string, want int) []string {
		t.Helper()
		out, err := c.ofProxy(t.Context(), t, "iscsi", "GetTargetDisks", of(iqn))
		found := regexp.MustCompile(`"(\d+)"`).FindAllStringSubmatch(out, -1)
		if err != nil || len(found) != want {
			t.Fatalf("the disks of %s: %v\n%s", iqn, err, out)
		}

		var numbers []string
		for _, n := range found {
			numbers = append(numbers, n[1])
		}

		return numbers
	}

	open, guarded := disks(iscsitest.Open, 2), disks(iscsitest.Guarded, 1)
	c.calls(t, []proxyCall{
		{"disk", "GetDiskStats", `{"diskNumber":` + open[0] + `}`, fmt.Sprintf(`"totalBytes":"%d"`, iscsitest.DiskSize)},
		{"disk", "PartitionDisk", `{"diskNumber":` + guarded[0] + `}`, "{}"},
		{"iscsi", "DisconnectTarget", of(iscsitest.Guarded), "{}"},
		{"iscsi", "DisconnectTarget", of(iscsitest.Guarded), "{}"}, // Disconnect-IscsiTarget of one without a session
		{"iscsi", "DisconnectTarget", of("iqn.2026-11.dev.mullion:none"), "The argument is null or empty"},
		{"iscsi", "DisconnectTarget", of(iscsitest.Open), "{}"},
		{"disk", "ListDiskIDs", "{}", `"diskIDs":{}`},
		{"iscsi", "RemoveTargetPortal", `{` + portal + `}`, "{}"},
		{"iscsi", "ListTargetPortals", "{}", `"targetPortals":[]`},
	})
	c.tellsNothing(t, "hush")
}

// tellsNothing checks that a word is in no log.
func (c cluster) tellsNothing(t *testing.T, word string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(c.data, "logs"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), word) {
			t.Errorf("%s has a secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	if out := c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", `findstr /s /m `+word+` C:\etc\kubernetes\logs\* & exit 0`); out != "" {
		t.Errorf("a log of csi-proxy has a secret: %s", out)
	}
}

// iscsiFlexVolume serves the guarded target's disk to a pod by a FlexVolume driver.
func (c cluster) iscsiFlexVolume(t *testing.T, machine string) {
	t.Helper()
	const folder = `C:\usr\libexec\kubernetes\kubelet-plugins\volume\exec\mullion.dev~iscsi.cmd`
	c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "mkdir "+folder)
	for _, name := range []string{"iscsi.ps1", "iscsi.cmd"} { // what the kubelet runs comes last
		c.must(t, "node", "cp", "testdata/iscsi/"+name, "win-1:"+folder+`\`+name)
	}

	pod := filepath.Join(c.home, "flex-iscsi.yaml")
	filled(t, "testdata/iscsi/flexpod.yaml", pod, strings.NewReplacer("PORTAL", machine, "TARGET", iscsitest.Guarded,
		"USER", iscsitest.User, "SECRET", iscsitest.Secret))
	c.must(t, "kubectl", "apply", "-f", pod)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/flex", "--timeout=120s")
	c.must(t, "kubectl", "exec", "flex", "--", "tool", "write", `C:\disk\kept`, "bytes by FlexVolume")
	c.prints(t, "bytes by FlexVolume", "kubectl", "exec", "flex", "--", "tool", "cat", `C:\disk\kept`)
	c.must(t, "kubectl", "delete", "-f", pod, "--timeout=90s")
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command", "@(Get-IscsiSession).Count")
		if err == nil && strings.TrimSpace(out) != "0" {
			err = fmt.Errorf("the session is still there: %s", out)
		}
		return err
	})
	c.tellsNothing(t, iscsitest.Secret)
}

// writesInPod writes to a pod's disk, which may wait for the target; what becomes of it can be received.
func (c cluster) writesInPod(t *testing.T, pod string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
		defer cancel()
		out, err := c.mullion(ctx, t, "kubectl", "exec", pod, "--", "tool", "grow", `C:\disk\waits`, "64")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		done <- err
	}()
	return done
}

// iscsiDriver serves a disk of a target to pods, one after the other. The last, three, is there in the end.
func (c cluster) iscsiDriver(t *testing.T, machine string, server *iscsitest.Server) {
	t.Helper()
	portal := `"targetPortal":{"targetAddress":"` + machine + `"}`
	c.calls(t, []proxyCall{
		{"iscsi", "AddTargetPortal", `{` + portal + `}`, "{}"},
		{"iscsi", "ConnectTarget", `{` + portal + `,"iqn":"` + iscsitest.Open + `"}`, "{}"},
	})

	out, err := c.ofProxy(t.Context(), t, "disk", "ListDiskIDs", "{}")
	serial := regexp.MustCompile(`"serialNumber": ?"(\w+)"`).FindStringSubmatch(out)
	if err != nil || serial == nil {
		t.Fatalf("the disks: %v\n%s", err, out)
	}

	c.must(t, "kubectl", "apply", "-f", "testdata/csiproxy/diskdriver.yaml")
	c.must(t, "kubectl", "rollout", "status", "daemonset/csi-disk", "--timeout=120s")
	pod := func(name string) string {
		t.Helper()
		file := filepath.Join(c.home, name+"-disk.yaml")
		filled(t, "testdata/csiproxy/diskpod.yaml", file, strings.NewReplacer("NAME", name, "SERIAL", serial[1]))
		c.must(t, "kubectl", "apply", "-f", file)
		c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/"+name, "--timeout=120s")
		return file
	}

	gone := func(file string) {
		t.Helper()
		begin := time.Now()
		c.must(t, "kubectl", "delete", "-f", file, "--timeout=150s")
		t.Logf("a pod went in %s", time.Since(begin).Round(time.Second))
	}

	first := pod("one")
	c.must(t, "kubectl", "exec", "one", "--", "tool", "write", `C:\disk\kept`, "bytes of a pod")
	c.calls(t, []proxyCall{ // who uses it keeps it
		{"iscsi", "DisconnectTarget", `{` + portal + `,"iqn":"` + iscsitest.Open + `"}`, "currently being used"},
	})

	// all of it killed: the pod has to open its volume anew, as another does
	c.must(t, "kubectl", "exec", "one", "--", "tool", "cat", `C:\disk\kept`)
	c.must(t, "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command", "Get-Volume | Write-VolumeCache")
	for _, pid := range append(c.matching("mullion-node serve ")(t), c.matching("keep-disks ")(t)...) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}

	poll(t, settle, func(ctx context.Context) error { return c.hasDisks(ctx, t) })
	gone(first)
	second := pod("two")
	c.prints(t, "bytes of a pod", "kubectl", "exec", "two", "--", "tool", "cat", `C:\disk\kept`)

	// the target goes for a moment, which the pod waits for
	server.Stop()
	wrote := c.writesInPod(t, "two")
	select {
	case err := <-wrote:
		t.Logf("the write was cached: %v", err)
	case <-time.After(5 * time.Second):
	}

	c.must(t, "kubectl", "get", "--raw", "/api/v1/nodes/win-1/proxy/stats/summary") // the kubelet waits for nothing
	server.Again()
	if err := <-wrote; err != nil {
		t.Errorf("the pod does not wait for the target: %v", err)
	}

	// and for longer than the pod waits: it goes nevertheless, and another has the disk when the target is back
	server.Stop()
	wrote = c.writesInPod(t, "two")
	gone(second)
	<-wrote
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "node/win-1", "--timeout=5s")
	server.Again()
	poll(t, 2*time.Minute, func(ctx context.Context) error { return c.hasDisks(ctx, t) })
	pod("three")
	c.prints(t, "bytes of a pod", "kubectl", "exec", "three", "--", "tool", "cat", `C:\disk\kept`)
}

// hasDisks returns an error unless the node has both disks of the open target.
func (c cluster) hasDisks(ctx context.Context, t *testing.T) error {
	t.Helper()
	out, err := c.mullion(ctx, t, "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
		"@(Get-IscsiSession | Get-Disk | Where-Object { $_.HealthStatus -eq 'Healthy' }).Count")
	if err == nil && strings.TrimSpace(out) != "2" {
		err = fmt.Errorf("not two disks: %s", out)
	}
	return err
}
