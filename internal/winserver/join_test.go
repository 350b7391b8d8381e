package winserver_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/cluster-bootstrap/token/jws"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/winserver"
	"mullion.dev/mullion/internal/winserver/bundle"
	"mullion.dev/mullion/internal/winserver/journal"
)

const token = "abcdef.0123456789abcdef"

// fakeCluster is an API server that answers a Windows Server as one of Mullion's does. The node is registered when its
// kubelet has started, and Ready when its CNI plugin is configured and kube-proxy has started.
type fakeCluster struct {
	*httptest.Server
	hash, version, mode, podCIDR string
	external                     string // networking.externalNodes
	taken                        bool   // another node has the name
	server                       *windowsServer
}

func newCluster(t *testing.T) *fakeCluster {
	t.Helper()
	c := &fakeCluster{
		version:  "v1.37.1",
		mode:     "l2bridge",
		podCIDR:  "10.244.1.0/24",
		external: `"192.0.2.7"`,
	}

	c.Server = httptest.NewUnstartedServer(c)
	c.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	c.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	c.StartTLS()
	t.Cleanup(c.Close)
	hashes, err := discovery.Hashes(c.ca())
	if err != nil {
		t.Fatal(err)
	}

	c.hash = hashes[0]
	return c
}

func (c *fakeCluster) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
}

// ServeHTTP implements http.Handler.
func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	byToken := r.Header.Get("Authorization") == "Bearer "+token
	byNode := len(r.TLS.PeerCertificates) > 0
	var answer any
	switch r.Method + " " + r.URL.Path {
	case "GET /api/v1/namespaces/kube-public/configmaps/cluster-info":
		answer = c.info()
	case "GET /version":
		answer = map[string]string{"gitVersion": c.version}
	case "GET /api/v1/namespaces/mullion-system/configmaps/cluster":
		if !byToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer = map[string]any{"data": map[string]string{"cluster.json": fmt.Sprintf(`{
			"apiVersion": "mullion.dev/v1alpha1", "kind": "Cluster", "name": "c",
			"networking": {"mode": %q, "advertiseAddress": "192.0.2.1", "podSubnet": "10.244.0.0/16",
				"externalNodes": [%s]}}`, c.mode, c.external)}}

	case "GET /api/v1/nodes/win-a":
		if !c.taken && (!byNode || !c.server.runs("kubelet")) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer = c.node()

	case "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		answer = map[string]any{"status": map[string]bool{"allowed": byNode}}
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}

	_ = json.NewEncoder(w).Encode(answer) // the client says what is wrong
}

// info is cluster-info, signed with the token. Without a signature discovery says what is wrong.
func (c *fakeCluster) info() any {
	text, err := clientcmd.Write(clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{
		"": {Server: c.URL, CertificateAuthorityData: c.ca()},
	}})
	if err != nil {
		return nil
	}
	signature, err := jws.ComputeDetachedSignature(string(text), "abcdef", "0123456789abcdef")
	if err != nil {
		return nil
	}
	return map[string]any{"data": map[string]string{"kubeconfig": string(text), "jws-kubeconfig-abcdef": signature}}
}

func (c *fakeCluster) node() any {
	_, err := os.Stat(filepath.Join(c.server.Root, "etc/cni/net.d/10-mullion.conflist"))
	ready := "False"
	if err == nil && c.server.runs("kube-proxy") {
		ready = "True"
	}
	return map[string]any{
		"metadata": map[string]string{"name": "win-a"}, "spec": map[string]string{"podCIDR": c.podCIDR},
		"status": map[string]any{"conditions": []map[string]string{
			{"type": "Ready", "status": ready, "message": "no network yet"},
		}},
	}
}

// starting is a service control manager whose kubelet gets its certificate when it starts.
type starting struct {
	services.Manager
	s *windowsServer
}

func (m starting) Open(name string, rights uint32) (services.Handle, error) {
	m.s.step()
	h, err := m.Manager.Open(name, rights)
	return startingService{h, m.s, name}, err
}

func (m starting) Create(name string, c services.Change) error {
	m.s.step()
	return m.Manager.Create(name, c)
}

type startingService struct {
	services.Handle
	s    *windowsServer
	name string
}

func (h startingService) Start(args []string) error {
	h.s.step()
	if err := h.Handle.Start(args); err != nil || h.name != "kubelet" {
		return err
	}
	return os.WriteFile(filepath.Join(h.s.Root, "var/lib/kubelet/pki/kubelet-client-current.pem"), h.s.pem, 0o600)
}

func (s *windowsServer) runs(name string) bool {
	one := s.services.Find(name)
	return one != nil && one.Status.State == services.Running
}

// joining returns a server that joins the cluster, with what it asks for.
func (c *fakeCluster) joining(t *testing.T, version string) (*windowsServer, winserver.Join) {
	t.Helper()
	s := newServer(t)
	s.pem = keyPair(t)
	s.Services = starting{&s.services, s}
	c.server = s
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kubelet.exe": "Kubernetes " + version, "kube-proxy.exe": "Kubernetes " + version, "win-bridge.exe": "a",
		"host-local.exe": "b", "containerd.exe": "c", "containerd-shim-runhcs-v1.exe": "d",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("MZ "+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	o := options(strings.TrimPrefix(c.URL, "https://"), dir)
	o.Discovery.Hashes = []string{c.hash}
	return s, o
}

// keyPair returns a certificate with its key, as the kubelet has them in one file.
func keyPair(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	from := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, from, from, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
}

// said collects what a join says.
type said []string

func (s *said) say(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

func (s *said) has(text string) bool { return strings.Contains(strings.Join(*s, "\n"), text) }

// A whole join: what lies where and who reaches it, what the services run, that the token goes, that a second join
// changes nothing, and that leave leaves nothing.
func TestJoin(t *testing.T) {
	c := newCluster(t)
	s, o := c.joining(t, "v1.36.2")
	s.write(t, "etc/hosts", "there before")
	before := s.tree(t)
	var first, second said
	if err := s.Join(t.Context(), o, first.say); err != nil {
		t.Fatal(err)
	}

	if !first.has("node win-a is Ready") {
		t.Errorf("said %q", first)
	}
	after := s.tree(t)
	if strings.Contains(after, "0123456789abcdef") {
		t.Error("the token is still on the server")
	}

	for name, want := range map[string]string{
		"containerd": `"C:\Program Files\containerd\containerd.exe" --run-service --config "C:\Program Files\containerd\config.toml"`,
		"kubelet":    `C:\k\kubelet.exe --windows-service --config=C:\var\lib\kubelet\config.yaml`,
		"kube-proxy": `C:\k\kube-proxy.exe --windows-service --proxy-mode=kernelspace`,
	} {
		one := s.services.Find(name)
		if one == nil || !strings.HasPrefix(one.Config.Binary, want) || one.Status.State != services.Running ||
			one.Config.Start != services.StartAuto || len(one.Failure.Actions) == 0 {
			t.Errorf("service %s: %+v", name, one)
		}
	}

	for path, want := range map[string]winserver.Access{
		"/ProgramData/mullion-agent": winserver.Private, "/etc/kubernetes": winserver.Private,
		"/var/lib/kubelet": winserver.Private, "/var/lib/kubelet/pki": winserver.Private,
		"/var/lib/kubelet/pods":                      winserver.Volumes,
		"/etc/kubernetes/bootstrap-kubelet.conf.new": winserver.Private, // named so while it is written
		"/ProgramData/containerd":                    winserver.Private,
		"/k":                                         winserver.Readable, "/opt": winserver.Readable, "/var": winserver.Readable,
		"/etc/cni": winserver.Readable, "/Program Files": winserver.Readable,
	} {
		if is, ok := s.access[path]; !ok || is != want {
			t.Errorf("%s is reached as %v, %v; want %v", path, is, ok, want)
		}
	}

	if !first.has("the cluster does not expect a node at 127.0.0.7") {
		t.Errorf("said %q", first)
	}
	if len(s.ways) != 2 || !s.ways["10.213.0.0/16 127.0.0.1"] || !s.ways["10.244.0.0/16 127.0.0.1"] {
		t.Errorf("routes %v", s.ways)
	}
	if s.networks["cbr0"] != netip.MustParsePrefix(c.podCIDR) || s.rules["mullion-agent-kubelet"] != 10250 {
		t.Errorf("networks %v, rules %v", s.networks, s.rules)
	}

	if err := s.Join(t.Context(), o, second.say); err != nil {
		t.Fatal(err)
	}
	if again := s.tree(t); again != after || second.has("installed") || second.has("made") {
		t.Errorf("a second join said %q, and the server was\n%s\nand is\n%s", second, after, again)
	}
	if err := s.Leave(t.Context(), false, t.Logf); err != nil {
		t.Fatal(err)
	}

	if left := strings.Replace(s.tree(t), "ProgramData\n", "", 1); left != before ||
		len(s.networks)+len(s.rules)+len(s.ways) > 0 || s.ended != 1 {
		t.Errorf("left %s, networks %v, rules %v, routes %v, pods ended %d times; before it was %s", left, s.networks, s.rules,
			s.ways, s.ended, before)
	}
}

// A server behind a router makes no routes and says so; one on the cluster's own underlay needs none.
func TestJoinRoutes(t *testing.T) {
	for _, tc := range []struct{ address, says string }{
		{"192.0.2.7/24", "127.0.0.1 is no neighbour of this server"},
		{"10.213.0.11/16", ""},
	} {
		c := newCluster(t)
		s, o := c.joining(t, "v1.37.1")
		s.Address = func(string) (netip.Prefix, error) { return netip.MustParsePrefix(tc.address), nil }
		var says said
		if err := s.Join(t.Context(), o, says.say); err != nil {
			t.Fatal(err)
		}

		if len(s.ways) > 0 || !says.has(tc.says) || says.has("does not expect") || (tc.says == "" && says.has("neighbour")) {
			t.Errorf("%s: routes %v, said %q", tc.address, s.ways, says)
		}
	}
}

// What is refused before anything is changed.
func TestJoinRefused(t *testing.T) {
	for name, x := range map[string]struct {
		version string
		change  func(*fakeCluster, *windowsServer, *winserver.Join)
		is      error
	}{
		"unknown token": {"v1.37.1", func(_ *fakeCluster, _ *windowsServer, o *winserver.Join) {
			o.Discovery.Token.ID = "ffffff"
		}, discovery.ErrToken},
		"wrong secret": {"v1.37.1", func(_ *fakeCluster, _ *windowsServer, o *winserver.Join) {
			o.Discovery.Token.Secret = "aaaaaaaaaaaaaaaa"
		}, discovery.ErrSecret},
		"wrong hash": {"v1.37.1", func(_ *fakeCluster, _ *windowsServer, o *winserver.Join) {
			o.Discovery.Hashes = []string{"sha256:" + strings.Repeat("a", 64)}
		}, discovery.ErrAuthority},
		"name taken": {"v1.37.1", func(c *fakeCluster, _ *windowsServer, _ *winserver.Join) {
			c.taken = true
		}, winserver.ErrConflict},
		"overlay": {"v1.37.1", func(c *fakeCluster, _ *windowsServer, _ *winserver.Join) {
			c.mode, c.external = "overlay", ""
		}, winserver.ErrNetworkMode},
		"no programs": {"v1.37.1", func(_ *fakeCluster, _ *windowsServer, o *winserver.Join) {
			o.Bundles = nil
		}, bundle.ErrMissing},
		"kubelet newer":   {"v1.38.0", nil, winserver.ErrSkew},
		"kubelet too old": {"v1.33.9", nil, winserver.ErrSkew},
		"service of others": {"v1.37.1", func(_ *fakeCluster, s *windowsServer, _ *winserver.Join) {
			_ = s.services.Create("kubelet", services.Change{Type: services.OwnProcess}) // of the fake, which makes it
		}, winserver.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			s, o := c.joining(t, x.version)
			if x.change != nil {
				x.change(c, s, &o)
			}
			had := len(s.services.Services)
			if err := s.Join(t.Context(), o, t.Logf); !errors.Is(err, x.is) {
				t.Errorf("%v, want %v", err, x.is)
			}

			if left := strings.Replace(s.tree(t), "\nProgramData", "", 1); left != "." ||
				len(s.services.Services) != had || len(s.rules)+len(s.networks) > 0 {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// A range that is not one of the cluster's pods would take other ways from the server.
func TestJoinForeignRange(t *testing.T) {
	for _, cidr := range []string{"0.0.0.0/0", "192.0.2.0/24", "10.0.0.0/8", "fd00::/64", "10.244.1.0/31"} {
		c := newCluster(t)
		c.podCIDR = cidr
		s, o := c.joining(t, "v1.37.1")
		if err := s.Join(t.Context(), o, t.Logf); err == nil || !strings.Contains(err.Error(), "the node's range") {
			t.Errorf("%s: %v", cidr, err)
		}
		if len(s.networks) > 0 {
			t.Errorf("%s: networks %v", cidr, s.networks)
		}
	}
}

// A user may make folders in C:\ and C:\ProgramData. What a user made is used for nothing.
func TestUntrusted(t *testing.T) {
	for _, path := range []string{
		"ProgramData/mullion-agent/journal.json", "k/a.dll", "opt/a", "etc/cni/a", "var/lib/a",
	} {
		c := newCluster(t)
		s, o := c.joining(t, "v1.37.1")
		text := "x"
		if strings.HasSuffix(path, "journal.json") {
			text = `{"version": 1, "node": "win-a", "entries": [{"kind": "folder", "name": "/Windows", "made": true}]}`
		}

		s.write(t, path, text)
		s.write(t, "Windows/notepad.exe", "MZ")
		s.stranger = "/" + filepath.Dir(path)
		if err := s.Join(t.Context(), o, t.Logf); !errors.Is(err, winserver.ErrUntrusted) {
			t.Errorf("join with a user's %s: %v", path, err)
		}
		if err := s.Leave(t.Context(), false, t.Logf); err == nil && strings.HasSuffix(path, ".json") {
			t.Error("leave with a user's journal")
		}

		for _, file := range []string{path, "Windows/notepad.exe"} {
			if _, err := os.Stat(filepath.Join(s.Root, file)); err != nil {
				t.Error(err)
			}
		}
	}
}

// interrupted joins, and is killed at the step of that number, if it is not 0. It reports whether the join came so far.
func interrupted(ctx context.Context, s *windowsServer, o winserver.Join, at int) (killed bool, err error) {
	s.steps, s.killAt = 0, at
	done := make(chan struct{})
	killed = true
	go func() {
		defer close(done)
		err = s.Join(ctx, o, func(string, ...any) {}) // a step may end this goroutine
		killed = false
	}()
	<-done
	s.killAt = 0
	return killed, err
}

// A join that was killed at whichever step is repeated, and ends as one that was not; or leave takes it back.
func TestJoinKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	c := newCluster(t)
	s, o := c.joining(t, "v1.37.1")
	if _, err := interrupted(t.Context(), s, o, 0); err != nil {
		t.Fatal(err)
	}

	whole := nodeOf(t, s)
	killed, at := true, 0
	for at = 1; killed; at += 3 { // each join takes its time
		s, o := c.joining(t, "v1.37.1")
		s.write(t, "k/kubelet.exe", "MZ before")
		before := s.tree(t)
		var err error
		if killed, err = interrupted(t.Context(), s, o, at); err != nil {
			t.Fatalf("step %d: %v", at, err)
		}

		if at%2 == 0 {
			if _, err := interrupted(t.Context(), s, o, 0); err != nil {
				t.Fatalf("again after step %d: %v", at, err)
			}
			if got := nodeOf(t, s); got != whole {
				t.Fatalf("again after step %d:\n%s\nwant\n%s", at, got, whole)
			}
		}

		if err := s.Leave(t.Context(), false, t.Logf); err != nil && !errors.Is(err, journal.ErrNone) {
			t.Fatalf("leave after step %d: %v", at, err)
		}

		left := s.tree(t)
		for _, harmless := range []string{"ProgramData\n", "ProgramData/mullion-agent\n"} {
			left = strings.Replace(left, harmless, "", 1)
		}
		if left != before || len(s.networks)+len(s.rules)+len(s.ways) > 0 || s.services.Find("kubelet") != nil {
			t.Fatalf("leave after step %d left\n%s\nwant\n%s", at, left, before)
		}
	}

	if at < 40 {
		t.Errorf("a join has only %d steps", at)
	}
}

// nodeOf returns a server's tree without what differs between two nodes: the journal's text, the certificate, and the
// copy of a file that was there before.
func nodeOf(t *testing.T, s *windowsServer) string {
	t.Helper()
	journal, err := os.ReadFile(filepath.Join(s.Root, "ProgramData/mullion-agent/journal.json"))
	if err != nil {
		t.Fatal(err)
	}
	const kept = "k/kubelet.exe.before-mullion = MZ before\n"
	return strings.NewReplacer(string(journal), "", string(s.pem), "", kept, "").Replace(s.tree(t))
}

// An upgrade to programs that the API server does not go with changes nothing.
func TestUpgradeSkew(t *testing.T) {
	c := newCluster(t)
	s, o := c.joining(t, "v1.37.1")
	if err := s.Join(t.Context(), o, t.Logf); err != nil {
		t.Fatal(err)
	}
	before, dir := s.tree(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubelet.exe"), []byte("MZ Kubernetes v1.38.0"), 0o600); err != nil {
		t.Fatal(err)
	}

	err := s.Upgrade(t.Context(), []string{dir}, time.Second, t.Logf)
	if !errors.Is(err, winserver.ErrSkew) || s.tree(t) != before {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(s.Root, "ProgramData/mullion-agent/staging")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
