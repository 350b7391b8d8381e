//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
	"mullion.dev/mullion/internal/hostservices/tickets/adtest"
	"mullion.dev/mullion/internal/hostservices/tickets/kdctest"
)

const gmsaManifest = `
apiVersion: windows.k8s.io/v1
kind: GMSACredentialSpec
metadata: {name: webapp1}
credspec:
  ActiveDirectoryConfig: {GroupManagedServiceAccounts: [{Name: WebApp1, Scope: contoso.com}]}
  CmsPlugins: [ActiveDirectory]
  DomainJoinConfig:
    DnsName: contoso.com
    DnsTreeName: contoso.com
    Guid: 244818ae-87ca-4fcd-92ec-e79e5252348a
    MachineAccountName: WebApp1
    NetBiosName: CONTOSO
    Sid: S-1-5-21-2126449477-2524075714-3094792973
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: webapp1-role}
rules: [{apiGroups: [windows.k8s.io], resources: [gmsacredentialspecs], verbs: [use], resourceNames: [webapp1]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: default-uses-webapp1, namespace: default}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
roleRef: {kind: ClusterRole, name: webapp1-role, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: v1
kind: Service
metadata: {name: fs}
spec: {clusterIP: None, ports: [{port: 445}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: fs-1, labels: {kubernetes.io/service-name: fs}}
addressType: IPv4
ports: [{port: 445}]
endpoints: [{addresses: [MACHINE]}]
---
apiVersion: v1
kind: Pod
metadata: {name: with}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  securityContext: {windowsOptions: {gmsaCredentialSpecName: webapp1}}
  containers: [{name: c, image: 'mullion.local/winprog:v1', args: [sleep]}]
---
apiVersion: v1
kind: Pod
metadata: {name: without}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  containers: [{name: c, image: 'mullion.local/winprog:v1', args: [sleep]}]
`

const latePod = `
apiVersion: v1
kind: Pod
metadata: {name: late}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  securityContext: {windowsOptions: {gmsaCredentialSpecName: webapp1}}
  containers: [{name: c, image: 'mullion.local/winprog:v1', args: [sleep]}]
`

// fileServer is what pods call the machine, as a file server of the domain.
const fileServer = "fs.default.svc.cluster.local"

// gmsaDomain is a domain on the machine: the keys that a node has of it, those of an HTTP service, and the folder that
// is a share of a file server. stop and start are those of the domain's controller, nil where the test does not try it.
type gmsaDomain struct {
	keys, web, share string
	stop, start      func()
}

// startMIT starts a domain of MIT's Kerberos server, beside a file server of Samba's that is in none.
func startMIT(t *testing.T, machine string) gmsaDomain {
	t.Helper()
	kdc := kdctest.Start(t, "/proc/self/ns/net", machine)
	shares := smbtest.Start(t, "/proc/self/ns/net", machine, smbtest.Options{
		Keytab: kdc.Add(t, "cifs/"+fileServer), Account: "webapp1$@" + kdctest.Realm,
	})
	return gmsaDomain{
		keys:  kdc.Add(t, "webapp1$"),
		web:   kdc.Add(t, "HTTP/web.contoso.com"),
		share: shares.Dir,
	}
}

// startAD starts a domain of Active Directory, whose controller is the file server too. The node has the keys of a
// computer of the domain that may read the service account's password.
func startAD(t *testing.T, machine string) gmsaDomain {
	t.Helper()
	d := adtest.Start(t, "/proc/self/ns/net", machine, "webapp1$")
	d.AddManaged("webapp1$")
	d.Tool("spn", "add", "cifs/"+fileServer, "DC1$")
	return gmsaDomain{
		keys:  d.Keytab(adtest.Node),
		web:   d.AddService("HTTP/web.contoso.com"),
		share: d.Dir,
		stop:  d.Stop,
		start: d.Run,
	}
}

// TestFieldGMSA brings up a cluster whose node has the keys of a domain, beside a Kerberos server, an HTTP service and
// a file server of that domain on the machine: a pod of a service account that may use the credential spec is the
// domain's account, and no other pod is. Once the domain is of MIT's server, once it is Samba's, as Active Directory.
func TestFieldGMSA(t *testing.T) {
	needs(t, ownCluster("E2E_DATA_DIR names a cluster without a domain"))
	t.Run("MIT", func(t *testing.T) { tryGMSA(t, "", startMIT) })
	t.Run("ActiveDirectory", func(t *testing.T) {
		adtest.Need(t)
		tryGMSA(t, "  hostAccount: "+adtest.Node+"\n", startAD)
	})
}

func tryGMSA(t *testing.T, settings string, start func(t *testing.T, machine string) gmsaDomain) {
	t.Helper()
	c := newCluster(t)
	const machine = "10.213.0.254" // this one's address on the underlay
	files := filepath.Join(c.home, "files")
	program := filepath.Join(files, "winprog.exe")
	compile(t, "windows", "../cri/testdata/winprog", program)

	keytab := filepath.Join(c.home, "contoso.keytab")
	text := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\ndomains:\n- name: contoso.com\n  kdcs: [" + machine + "]\n" +
		"  keytab: " + keytab + "\n" + settings + "nodes:\n- {os: windows, windowsVersion: ltsc2022}\n"
	c.bringUp(t, text)
	c.must(t, "image", "build", files, "-t", "mullion.local/winprog:v1", "--windows-version", "ltsc2022",
		"--entrypoint", `C:\winprog.exe`)
	d := start(t, machine)
	keys, err := os.ReadFile(d.keys)
	if err == nil {
		err = os.WriteFile(keytab, keys, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}

	l, err := net.Listen("tcp", machine+":8080")
	if err != nil {
		t.Fatal(err)
	}

	server := &http.Server{Handler: kdctest.Service(t, d.web), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	manifest := filepath.Join(c.home, "gmsa.yaml")
	said := strings.ReplaceAll(gmsaManifest, "MACHINE", machine)
	if err := os.WriteFile(manifest, []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}

	poll(t, settle, func(ctx context.Context) error { // the API server learns of the rights
		if out, err := c.mullion(ctx, t, "kubectl", "apply", "-f", manifest); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/with", "pod/without", "--timeout=90s")
	logon := func(pod, by string) (string, error) {
		return c.mullion(t.Context(), t, "kubectl", "exec", pod, "--", `C:\winprog.exe`, "logon", by,
			"HTTP/web.contoso.com", "http://"+machine+":8080/")
	}

	for _, by := range []string{"Negotiate", "Kerberos"} {
		if out, err := logon("with", by); err != nil || !strings.Contains(out, "200 you are webapp1$@CONTOSO.COM") {
			t.Errorf("by %s: %v: %s", by, err, out)
		}
	}

	if out, err := logon("without", "Negotiate"); err == nil || !strings.Contains(out, "no token") {
		t.Errorf("another pod: %v: %s", err, out)
	}
	if out := c.must(t, "kubectl", "exec", "with", "--", "nltest", "/query"); !strings.Contains(out, "0 0x0 NERR_Success") {
		t.Errorf("nltest: %s", out)
	}

	share := `\\` + fileServer + `\` + smbtest.Share
	in := func(pod, command string) (string, error) {
		return c.mullion(t.Context(), t, "kubectl", "exec", pod, "--", "cmd", "/c", command)
	}

	says := func(want, pod, command string) {
		t.Helper()
		if out, err := in(pod, command); !strings.Contains(out, want) {
			t.Errorf("%s in %s: %v, no %q in: %s", command, pod, err, want, out)
		}
	}
	says("by-with", "with", `echo by-with> `+share+`\note & type `+share+`\NOTE`)
	if _, err := os.Stat(filepath.Join(d.share, "note")); err != nil {
		t.Error(err)
	}

	says("completed successfully", "with", "net use "+share)
	out := c.must(t, "kubectl", "exec", "with", "--", `C:\winprog.exe`, "renames", share)
	if strings.Count(out, ": as on Windows") != 13 {
		t.Errorf("renames: %s", out)
	}

	says("Access is denied", "with", `type \\`+fileServer+`\`+smbtest.Closed+`\note`)
	says("System error 5 ", "with", `net use \\`+fileServer+`\`+smbtest.Closed)
	says("System error 53 ", "with", `net use \\`+fileServer+`\none`)
	says("cannot find the path", "without", "type "+share+`\note`)
	says("System error 53 ", "without", "net use "+share)

	// the agent's end, and that of the process that keeps the shares
	end := func(program string) {
		t.Helper()
		for pid, command := range c.processes(t) {
			if !strings.Contains(command, "mullion-node "+program) {
				continue
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	end("serve")
	until(t, settle, func() error { // exec goes by the agent
		if out, err := in("with", "type "+share+`\note`); !strings.Contains(out, "by-with") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	end("keep-shares")
	if out, err := in("with", "type "+share+`\note`); err == nil {
		t.Errorf("without the process that keeps the shares: %s", out)
	}

	says("still-runs", "with", "echo still-runs")

	if d.stop == nil {
		return
	}
	// without a controller a new container does not start, and says why; who runs, runs
	d.stop()
	late := filepath.Join(c.home, "late.yaml")
	if err := os.WriteFile(late, []byte(latePod), 0o600); err != nil {
		t.Fatal(err)
	}

	c.must(t, "kubectl", "apply", "-f", late)
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "get", "events", "--field-selector=involvedObject.name=late")
		if !strings.Contains(out, "There are currently no logon servers available") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	says("still-runs", "with", "echo still-runs")
	d.start()
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/late", "--timeout=180s")
	if out, err := logon("late", "Negotiate"); err != nil || !strings.Contains(out, "200 you are webapp1$@CONTOSO.COM") {
		t.Errorf("with the controller again: %v: %s", err, out)
	}
}
