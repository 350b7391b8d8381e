package diagnose

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/export"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/diagnose"
)

// machine is one with these commands, of whose own cluster `mullion collect` has nothing.
type machine struct{ *clitest.Machine }

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command {
		none := func(context.Context, string, *export.Options) error { return nil }
		return []*cobra.Command{New(r), NewCollect(r, none)}
	}
	return m
}

// serveNodes has an API server with one Windows node, which is Ready or not, and with nothing else. forbidden is a path
// that nobody may read, or "PATH broken" one at which the server fails.
func (m *machine) serveNodes(ready, forbidden string) (url string) {
	m.T.Helper()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var body string
		switch {
		case r.URL.Path == forbidden:
			w.WriteHeader(http.StatusForbidden)
			body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`
		case r.URL.Path+" broken" == forbidden:
			w.WriteHeader(http.StatusTeapot)
		case r.URL.Path == "/version":
			body = `{"gitVersion":"v1.37.1"}`
		case r.URL.Path == "/api/v1/nodes":
			body = `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"win-1"},"status":{"nodeInfo":{` +
				`"operatingSystem":"windows"},"conditions":[{"type":"Ready","status":"` + ready + `","reason":"KubeletNotReady",` +
				`"message":"PLEG is not healthy"}]}},{"metadata":{"name":"linux-1"},"status":{"nodeInfo":{"operatingSystem":"linux"}}}]}`

		case strings.HasSuffix(r.URL.Path, "/configz"):
			body = `{"kubeletconfig":{"clusterDNS":["169.254.20.10"]}}`
		case strings.HasSuffix(r.URL.Path, "s") && !strings.Contains(r.URL.Path, "windows.k8s.io"):
			body = `{"kind":"List","apiVersion":"v1","items":[]}`
		default:
			w.WriteHeader(http.StatusNotFound)
			body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"no","code":404}`
		}

		_, _ = w.Write([]byte(body))
	}))

	m.T.Cleanup(server.Close)
	return server.URL
}

// own is a cluster whose API server is that; its user is not root, and its nodes do not answer.
func (m *machine) own(url string) {
	m.T.Helper()
	m.ReadBy(clitest.Answers{
		"cluster":               clitest.Cluster(url),
		"kubeconfig":            clitest.Said(clitest.Kubeconfig(url)),
		"ask/{node}/{question}": clitest.Refuses(view.Down, "node win-1: the host is down"),
	})
}

const notAsked = "cannot tell: node-service-stopped, flannel-source-vip, pod-folder-left\n" +
	"  why: what the nodes say of themselves: node win-1: the host is down\n"

func TestDiagnoseFindsNothing(t *testing.T) {
	m := newMachine(t)
	m.own(m.serveNodes("True", ""))
	m.Run("diagnose").Check(t, exit.OK,
		notAsked+"43 probes on 1 Windows node: 0 found something, 40 nothing, 3 cannot tell\n", "")
}

func TestDiagnoseFinds(t *testing.T) {
	m := newMachine(t)
	m.own(m.serveNodes("False", ""))
	m.Run("diagnose", "win-1").Has(t, exit.Findings,
		"node win-1: a node is not Ready [node-not-ready]",
		"    | condition Ready is False, KubeletNotReady: PLEG is not healthy",
		"43 probes on 1 Windows node: 1 found something, 39 nothing, 3 cannot tell",
		"mullion: diagnose: 1 trouble(s) found",
	)

	got := m.Run("diagnose", "-o", "json")
	var out struct {
		Server string `json:"serverVersion"`
		Nodes  []string
		Probes []struct {
			ID      string
			Verdict diagnose.Verdict
		}
	}

	if err := json.Unmarshal([]byte(got.Out), &out); err != nil || out.Server != "v1.37.1" || len(out.Nodes) != 1 ||
		len(out.Probes) != len(diagnose.Probes()) || got.Code != exit.Findings {
		t.Errorf("%v, exit code %d:\n%s", err, got.Code, got.Out)
	}
}

// TestDiagnoseOfAnother: a cluster of others is asked by a person's own kubeconfig.
func TestDiagnoseOfAnother(t *testing.T) {
	m := newMachine(t)
	file := filepath.Join(filepath.Dir(m.Paths.Data), ".kube", "config")
	m.Write(file, clitest.Kubeconfig(m.serveNodes("False", "")))
	m.Run("diagnose", "--kubeconfig", file).Has(t, exit.Findings, "node win-1: a node is not Ready [node-not-ready]")
	m.Run("diagnose", "--context", "nosuch").Has(t, exit.Usage, `mullion: read kubeconfig: context "nosuch" does not exist`)
	m.Run("diagnose", "--kubeconfig", "nosuch").Has(t, exit.Usage, "mullion: read kubeconfig: stat nosuch: no such file")
}

func TestDiagnoseCannotAsk(t *testing.T) {
	m := newMachine(t)
	m.Run("diagnose").Has(t, exit.NotFound, "mullion: no cluster in ")
	m.own(m.serveNodes("True", "/api/v1/nodes"))
	m.Run("diagnose").Has(t, exit.Requirement, "mullion: list nodes: ", "→ see whether `kubectl get nodes` works")
	m.own(m.serveNodes("True", "/api/v1/events broken"))
	m.Run("diagnose").Has(t, exit.Requirement, "  why: events: ",
		"mullion: diagnose: nothing found, but not all could be looked at: ",
		"→ see whether the API server answers, then look again")
	m.own("http://127.0.0.1:1")
	m.Run("diagnose").Has(t, exit.Requirement, "mullion: ask the API server for its version: ")
}

// TestDiagnoseWithoutRoot: who reads the own cluster without root may not see how kubelets are configured, and is told
// so. All else is well, and that is what the exit code says.
func TestDiagnoseWithoutRoot(t *testing.T) {
	m := newMachine(t)
	url := m.serveNodes("True", "/api/v1/nodes/win-1/proxy/configz")
	m.own(url)
	m.Env.Args = nil
	got := m.Run("--data-dir", m.Paths.Data, "diagnose")
	got.Has(t, exit.OK, "  why: kubelets' configuration: not permitted: node win-1: ",
		"With root, all is looked at: sudo BIN/mullion --data-dir DATA diagnose\n")

	got = m.Run("--data-dir", m.Paths.Data, "diagnose", "-o", "json")
	if !json.Valid([]byte(got.Out)) || got.Code != exit.OK {
		t.Errorf("as JSON it ends with %d:\n%s", got.Code, got.Out)
	}

	// What is wrong is found all the same.
	m.own(m.serveNodes("False", "/api/v1/nodes/win-1/proxy/configz"))
	m.Run("diagnose").Has(t, exit.Findings, "node win-1: a node is not Ready [node-not-ready]")

	// Of another cluster, who may not read has to take another kubeconfig.
	file := filepath.Join(filepath.Dir(m.Paths.Data), ".kube", "config")
	m.Write(file, clitest.Kubeconfig(url))
	m.Run("diagnose", "--kubeconfig", file).Has(t, exit.Requirement, "→ use a kubeconfig whose user may read")
}

func TestDiagnoseRefuses(t *testing.T) {
	m := newMachine(t)
	m.own(m.serveNodes("True", ""))
	m.Run("diagnose", "linux-1").Refused(t, exit.Usage, `node "linux-1" is not a Windows node`,
		"`kubectl get nodes -L kubernetes.io/os` lists the nodes with their system")
	m.Run("diagnose", "win-9").Has(t, exit.Usage, `mullion: the cluster has no node "win-9"`)
	m.Run("diagnose", "-o", "yaml").Refused(t, exit.Usage, `--output "yaml" is none of text, json, junit`,
		"see `mullion diagnose --help`")
	m.Run("diagnose", "probes", "-o", "json").Refused(t, exit.Usage, `--output "json" is neither text nor markdown`,
		"see `mullion diagnose probes --help`")
	m.Run("diagnose", "probes", "x").Has(t, exit.Usage, "mullion: `mullion diagnose probes` takes no arguments")
}

func TestDiagnoseProbes(t *testing.T) {
	m := newMachine(t)
	m.Run("diagnose", "probes").Has(t, exit.OK, "PROBE ", "flannel-subnet-env ")
	m.Run("diagnose", "probes", "-o", "markdown").Has(t, exit.OK, "# The probes of", "| `flannel-subnet-env` | ")
	m.Describe(nil)
	m.Run("__complete", "diagnose", "").Has(t, exit.OK, "win-1")
	m.Run("__complete", "diagnose", "-o", "").Has(t, exit.OK, "junit")
}
