//go:build wine

package cri

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
	"mullion.dev/mullion/internal/hostservices/tickets"
	"mullion.dev/mullion/internal/hostservices/tickets/kdctest"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// TestShareRenames: programs of a container rename files of a share in all the ways that Windows has for it.
func TestShareRenames(t *testing.T) {
	n := makeNode(t)
	n.domains = &tickets.Keys{}
	n.up(t)
	pod, config := n.pod(t, "renames")
	ns := "/var/run/netns/mt-cri-" + pod[:8]
	kdc := kdctest.Start(t, ns, kdctest.Host)
	keys := kdc.Add(t, "webapp1$")
	n.domains.Domains = []spec.Domain{{Name: "contoso.com", KDCs: []string{kdctest.Host}, Keytab: keys}}
	n.domains.Dial = proc.DialIn(ns)
	server := smbtest.Start(t, ns, kdctest.Host, smbtest.Options{
		Keytab: kdc.Add(t, "cifs/"+kdctest.Host), Account: "webapp1$@" + kdctest.Realm,
	})

	id := n.run1(t, pod, config, []string{"sleep"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{CredentialSpec: credentialSpec}
	})
	n.waitLog(t, id, "sleeping")
	const share = `\\` + kdctest.Host + `\` + smbtest.Share
	checkRenames(t, n.execIn(t, id, `C:\app\winprog.exe`, "renames", share))

	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(server.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for name, command := range map[string][]string{
		"move":        {"cmd", "/c", "move /y " + share + `\new ` + share + `\old`},
		"ren":         {"cmd", "/c", "del " + share + `\old & ren ` + share + `\new old`},
		"Move-Item":   {"powershell", "-Command", "Move-Item -Force " + share + `\new ` + share + `\old`},
		"Rename-Item": {"powershell", "-Command", "Remove-Item " + share + `\old; Rename-Item ` + share + `\new old`},
	} {
		put("old", "old")
		put("new", name)
		said := n.execIn(t, id, command...)
		got, err := os.ReadFile(filepath.Join(server.Dir, "old"))
		if err != nil || string(got) != name {
			t.Errorf("%s: %q, %v: %s", name, got, err, said)
		}

		if _, err := os.Stat(filepath.Join(server.Dir, "new")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file has its old name too: %v: %s", name, err, said)
		}
	}
}

func checkRenames(t *testing.T, said string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, line := range lines {
		if !strings.HasSuffix(strings.TrimSpace(line), ": as on Windows") {
			t.Error(line)
		}
	}
	if len(lines) != 13 {
		t.Errorf("%d ways of renaming:\n%s", len(lines), said)
	}
}
