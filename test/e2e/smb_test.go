//go:build cluster

package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
)

const smbManifest = `
apiVersion: v1
kind: Secret
metadata: {name: share-user}
type: DRIVER
stringData: {username: alice, password: of-the-test-1}
---
apiVersion: v1
kind: Pod
metadata: {name: flex}
spec:
  nodeName: win-1
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: 'mullion.local/e2e:v1', args: [serve, ':80'], volumeMounts: [{name: share, mountPath: 'C:\share'}]}]
  volumes: [{name: share, flexVolume: {driver: DRIVER, secretRef: {name: share-user}, options: {source: '//MACHINE/data'}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: linked}
spec:
  nodeName: win-1
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: 'mullion.local/e2e:v1', args: [serve, ':80'], volumeMounts: [{name: share, mountPath: 'C:\share'}]}]
  volumes: [{name: share, hostPath: {path: 'C:\linked\below'}}]
---
apiVersion: v1
kind: Pod
metadata: {name: host}
spec:
  nodeName: win-1
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  securityContext: {windowsOptions: {hostProcess: true, runAsUserName: 'NT AUTHORITY\SYSTEM'}}
  containers: [{name: c, image: 'mullion.local/e2e:v1', command: ['%CONTAINER_SANDBOX_MOUNT_POINT%\app\tool.exe', sleep, 1h]}]
`

// TestFieldSMB brings up a cluster beside a server of Samba on the machine: hosts map its share, HostProcess containers
// use it by name, pods by volumes, one of them by a FlexVolume driver. The agent's end does not touch what uses it, and
// the server may go and come back. MULLION_SMB_SCRIPTS names a folder with smb.cmd, smb.ps1 and flexvolume.ps1, which
// are Microsoft's driver (https://github.com/microsoft/K8s-Storage-Plugins): then it takes the place of the test's own.
func TestFieldSMB(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"))

	const machine = "10.203.0.254" // this one's address on the underlay
	c := newCluster(t)
	text := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-smb\nnetworking:\n  underlaySubnet: 10.203.0.0/24\n" +
		"  podSubnet: 10.202.0.0/16\n  serviceSubnet: 10.93.0.0/16\nnodes:\n- {os: windows, windowsVersion: ltsc2022}\n"

	says := func(want string, args ...string) {
		t.Helper()
		if out, err := c.mullion(t.Context(), t, args...); !strings.Contains(out, want) {
			t.Errorf("mullion %s: %v, no %q in:\n%s", strings.Join(args, " "), err, want, out)
		}
	}

	on := func(args ...string) []string { return append([]string{"node", "exec", "win-1", "--"}, args...) }
	in := func(pod string, args ...string) []string {
		return append([]string{"kubectl", "exec", pod, "--"}, args...)
	}
	c.bringUp(t, text)
	server := smbtest.Start(t, "/proc/self/ns/net", machine, smbtest.Options{})
	tool := filepath.Join(c.home, "tool")
	program := filepath.Join(c.home, "smb.exe")
	for file, source := range map[string]string{
		filepath.Join(tool, "tool.exe"): "./tool", filepath.Join(tool, "winprog.exe"): "../cri/testdata/winprog",
		program: "./flexdriver",
	} {
		compile(t, "windows", source, file)
	}

	c.must(t, "image", "build", tool, "-f", "tool/image.yaml")
	driver, parts := "mullion.dev/smb.exe", []string{program}
	scripts := os.Getenv("MULLION_SMB_SCRIPTS")
	if scripts != "" {
		driver, parts = "microsoft.com/smb.cmd", nil
		for _, name := range []string{"flexvolume.ps1", "smb.ps1", "smb.cmd"} { // what the kubelet runs comes last
			parts = append(parts, filepath.Join(scripts, name))
		}
	}

	folder := `C:\usr\libexec\kubernetes\kubelet-plugins\volume\exec\` + strings.Replace(driver, "/", "~", 1)
	c.must(t, on("cmd", "/c", "mkdir "+folder)...)
	for _, from := range parts {
		c.must(t, "node", "cp", from, "win-1:"+folder+`\`+filepath.Base(from))
	}

	// the host: what is wrong is said in Windows' words
	share := `\\` + machine + `\data`
	mapping := func(password string) []string {
		return on("powershell", "-NoProfile", "-Command", `$p = ConvertTo-SecureString `+password+` -AsPlainText -Force;`+
			`$c = New-Object System.Management.Automation.PSCredential -ArgumentList 'alice', $p;`+
			`New-SmbGlobalMapping -RemotePath '`+share+`' -LocalPath G: -Credential $c`)
	}
	says("The user name or password is incorrect.", mapping("wrong")...)
	says(share, mapping(smbtest.Password)...)
	says("OK", on("powershell", "-NoProfile", "-Command", "(Get-SmbGlobalMapping -RemotePath '"+share+"').Status")...)
	c.must(t, on("cmd", "/c", `mkdir `+share+`\below & echo by-host> `+share+`\below\note & mklink /D C:\linked `+share)...)
	says("by-host", on("cmd", "/c", `type G:\below\note`)...)
	if _, err := os.Stat(filepath.Join(server.Dir, "below/note")); err != nil {
		t.Error(err)
	}

	renames := func(where string, args []string) {
		t.Helper()
		if out := c.must(t, args...); strings.Count(out, ": as on Windows") != 13 {
			t.Errorf("renames in %s: %s", where, out)
		}
	}
	c.must(t, "node", "cp", filepath.Join(tool, "winprog.exe"), "win-1:C:/winprog.exe")
	renames("the drive", on(`C:\winprog.exe`, "renames", `G:\below`))
	renames("the share", on(`C:\winprog.exe`, "renames", share))
	c.must(t, on("cmd", "/c", `echo new> G:\new & echo old> G:\old`)...)
	c.must(t, on("powershell", "-NoProfile", "-Command", `Move-Item -Force G:\new G:\old`)...)
	says("new", on("cmd", "/c", `type G:\old`)...)

	// pods
	manifest := filepath.Join(c.home, "smb.yaml")
	said := strings.NewReplacer("MACHINE", machine, "DRIVER", driver).Replace(smbManifest)
	if err := os.WriteFile(manifest, []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}

	removal := on("powershell", "-NoProfile", "-Command", "Remove-SmbGlobalMapping -RemotePath '"+share+"' -Force")
	if scripts != "" { // which map without a look at what is mapped
		c.must(t, removal...)
	}

	c.must(t, "kubectl", "apply", "-f", manifest)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/flex", "pod/linked", "pod/host", "--timeout=120s")
	says("by-host", in("flex", "tool", "cat", `C:\share\below\note`)...)
	if scripts != "" { // it was these that made the volume
		events := "Get-EventLog Application -Source KubeSMB | % { $_.Message }"
		says("mklink", on("powershell", "-NoProfile", "-Command", events)...)
	}

	says("by-host", in("linked", "tool", "cat", `C:\share\note`)...)
	says("by-host", in("host", "cmd", "/c", "type "+share+`\below\note`)...)
	c.must(t, in("linked", "tool", "write", `C:\share\by-pod`, "by-pod")...)
	says("by-pod", in("flex", "tool", "cat", `C:\share\below\by-pod`)...)
	says("cannot find", in("flex", "cmd", "/c", "type "+share+`\below\note`)...) // a container has no mappings

	renames("a pod", in("flex", `C:\app\winprog.exe`, "renames", `C:\share\below`))

	// many bytes
	big := make([]byte, 64<<20)
	for i := range big {
		big[i] = byte(i * i >> 8)
	}

	if err := os.WriteFile(filepath.Join(server.Dir, "big"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(t, in("flex", "cmd", "/c", `copy /b C:\share\big C:\big & copy /b C:\big C:\share\copied`)...)
	if copied, err := os.ReadFile(filepath.Join(server.Dir, "copied")); err != nil || sha256.Sum256(copied) != sha256.Sum256(big) {
		t.Errorf("64 MiB copied by a pod: %d bytes, %v", len(copied), err)
	}

	// the agent's end, and the server's
	for pid, command := range c.processes(t) {
		if strings.Contains(command, "mullion-node serve") {
			p, err := os.FindProcess(pid)
			if err == nil {
				err = p.Kill()
			}
			if err != nil {
				t.Error(err)
			}
		}
	}

	poll(t, settle, func(ctx context.Context) error { // exec goes by the agent
		if out, err := c.mullion(ctx, t, in("flex", "tool", "cat", `C:\share\below\note`)...); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	server.Stop()
	if out, err := c.mullion(t.Context(), t, in("flex", "tool", "write", `C:\share\lost`, "x")...); err == nil {
		t.Errorf("written without a server: %s", out)
	}

	server.Run(t)
	poll(t, settle, func(ctx context.Context) error {
		if out, err := c.mullion(ctx, t, in("flex", "tool", "write", `C:\share\back`, "back")...); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})

	poll(t, settle, func(ctx context.Context) error { // the agent is back
		out, err := c.mullion(ctx, t, on("powershell", "-NoProfile", "-Command", "(Get-SmbGlobalMapping).Status")...)
		if strings.TrimSpace(out) != "OK" {
			return fmt.Errorf("status %q: %w", out, err)
		}
		return nil
	})

	// nobody is hurt by the end of a pod, nor by that of the mapping
	begin := time.Now()
	c.must(t, "kubectl", "delete", "-f", manifest, "--timeout=90s")
	t.Logf("the pods went in %s", time.Since(begin).Round(time.Second))
	if _, err := os.Stat(filepath.Join(server.Dir, "below/by-pod")); err != nil {
		t.Errorf("what a pod had written is gone with it: %v", err)
	}

	c.must(t, removal...)
	says("cannot find", on("cmd", "/c", "dir "+share)...)
	says(share, mapping(smbtest.Password)...) // for `mullion down`
}
