//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
)

const csiProxyDir = "../../examples/csi-proxy"

// proxyCall is a call of csi-proxy, and what its answer or its error contains.
type proxyCall struct{ group, method, request, want string }

// noMapping is in csi-proxy's error for a share that is not mapped.
const noMapping = "No MSFT_SmbGlobalMapping objects found"

// TestFieldCSIProxy brings up a cluster beside a server of Samba on the machine, with upstream's csi-proxy.exe on its
// Windows node: first as a service, then in a HostProcess container. Every one of its groups is called by its own
// client. CSI drivers in ordinary containers, which have nothing but csi-proxy's pipes, serve a disk and a share to
// pods.
func TestFieldCSIProxy(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"),
		program("csi-proxy/csi-proxy.exe", "csi-proxy", "csi-proxy"))

	c := newCluster(t)
	const machine = "10.225.0.254" // this one's address on the underlay
	text := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-csi-proxy\nnetworking:\n" +
		"  underlaySubnet: 10.225.0.0/24\n  podSubnet: 10.226.0.0/16\n  serviceSubnet: 10.225.64.0/18\n" +
		"nodes:\n- {os: windows, windowsVersion: ltsc2022}\n"

	c.bringUp(t, text, "--wait", "15m") // on a busy machine
	server := smbtest.Start(t, "/proc/self/ns/net", machine, smbtest.Options{})
	c.csiProxyPrograms(t)

	c.csiProxyService(t)
	c.must(t, "kubectl", "apply", "-f", filepath.Join(csiProxyDir, "csi-proxy.yaml"))
	c.must(t, "kubectl", "-n", "csi-proxy", "rollout", "status", "daemonset", "--timeout=60s")
	c.csiProxyGroups(t, machine)
	c.csiProxyDisks(t)
	c.csiProxyDriver(t, machine, server)
}

// csiProxyPrograms builds the images of the example and of the driver, and puts csi-proxy.exe and its caller on the
// host.
func (c cluster) csiProxyPrograms(t *testing.T) {
	t.Helper()
	tool, driver := filepath.Join(c.home, "tool"), filepath.Join(c.home, "csi-smb")
	for file, source := range map[string]string{
		filepath.Join(tool, "tool.exe"): "./tool", filepath.Join(driver, "csiproxy.exe"): "../csi/csiproxy",
	} {
		compile(t, "windows", source, file)
	}

	proxy := filepath.Join(c.bin, "csi-proxy")
	c.must(t, "image", "build", tool, "-f", "tool/image.yaml")
	c.must(t, "image", "build", driver, "-f", "testdata/csiproxy/image.yaml")
	c.must(t, "image", "build", proxy, "-f", filepath.Join(csiProxyDir, "image.yaml"))
	c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", `mkdir C:\etc\kubernetes\node\bin`)
	for to, from := range map[string]string{
		`C:\etc\kubernetes\node\bin\csi-proxy.exe`: filepath.Join(proxy, "csi-proxy.exe"),
		`C:\service.ps1`:  filepath.Join(csiProxyDir, "service.ps1"),
		`C:\csiproxy.exe`: filepath.Join(driver, "csiproxy.exe"),
	} {
		c.must(t, "node", "cp", from, "win-1:"+to)
	}
}

// ofProxy calls csi-proxy on the host.
func (c cluster) ofProxy(ctx context.Context, t *testing.T, group, method, request string) (string, error) {
	t.Helper()
	return c.mullion(ctx, t, "node", "exec", "win-1", "--", `C:\csiproxy.exe`, "call", group, method, request)
}

// calls makes calls of csi-proxy.
func (c cluster) calls(t *testing.T, calls []proxyCall) {
	t.Helper()
	for _, tc := range calls {
		if out, err := c.ofProxy(t.Context(), t, tc.group, tc.method, tc.request); !strings.Contains(out, tc.want) {
			t.Errorf("%s %s %s: %v, no %q in:\n%s", tc.group, tc.method, tc.request, err, tc.want, out)
		}
	}
}

// csiProxyService installs csi-proxy.exe as a service, kills it, and removes it when it is back.
func (c cluster) csiProxyService(t *testing.T) {
	t.Helper()
	host := func(args ...string) {
		t.Helper()
		c.must(t, append([]string{"node", "exec", "win-1", "--"}, args...)...)
	}
	host("powershell", "-NoProfile", "-File", `C:\service.ps1`)
	answers := func(ctx context.Context) error {
		out, err := c.ofProxy(ctx, t, "system", "GetService", `{"name":"csiproxy"}`)
		if err == nil && !strings.Contains(out, `"startType":"AUTOMATIC", "status":"RUNNING"`) &&
			!strings.Contains(out, `"startType":"AUTOMATIC","status":"RUNNING"`) {
			err = fmt.Errorf("not running: %s", out)
		}
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}

		return nil
	}
	poll(t, settle, answers)
	host("taskkill", "/f", "/im", "csi-proxy.exe")
	poll(t, settle, answers)
	host("sc.exe", "stop", "csiproxy")
	host("sc.exe", "delete", "csiproxy")

	// Upstream's program serves on when its service has stopped, until the service control manager ends it.
	_, _ = c.mullion(t.Context(), t, "node", "exec", "win-1", "--", "taskkill", "/f", "/im", "csi-proxy.exe")
	poll(t, settle, func(ctx context.Context) error { // its pipes are free
		if out, err := c.ofProxy(ctx, t, "disk", "Rescan", "{}"); err == nil {
			return fmt.Errorf("the stopped service answers: %s", out)
		}
		return nil
	})
}

// csiProxyGroups calls the methods of csi-proxy's groups.
func (c cluster) csiProxyGroups(t *testing.T, machine string) {
	t.Helper()
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.ofProxy(ctx, t, "disk", "Rescan", "{}")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})

	const folder = `C:\\var\\lib\\kubelet\\plugins\\csi-proxy-test`
	share := `{"remotePath":"//` + machine + `/data"}`
	path := func(below string) string { return `{"path":"` + folder + below + `"}` }
	c.calls(t, []proxyCall{
		{"filesystem", "PathExists", path(""), `"exists":false`},
		{"filesystem", "Mkdir", path(`\\a\\b`), "{}"},
		{"filesystem", "PathExists", path(`\\a\\b`), `"exists":true`},
		{"filesystem", "CreateSymlink", `{"sourcePath":"` + folder + `\\a","targetPath":"` + folder + `\\link"}`, "{}"},
		{"filesystem", "IsSymlink", path(`\\link`), `"isSymlink":true`},
		{"filesystem", "IsSymlink", path(`\\a`), `"isSymlink":false`},
		{"filesystem", "PathExists", path(`\\link\\b`), `"exists":true`},
		{"filesystem", "Rmdir", path(`\\link`), "{}"},
		{"filesystem", "PathExists", path(`\\a\\b`), `"exists":true`},
		{"filesystem", "Rmdir", path(`\\a`), "The directory is not empty"},
		{"filesystem", "Mkdir", `{"path":"C:\\windows\\x"}`, "is not within the working directories"},
		{"filesystem-v2alpha1", "RmdirContents", path(""), "{}"},
		{"filesystem", "PathExists", path(`\\a`), `"exists":false`},
		{"filesystem", "PathExists", path(""), `"exists":true`},

		{"system", "GetService", `{"name":"kubelet"}`, `"status":"RUNNING"`},
		{"system", "GetService", `{"name":"nothere"}`, "Cannot find any service with service name 'nothere'"},
		{"system", "StopService", `{"name":"csiproxy"}`, "Cannot find any service with service name 'csiproxy'"},
		{"system", "StopService", `{}`, "The argument is null or empty"},
		{"system", "GetBIOSSerialNumber", "{}", `"serialNumber":"`},

		// there are no disks yet
		{"disk", "ListDiskIDs", "{}", `"diskIDs":{}`},
		{"disk", "ListDiskLocations", "{}", `"diskLocations":{}`},
		{"disk", "GetDiskStats", `{"diskNumber":7}`, "No MSFT_Disk objects found with property 'Number' equal to '7'"},
		{"disk", "GetDiskState", `{"diskNumber":7}`, "No MSFT_Disk objects found with property 'Number' equal to '7'"},
		{"disk", "PartitionDisk", `{"diskNumber":7}`, "error checking initialized status of disk 7"},
		{"disk", "SetDiskState", `{"diskNumber":7}`, "No MSFT_Disk objects found with property 'Number' equal to '7'"},
		{"volume", "ListVolumesOnDisk", `{"diskNumber":7}`, "No MSFT_Disk objects found"},
		{"iscsi", "ListTargetPortals", "{}", `"targetPortals":[]`},

		{"smb", "NewSmbGlobalMapping", share, "NewSmbGlobalMapping failed"},
		{"smb", "RemoveSmbGlobalMapping", share, noMapping},
	})
	c.csiProxyVolumes(t, folder)
}

// csiProxyVolumes asks csi-proxy for the volume of a folder, which is C:, and for its size.
func (c cluster) csiProxyVolumes(t *testing.T, folder string) {
	t.Helper()
	out, err := c.ofProxy(t.Context(), t, "volume-v2alpha1", "GetClosestVolumeIDFromTargetPath",
		`{"targetPath":"`+folder+`"}`)
	id := regexp.MustCompile(`"volumeId": ?("[^"]*Volume\{[^"]*")`).FindStringSubmatch(out)
	if err != nil || id == nil {
		t.Fatalf("the volume of a folder: %v\n%s", err, out)
	}

	volume := `{"volumeId":` + id[1] + `}`
	c.calls(t, []proxyCall{
		{"volume", "IsVolumeFormatted", volume, `"formatted":true`},
		{"volume", "GetVolumeStats", `{"volumeId":"\\\\?\\Volume{none}\\"}`, "No MSFT_Volume objects found"},
		{"volume", "GetDiskNumberFromVolumeID", volume, "error getting disk number"},
		{"volume", "FormatVolume", volume, "Access denied: the drive C: is a folder of the machine."},
		{"volume", "ResizeVolume", volume, "The drive C: is on no disk"},
		{"volume", "MountVolume", `{"targetPath":"` + folder + `","volumeId":` + id[1] + `}`, "The drive C: is on no disk"},
	})

	out, err = c.ofProxy(t.Context(), t, "volume", "GetVolumeStats", volume)
	size := regexp.MustCompile(`"totalBytes": ?"(\d+)"`).FindStringSubmatch(out)
	df, dfErr := exec.CommandContext(t.Context(), "stat", "-f", "-c", "%b %S", c.data).Output()
	var blocks, each uint64
	if dfErr == nil {
		_, dfErr = fmt.Sscan(string(df), &blocks, &each)
	}
	if err != nil || size == nil || dfErr != nil {
		t.Fatalf("the size of C: %v, %v\n%s", err, dfErr, out)
	}

	if want := fmt.Sprint(blocks * each); size[1] != want {
		t.Errorf("C: has %s bytes, the file system that it is on %s", size[1], want)
	}
}

// csiProxyDriver serves a share to pods by the driver.
func (c cluster) csiProxyDriver(t *testing.T, machine string, server *smbtest.Server) {
	t.Helper()
	const wrong = "hush-of-the-test-2"
	share := `{"remotePath":"//` + machine + `/data"}`
	pod := func(name, password string) string {
		t.Helper()
		file := filepath.Join(c.home, name+".yaml")
		filled(t, "testdata/csiproxy/pod.yaml", file,
			strings.NewReplacer("NAME", name, "MACHINE", machine, "PASSWORD", password))
		return file
	}
	c.must(t, "kubectl", "apply", "-f", "testdata/csiproxy/driver.yaml")
	c.must(t, "kubectl", "rollout", "status", "daemonset/csi-smb", "--timeout=120s")
	c.prints(t, "registered: true", "kubectl", "logs", "daemonset/csi-smb")
	c.prints(t, "smb.e2e.mullion.dev=win-1", "kubectl", "get", "csinode", "win-1", "-o",
		"jsonpath={range .spec.drivers[*]}{.name}={.nodeID}{end}")

	// wrong credentials
	stranger := pod("stranger", wrong)
	c.must(t, "kubectl", "apply", "-f", stranger)
	c.prints(t, "The user name or password is incorrect.", "kubectl", "get", "events",
		"--field-selector=reason=FailedMount")
	for _, args := range [][]string{
		{"kubectl", "get", "events", "-o", "yaml"},
		{"kubectl", "logs", "daemonset/csi-smb"},
		{"kubectl", "-n", "csi-proxy", "logs", "daemonset/csi-proxy"},
	} {
		if strings.Contains(c.must(t, args...), wrong) {
			t.Errorf("mullion %s names the password", strings.Join(args, " "))
		}
	}

	c.must(t, "kubectl", "delete", "-f", stranger, "--timeout=60s")

	// right ones
	first := pod("first", smbtest.Password)
	c.must(t, "kubectl", "apply", "-f", first)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/first", "--timeout=120s")
	if err := os.WriteFile(filepath.Join(server.Dir, "by-linux"), []byte("bytes of Linux"), 0o600); err != nil {
		t.Fatal(err)
	}

	c.prints(t, "bytes of Linux", "kubectl", "exec", "first", "--", "tool", "cat", `C:\share\by-linux`)
	c.must(t, "kubectl", "exec", "first", "--", "tool", "write", `C:\share\by-pod`, "bytes of Windows")
	if got, err := os.ReadFile(filepath.Join(server.Dir, "by-pod")); err != nil || string(got) != "bytes of Windows" {
		t.Errorf("what the pod wrote: %q, %v", got, err)
	}
	// csi-proxy maps with -RequirePrivacy
	if clients := server.Clients(t); !strings.Contains(clients, " AES-128-GCM") {
		t.Errorf("the connection is not encrypted:\n%s", clients)
	}

	c.prints(t, "OK", "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
		`(Get-SmbGlobalMapping -RemotePath '\\`+machine+`\data').Status`)

	// csi-proxy.exe killed: what is mounted stays, and a new pod gets the share when it is back
	c.must(t, "node", "exec", "win-1", "--", "taskkill", "/f", "/im", "csi-proxy.exe")
	c.prints(t, "bytes of Linux", "kubectl", "exec", "first", "--", "tool", "cat", `C:\share\by-linux`)
	second := pod("second", smbtest.Password)
	c.must(t, "kubectl", "apply", "-f", second)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/second", "--timeout=120s")
	c.prints(t, "bytes of Windows", "kubectl", "exec", "second", "--", "tool", "cat", `C:\share\by-pod`)

	begin := time.Now()
	c.must(t, "kubectl", "delete", "-f", first, "-f", second, "--timeout=90s")
	t.Logf("the pods went in %s", time.Since(begin).Round(time.Second))
	if _, err := os.Stat(filepath.Join(server.Dir, "by-pod")); err != nil {
		t.Errorf("what a pod had written is gone with it: %v", err)
	}

	poll(t, settle, func(ctx context.Context) error { // the driver has been told of the ends
		logs, err := c.mullion(ctx, t, "kubectl", "logs", "daemonset/csi-smb")
		if err == nil && (!strings.Contains(logs, "unstage first") || !strings.Contains(logs, "unstage second")) {
			err = fmt.Errorf("no end of both volumes: %s", logs)
		}
		return err
	})

	c.calls(t, []proxyCall{
		{"smb", "RemoveSmbGlobalMapping", share, "{}"},
		{"smb", "RemoveSmbGlobalMapping", share, noMapping},
	})
}
