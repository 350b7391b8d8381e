package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/spec"
)

// secrets is an API server that has Secrets and nothing else.
type secrets struct {
	t    *testing.T
	kept map[string]corev1.Secret
	// silent is the method of requests that get no answer.
	silent string
}

// serve starts it and makes it the machine's.
func (m *machine) serveSecrets() *secrets {
	m.t.Helper()
	s := &secrets{t: m.t, kept: map[string]corev1.Secret{}}
	server := httptest.NewServer(s)
	m.t.Cleanup(server.Close)
	m.write(m.paths.AdminKubeconfig(), clitest.Kubeconfig(server.URL))
	return s
}

func (s *secrets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const all = "/api/v1/namespaces/kube-system/secrets"
	name := path.Base(r.URL.Path)

	_, there := s.kept[name]
	switch {
	case r.Method == s.silent:
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // before that, nobody is seen to go
			s.t.Error(err)
		}
		<-r.Context().Done() // until nobody waits any more
	case r.Method == http.MethodGet && r.URL.Path == all:
		list := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
		for _, secret := range s.kept {
			list.Items = append(list.Items, secret)
		}
		s.answer(w, http.StatusOK, list)
	case r.Method == http.MethodPost && r.URL.Path == all:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.t.Error(err)
		}

		var secret corev1.Secret
		if _, _, err := kubeclient.Codecs().UniversalDeserializer().Decode(body, nil, &secret); err != nil {
			s.t.Error(err)
		}
		if _, there := s.kept[secret.Name]; there {
			s.refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
			return
		}

		secret.APIVersion = "v1"
		secret.Kind = "Secret"
		secret.Data = map[string][]byte{}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(value)
		}
		s.kept[secret.Name] = secret
		s.answer(w, http.StatusCreated, secret)
	case r.Method == http.MethodDelete && there:
		delete(s.kept, name)
		s.answer(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	default:
		s.refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

func (s *secrets) refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	status := metav1.Status{
		Status:  metav1.StatusFailure,
		Reason:  reason,
		Message: string(reason),
		Code:    int32(code),
	}
	status.APIVersion, status.Kind = "v1", "Status"
	s.answer(w, code, status)
}

func (s *secrets) answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Error(err)
	}
}

const ownToken = "abcdef.0123456789abcdef"

func TestTokens(t *testing.T) {
	m := newMachine(t)
	m.describe(several)
	kept := m.serveSecrets()
	m.run("token", "list").check(t, ExitOK, "TOKEN  EXPIRES  DESCRIPTION\n", "")
	m.run("token", "list", "-o", "json").check(t, ExitOK, "[]\n", "")

	m.run("token", "create", ownToken, "--ttl", "0", "--description", "for ever").check(t, ExitOK, ownToken+"\n", "")
	m.run("token", "create", ownToken).refused(t, ExitConflict, `the cluster already has a token with the ID "abcdef"`,
		"delete it first (`mullion token delete abcdef`), or choose another ID (the first six characters)")
	made := m.run("token", "create", "--ttl", "1h")
	id, _, ok := strings.Cut(strings.TrimSuffix(made.out, "\n"), ".")
	if !ok || !regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}\n$`).MatchString(made.out) || made.code != ExitOK {
		t.Errorf("made %q, exit code %d: %s", made.out, made.code, made.err)
	}

	ends := string(kept.kept["bootstrap-token-"+id].Data["expiration"])
	if at, err := time.Parse(time.RFC3339, ends); err != nil || time.Until(at) > time.Hour ||
		time.Until(at) < 59*time.Minute {
		t.Errorf("ends %s, %v", ends, err)
	}

	list := m.run("token", "list")
	if !regexp.MustCompile(`(?m)^abcdef +never +for ever$`).MatchString(list.out) ||
		!regexp.MustCompile(`(?m)^`+id+` +`+ends+` *$`).MatchString(list.out) {
		t.Errorf("list says:\n%s", list.out)
	}

	asJSON := m.run("token", "list", "-o", "json")
	var told []map[string]any
	if err := json.Unmarshal([]byte(asJSON.out), &told); err != nil || len(told) != 2 {
		t.Errorf("%v: %s", err, asJSON.out)
	}

	for _, text := range []string{list.out, asJSON.out} {
		if strings.Contains(text, "0123456789abcdef") {
			t.Errorf("a list tells a secret:\n%s", text)
		}
	}

	m.run("token", "delete", ownToken).check(t, ExitOK, "", "")
	m.run("token", "delete", id).check(t, ExitOK, "", "")
	if len(kept.kept) > 0 {
		t.Errorf("kept %v", kept.kept)
	}

	m.run("token", "delete", "abcdef").refused(t, ExitNotFound, "the cluster has no such token",
		"`mullion token list` lists them")
	m.run("token", "delete").refused(t, ExitUsage, "`mullion token delete` takes TOKEN, got 0 argument(s)",
		"see `mullion token delete --help`")
	m.run("token", "create", "a", "b").refused(t, ExitUsage, "`mullion token create` takes at most one token, got 2",
		"see `mullion token create --help`")
}

// TestTokensOfAnAPIThatDoesNotAnswer has each command end, whatever it is that gets no answer.
func TestTokensOfAnAPIThatDoesNotAnswer(t *testing.T) {
	m := newMachine(t)
	m.describe(several)
	kept := m.serveSecrets()
	m.run("token", "create", ownToken).check(t, ExitOK, ownToken+"\n", "")
	m.calls.Patience = 2 * time.Second // enough for what is answered, on a busy machine too
	for method, tt := range map[string]struct{ args, what string }{
		http.MethodGet:    {"token list", "list bootstrap tokens"},
		http.MethodPost:   {"token create", "create bootstrap token"},
		http.MethodDelete: {"token delete abcdef", `remove bootstrap token "abcdef"`},
	} {
		kept.silent = method
		got := m.run(strings.Fields(tt.args)...)
		got.has(t, ExitInternal, "mullion: "+tt.what+": ")
		if got.out != "" || !strings.Contains(got.err, "context deadline exceeded") {
			t.Errorf("%s: printed %q, said %s", tt.args, got.out, got.err)
		}
	}
}

// TestTokensOfAClusterOfOneMachine are none that another could use.
func TestTokensOfAClusterOfOneMachine(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	kept := m.serveSecrets()
	m.run("token", "create").refused(t, ExitConflict,
		"other machines cannot join this cluster: it has no advertised address",
		"bring a cluster up with `mullion server --advertise-address ADDRESS`, "+
			"or with networking.advertiseAddress in cluster.yaml")
	if len(kept.kept) > 0 {
		t.Errorf("kept %v", kept.kept)
	}
}

// TestTokensOfAHalfMadeCluster holds that a cluster is none of an administrator's until it has given out a kubeconfig.
func TestTokensOfAHalfMadeCluster(t *testing.T) {
	m := newMachine(t)
	m.describe(several)
	for _, args := range [][]string{{"token", "list"}, {"token", "create"}, {"kubeconfig"}, {"kubectl", "get", "nodes"}} {
		m.run(args...).refused(t, ExitNotFound, `no cluster in "DATA"`,
			"bring one up with `mullion up`, or name its folder with --data-dir")
	}
}

// TestServer brings up a control plane and prints the command by which others join, which join understands.
func TestServer(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	kept := m.serveSecrets()
	dir := filepath.Join(m.paths.Data, "pki")
	if _, err := pki.Ensure(dir, pki.SANs{}, time.Now()); err != nil {
		t.Fatal(err)
	}

	m.calls.up = func(_ context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		o.Spec.Networking.APIServerPort = 6443
		m.describe(func(c *spec.Cluster) { *c = o.Spec })
		return o.Spec, nil
	}

	got := m.run("server", "--advertise-address", "192.0.2.10", "--kubeconfig", "none")
	got.out = clitest.Untimed(got.out)
	line := regexp.MustCompile(`(?m)^  (mullion join --server 192\.0\.2\.10:6443 --token [a-z0-9]{6}\.[a-z0-9]{16} ` +
		`--ca-cert-hash sha256:[0-9a-f]{64})$`).FindStringSubmatch(got.out)
	if line == nil || got.code != ExitOK {
		t.Fatalf("exit code %d, no command:\n%s%s", got.code, got.out, got.err)
	}

	got.has(t, ExitOK, "Cluster \"mullion\" is ready after N.Ns: 0 node(s). No kubeconfig was changed",
		"On another machine, as root, within "+bootstrap.DefaultTokenLife.String()+":",
		"Later: mullion token create --print-join-command")
	if len(kept.kept) != 1 {
		t.Errorf("the API has %d tokens", len(kept.kept))
	}

	// Nodes that Mullion does not run are named on a cluster that is up.
	m.run("server", "--external-nodes", "192.0.2.77,192.0.2.96/28", "--kubeconfig", "none").has(t, ExitOK, `Cluster "mullion" is ready`)
	if c, err := m.paths.LoadSpec(); err != nil || len(c.Networking.External()) != 2 {
		t.Errorf("external nodes %v: %v", c.Networking.ExternalNodes, err)
	}
	m.run("server", "--external-nodes", "win-server", "--kubeconfig", "none").has(t, ExitUsage,
		`mullion: --external-nodes: networking.externalNodes[0]: "win-server" is not an IPv4 address`)

	m.run("server", "--external-nodes", "", "--kubeconfig", "none").has(t, ExitOK, `Cluster "mullion" is ready`)
	if c, err := m.paths.LoadSpec(); err != nil || len(c.Networking.ExternalNodes) > 0 {
		t.Errorf("external nodes %v: %v", c.Networking.ExternalNodes, err)
	}

	other := newMachine(t)
	other.env.Euid = 1000
	other.run(strings.Fields(line[1])[1:]...).has(t, ExitRequirement,
		"mullion: this needs root, as it makes network namespaces")

	again := m.run("token", "create", ownToken, "--print-join-command")
	want := strings.Replace(line[1], strings.Fields(line[1])[5], ownToken, 1) + "\n"
	again.check(t, ExitOK, want, "")
}

// TestTokenForWindows prints the line of PowerShell with which a Windows Server joins, and makes no token where there
// is no agent to join with.
func TestTokenForWindows(t *testing.T) {
	m := newMachine(t)
	m.describe(several)
	kept := m.serveSecrets()
	if _, err := pki.Ensure(filepath.Join(m.paths.Data, "pki"), pki.SANs{}, time.Now()); err != nil {
		t.Fatal(err)
	}

	create := []string{"token", "create", ownToken, "--print-windows"}
	m.run(create...).has(t, ExitRequirement, "mullion: read the agent for Windows: ", "→ `make agent` builds it")
	if len(kept.kept) > 0 {
		t.Errorf("kept %v", kept.kept)
	}

	agent := filepath.Join(m.paths.Bin, "windows", "mullion-agent.exe")
	m.write(agent, "MZ")
	got := m.run(create...)
	hash := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(got.out)
	sum := sha256.Sum256([]byte("MZ"))
	want := "if ((Get-FileHash .\\mullion-agent.exe).Hash -ne '" + strings.ToUpper(hex.EncodeToString(sum[:])) +
		"') { throw 'mullion-agent.exe is not the file of the cluster''s machine' }; .\\mullion-agent.exe join " +
		"192.0.2.10:6443 --token " + ownToken + " --discovery-token-ca-cert-hash " + hash + " --bundle .\n"
	if got.out != want || hash == "" || got.code != ExitOK ||
		!strings.HasPrefix(got.err, "Copy BIN/windows/mullion-agent.exe ") {
		t.Errorf("exit code %d, printed\n%swant\n%ssaid\n%s", got.code, got.out, want, got.err)
	}

	m.run("token", "create", "--print-windows", "--print-join-command").refused(t, ExitUsage,
		"--print-join-command and --print-windows exclude each other",
		"the first is for a machine with Mullion, the second for a Windows Server")
}
