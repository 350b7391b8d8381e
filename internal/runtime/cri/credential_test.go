package cri_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/windows/wire/credspec"
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
	if err != nil || d.DNSName != "contoso.com" || d.Account != "WebApp1" || d.Status != credspec.NoLogonServers {
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
				"failed to generate container credential guard instance: hcs::ModifyServiceSettings: ", tt.want)
			expectStartError(t, n.Status(t, id), tt.want)
		})
	}
}

// logons are domains whose answer a test sets.
type logons struct {
	mu     sync.Mutex
	ticket credspec.Ticket
	err    error
	count  int
}

func (l *logons) set(cache string, err error) {
	const life = time.Hour
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ticket = credspec.Ticket{
		Cache: []byte(cache), Config: []byte("config"), Renew: time.Now().Add(life), End: time.Now().Add(2 * life),
	}
	l.err = err
}

func (l *logons) Logon(_ context.Context, s credspec.Spec) (credspec.Ticket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	t := l.ticket
	t.Domain = s.Domain()
	t.Domain.Status = 0
	return t, l.err
}

func (l *logons) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// TestTickets: a container gets a ticket before it starts, or does not start; a server that takes over gets another.
func TestTickets(t *testing.T) {
	l := &logons{}
	l.set("first", nil)
	n := critest.NewNode(t, func(c *cri.Config) { c.Domains = l })
	pod := n.RunPod(t, "web")
	id := n.Run(t, pod, "app", withCredential(credentialSpec))
	n.Run(t, pod, "without")
	c, _ := n.Engine.Container(id)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(c.WorkDir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if read("krb5cc") != "first" || read("krb5.conf") != "config" || !strings.Contains(read("domain"), "status=0\n") {
		t.Errorf("the container has %q, %q, %q", read("krb5cc"), read("krb5.conf"), read("domain"))
	}

	if !slices.Contains(c.Env, "KRB5CCNAME=FILE:/run/mullion/krb5cc") ||
		!slices.Contains(c.Env, "KRB5_CONFIG=/run/mullion/krb5.conf") {
		t.Errorf("variables: %q", c.Env)
	}
	for _, err := range []error{credspec.ErrRefused, credspec.ErrUnreachable} {
		l.set("", fmt.Errorf("%w: because", err))
		refused := n.Create(t, pod, "refused", withCredential(credentialSpec))
		expect(t, startContainer(t, n, refused), codes.Unknown, err.Error()+": because")
	}

	// a domain that does not answer a server that takes over: the container keeps what it has
	l.set("", credspec.ErrUnreachable)
	n.Stop(t)
	n.Start(t)
	for deadline := time.Now().Add(10 * time.Second); l.asked() < 4 && time.Now().Before(deadline); {
		<-time.After(10 * time.Millisecond)
	}

	n.Stop(t) // after which nothing is written any more
	if l.asked() != 4 || read("krb5cc") != "first" || !strings.Contains(read("domain"), "status=0\n") {
		t.Errorf("after %d logons, without the domain: %q, %q", l.asked(), read("krb5cc"), read("domain"))
	}

	l.set("second", nil)
	n.Start(t)
	deadline := time.Now().Add(10 * time.Second)
	for read("krb5cc") != "second" && time.Now().Before(deadline) {
		<-time.After(10 * time.Millisecond)
	}

	if got := read("krb5cc"); got != "second" {
		t.Errorf("after the server was taken over: %q", got)
	}
	if l.asked() != 5 {
		t.Errorf("%d logons", l.asked())
	}
}

// TestShares: a container with a credential spec has SMB shares, or is not made; one without has none.
func TestShares(t *testing.T) {
	root, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	var users []cri.ShareUser
	var refusal error
	n := critest.NewNode(t, func(c *cri.Config) {
		c.Shares = func(_ context.Context, user cri.ShareUser) (*os.File, error) {
			users = append(users, user)
			return root, refusal
		}
	})

	pod := n.RunPod(t, "web")
	id := n.Create(t, pod, "app", withCredential(credentialSpec))
	without := n.Create(t, pod, "without")
	wrong := n.Create(t, pod, "wrong", withCredential("{}")) // its start says why not
	c, _ := n.Engine.Container(id)
	if len(users) != 1 || c.Shares != root {
		t.Fatalf("mounted for %+v, and the container has %v", users, c.Shares)
	}

	u := users[0]
	if u.Container != id || u.Spec.Account().Name != "WebApp1" || u.NetNS != c.NetNS || u.Files != c.WorkDir {
		t.Errorf("mounted for %+v", u)
	}
	for _, id := range []string{without, wrong} {
		if c, _ := n.Engine.Container(id); c.Shares != nil {
			t.Errorf("container %s has shares", id)
		}
	}

	if _, err := root.Stat(); err == nil {
		t.Error("the root of the mount was not closed")
	}

	refusal = errors.New("no /dev/fuse")
	config := critest.ContainerConfig("other")
	withCredential(credentialSpec)(config)
	_, err = n.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: pod, Config: config})
	if err == nil || !strings.Contains(err.Error(), "no /dev/fuse") {
		t.Errorf("without shares: %v", err)
	}
}

// TestCredentialSpecOfHostProcess: the host's identity cannot be another.
func TestCredentialSpecOfHostProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the files of a HostProcess container belong to root")
	}

	n := critest.NewNode(t, func(c *cri.Config) {
		c.HostProcess = &cri.HostProcess{
			Name:       critest.NodeName,
			NetNS:      c.StateDir,
			BindFilter: true,
		}
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
	expect(t, startContainer(t, n, id), codes.Unknown, "The request is not supported. (0x80070032)")
}
