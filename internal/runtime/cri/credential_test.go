package cri_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/windows/credspec"
)

const credentialSpec = `{"CmsPlugins": ["ActiveDirectory"],
	"DomainJoinConfig": {"Sid": "S-1-5-21-1-2-3", "Guid": "244818ae-87ca-4fcd-92ec-e79e5252348a", "DnsName": "contoso.com",
		"MachineAccountName": "WebApp1", "DnsTreeName": "contoso.com", "NetBiosName": "CONTOSO"},
	"ActiveDirectoryConfig": {"GroupManagedServiceAccounts": [{"Name": "WebApp1", "Scope": "contoso.com"}]}}`

func withCredential(spec string) func(*containerConfig) {
	return func(c *containerConfig) {
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{CredentialSpec: spec}
	}
}

// TestCredentialSpec: a container's programs learn of the domain of its credential spec, and only they.
func TestCredentialSpec(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	with, without := n.Run(t, pod, "with", withCredential(credentialSpec)), n.Run(t, pod, "without")
	c, _ := n.Engine.Container(with)
	text, err := os.ReadFile(filepath.Join(c.WorkDir, "domain"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := credspec.ParseDomain(text)
	if err != nil || d.DnsName != "contoso.com" || d.Account != "WebApp1" || d.Status != credspec.NoLogonServers {
		t.Errorf("the domain is %+v, %v", d, err)
	}
	c, _ = n.Engine.Container(without)
	if _, err := os.Stat(filepath.Join(c.WorkDir, "domain")); !os.IsNotExist(err) {
		t.Errorf("a container without a credential spec: %v", err)
	}
}

// TestCredentialSpecRefused: a container whose credential spec cannot be honoured does not start.
func TestCredentialSpecRefused(t *testing.T) {
	for name, tt := range map[string]struct{ spec, want string }{
		"no JSON": {"{", "The parameter is incorrect. (0x80070057)"},
		"no domain": {
			strings.Replace(credentialSpec, `"DnsName": "contoso.com"`, `"DnsName": ""`, 1),
			"DomainJoinConfig has no DnsName",
		},
		"a plugin": {
			strings.Replace(credentialSpec, `{"GroupM`, `{"HostAccountConfig": {"PluginGUID": "{0}"}, "GroupM`, 1),
			"Class not registered (0x80040154)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := critest.NewNode(t)
			id := n.Create(t, n.RunPod(t, "web"), "app", withCredential(tt.spec))
			expect(t, startContainer(t, n, id), codes.Unknown,
				"failed to generate container credential guard instance: ", tt.want)
			expectStartError(t, n.Status(t, id), tt.want)
		})
	}
}

// TestCredentialSpecOfHostProcess: the host's identity cannot be another.
func TestCredentialSpecOfHostProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the files of a HostProcess container belong to root")
	}
	n := critest.NewNode(t, func(c *cri.Config) {
		c.HostProcess = &cri.HostProcess{Name: critest.NodeName, NetNS: c.StateDir, BindFilter: true}
	})
	resp, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.HostProcessPod("agent")})
	if err != nil {
		t.Fatal(err)
	}
	id := n.Create(t, resp.GetPodSandboxId(), "agent", func(c *containerConfig) {
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{
			HostProcess: true, RunAsUsername: `NT AUTHORITY\SYSTEM`, CredentialSpec: credentialSpec,
		}
	})
	expect(t, startContainer(t, n, id), codes.Unknown, "The request is not supported. (0x32)")
}
