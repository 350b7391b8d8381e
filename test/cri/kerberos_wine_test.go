//go:build wine

package cri

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/hostservices/tickets"
	"mullion.dev/mullion/internal/hostservices/tickets/kdctest"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// TestKerberos: a container with a credential spec logs on at an HTTP server as its service account, with a ticket that
// the node has got with the keys that it alone holds. Another container of the same pod cannot, and one whose account
// the domain does not know does not start.
func TestKerberos(t *testing.T) {
	n := makeNode(t)
	n.domains = &tickets.Keys{}
	n.up(t)
	pod, config := n.pod(t, "kerberos")
	ns := "/var/run/netns/mt-cri-" + pod[:8]
	kdc := kdctest.Start(t, ns, kdctest.Host)
	keys := kdc.Add(t, "webapp1$")
	n.domains.Domains = []spec.Domain{{Name: "contoso.com", KDCs: []string{kdctest.Host}, Keytab: keys}}
	n.domains.Dial = proc.DialIn(ns)
	serveKerberos(t, ns, kdc.Add(t, "HTTP/web.contoso.com"))

	with := n.run1(t, pod, config, []string{"sleep"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{
			CredentialSpec: credentialSpec, RunAsUsername: "ContainerUser",
		}
	})

	without := n.run1(t, pod, config, []string{"sleep"}, func(c *runtimeapi.ContainerConfig) {
		c.Metadata.Name, c.LogPath = "d", `d\0.log`
	})
	n.waitLog(t, with, "sleeping")
	n.waitLog(t, without, "sleeping")
	const target, url = "HTTP/web.contoso.com", "http://127.0.0.1:8080/"
	for _, pkg := range []string{"Kerberos", "Negotiate"} {
		got := n.execIn(t, with, `C:\app\winprog.exe`, "logon", pkg, target, url)
		if want := "200 you are webapp1$@CONTOSO.COM\n"; got != want {
			t.Errorf("%s: got %q, want %q", pkg, got, want)
		}
	}

	got := n.execIn(t, without, `C:\app\winprog.exe`, "logon", "Kerberos", target, url)
	if !strings.HasPrefix(got, "no token: ") {
		t.Errorf("another container: %q", got)
	}
	got = n.execIn(t, with, "nltest", "/sc_verify:contoso.com")
	if !strings.Contains(got, "Trust Verification Status = 0 0x0 NERR_Success") {
		t.Errorf("nltest: %s", got)
	}

	got = n.execIn(t, with, "klist")
	for _, want := range []string{"Client: webapp1$ @ CONTOSO.COM", "Server: krbtgt/CONTOSO.COM @ CONTOSO.COM", "AES-256-CTS"} {
		if !strings.Contains(got, want) {
			t.Errorf("klist lacks %q: %s", want, got)
		}
	}

	// The keys are nowhere in the container.
	found, err := filepath.Glob(filepath.Join(n.dir, "cri", "work", with, "run", "*"))
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range found {
		if strings.Contains(filepath.Base(f), "keytab") {
			t.Errorf("the container has %s", f)
		}
	}

	kdc.Remove(t, "webapp1$")
	refused := n.create(t, pod, config, []string{"sleep"}, func(c *runtimeapi.ContainerConfig) {
		c.Metadata.Name, c.LogPath = "e", `e\0.log`
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{CredentialSpec: credentialSpec}
	})
	_, err = n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: refused})
	if err == nil || !strings.Contains(err.Error(), "The user name or password is incorrect. (0x52e)") {
		t.Errorf("an account that the domain does not know: %v", err)
	}
}

// serveKerberos serves HTTP on the loopback of a network namespace, and tells clients that log on who they are.
func serveKerberos(t *testing.T, ns, keys string) {
	t.Helper()
	var l net.Listener
	if err := netns.Do(ns, func() (err error) {
		l, err = net.Listen("tcp", "127.0.0.1:8080")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: kdctest.Service(t, keys)}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}
