//go:build wine

package cri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const credentialSpec = `{"CmsPlugins": ["ActiveDirectory"],
	"DomainJoinConfig": {"Sid": "S-1-5-21-1-2-3", "Guid": "244818ae-87ca-4fcd-92ec-e79e5252348a", "DnsName": "contoso.com",
		"MachineAccountName": "WebApp1", "DnsTreeName": "contoso.com", "NetBiosName": "CONTOSO"},
	"ActiveDirectoryConfig": {"GroupManagedServiceAccounts": [{"Name": "WebApp1", "Scope": "contoso.com"}]}}`

// TestCredentialSpec: a container is in the domain of its credential spec, and another one is in none.
func TestCredentialSpec(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "gmsa")
	with := n.run1(t, pod, config, []string{"sleep"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{CredentialSpec: credentialSpec}
	})

	other, otherConfig := n.pod(t, "other")
	without := n.run1(t, other, otherConfig, []string{"sleep"}, nil)
	n.waitLog(t, with, "sleeping")
	n.waitLog(t, without, "sleeping")
	nltest := func(id, what string) (string, int32) {
		t.Helper()
		resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id, Cmd: []string{"nltest", what}, Timeout: 30,
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(resp.GetStdout()), "\r\n", "\n"), resp.GetExitCode()
	}

	const completed = "The command completed successfully\n"
	if got, code := nltest(with, "/PARENTDOMAIN"); got != "contoso.com. (1)\n"+completed || code != 0 {
		t.Errorf("the domain: %q, exit code %d", got, code)
	}
	if got, code := nltest(without, "/PARENTDOMAIN"); !strings.Contains(got, "RPC_S_SERVER_UNAVAILABLE") || code == 0 {
		t.Errorf("the domain of another container: %q, exit code %d", got, code)
	}

	if got, _ := nltest(with, "/query"); !strings.Contains(got, "ERROR_NO_LOGON_SERVERS") {
		t.Errorf("without a domain controller: %q", got)
	}
	ask := func(id string) string { return n.execIn(t, id, `C:\app\winprog.exe`, "domain") }
	if got := ask(with); got != "join: 0 3 CONTOSO\ndc: 1355\ndc, narrow: 1355\n" {
		t.Errorf("what Windows' functions say: %s", got)
	}

	if got := ask(without); !strings.HasPrefix(got, "join: 0 2 ") {
		t.Errorf("what they say in another container: %s", got)
	}
	file := filepath.Join(n.dir, "cri", "work", with, "run", "domain")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	known := string(text) + "dc=dc1.contoso.com\naddress=10.0.0.5\n"
	if err := os.WriteFile(file, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "join: 0 3 CONTOSO\ndc: 0 \\\\dc1.contoso.com \\\\10.0.0.5 1 {244818AE-87CA-4FCD-92EC-E79E5252348A} contoso.com contoso.com\n" +
		"dc, narrow: 0 \\\\dc1.contoso.com \\\\10.0.0.5\n"
	if got := ask(with); got != want {
		t.Errorf("with a domain controller: %s\nwant %s", got, want)
	}

	// A container writes there what it likes.
	for _, wrong := range []string{"", "=\n\n=", "netbios=A\ndns=" + strings.Repeat("x", 5000), strings.Repeat("\xff\n", 3000)} {
		if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ask(with); !strings.HasPrefix(got, "join: 0 ") {
			t.Errorf("with %.10q: %s", wrong, got)
		}
		if got, code := nltest(with, "/PARENTDOMAIN"); code != 0 && !strings.Contains(got, "RPC_S_SERVER_UNAVAILABLE") {
			t.Errorf("with %.10q: %q, exit code %d", wrong, got, code)
		}
	}
}
