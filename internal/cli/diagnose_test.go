package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/diagnose"
)

// serveNodes has an API server with one Windows node, which is Ready or not, and with nothing else. forbidden is a list
// that nobody may read.
func (m *machine) serveNodes(ready, forbidden string) (url string) {
	m.t.Helper()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var body string
		switch {
		case r.URL.Path == forbidden:
			w.WriteHeader(http.StatusForbidden)
			body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`
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

	m.t.Cleanup(server.Close)
	return server.URL
}

// own is a cluster whose API server is that; its user is not root, and its nodes do not answer.
func (m *machine) own(url string) {
	m.t.Helper()
	m.readBy(answers{
		"cluster":               described(url),
		"kubeconfig":            said(clitest.Kubeconfig(url)),
		"ask/{node}/{question}": refuses(view.Down, "node win-1: the host is down"),
	})
}

const notAsked = "cannot tell: node-service-stopped, flannel-source-vip, pod-folder-left\n" +
	"  why: what the nodes say of themselves: node win-1: the host is down\n"

func TestDiagnoseFindsNothing(t *testing.T) {
	m := newMachine(t)
	m.own(m.serveNodes("True", ""))
	m.run("diagnose").check(t, ExitOK,
		notAsked+"43 probes on 1 Windows node: 0 found something, 40 nothing, 3 cannot tell\n", "")
}

func TestDiagnoseFinds(t *testing.T) {
	m := newMachine(t)
	m.own(m.serveNodes("False", ""))
	m.run("diagnose", "win-1").has(t, ExitFindings,
		"node win-1: a node is not Ready [node-not-ready]",
		"    | condition Ready is False, KubeletNotReady: PLEG is not healthy",
		"43 probes on 1 Windows node: 1 found something, 39 nothing, 3 cannot tell",
		"mullion: diagnose: 1 trouble(s) found",
	)

	got := m.run("diagnose", "-o", "json")
	var out struct {
		Server string `json:"serverVersion"`
		Nodes  []string
		Probes []struct {
			ID      string
			Verdict diagnose.Verdict
		}
	}
	if err := json.Unmarshal([]byte(got.out), &out); err != nil || out.Server != "v1.37.1" || len(out.Nodes) != 1 ||
		len(out.Probes) != len(diagnose.Probes()) || got.code != ExitFindings {
		t.Errorf("%v, exit code %d:\n%s", err, got.code, got.out)
	}
}

// TestDiagnoseOfAnother: a cluster of others is asked by a person's own kubeconfig.
func TestDiagnoseOfAnother(t *testing.T) {
	m := newMachine(t)
	file := filepath.Join(filepath.Dir(m.paths.Data), ".kube", "config")
	m.write(file, clitest.Kubeconfig(m.serveNodes("False", "")))
	m.run("diagnose", "--kubeconfig", file).has(t, ExitFindings, "node win-1: a node is not Ready [node-not-ready]")
	m.run("diagnose", "--context", "nosuch").has(t, ExitUsage, `mullion: read kubeconfig: context "nosuch" does not exist`)
	m.run("diagnose", "--kubeconfig", "nosuch").has(t, ExitUsage, "mullion: read kubeconfig: stat nosuch: no such file")
}

func TestDiagnoseCannotAsk(t *testing.T) {
	m := newMachine(t)
	m.run("diagnose").has(t, ExitNotFound, "mullion: no cluster in ")
	m.own(m.serveNodes("True", "/api/v1/nodes"))
	m.run("diagnose").has(t, ExitRequirement, "mullion: list nodes: ", "→ see whether `kubectl get nodes` works")
	m.own(m.serveNodes("True", "/api/v1/events"))
	m.run("diagnose").has(t, ExitRequirement, "  why: events: not permitted",
		"mullion: diagnose: nothing found, but not all could be looked at: not permitted")
	m.own("http://127.0.0.1:1")
	m.run("diagnose").has(t, ExitRequirement, "mullion: ask the API server for its version: ")
}

func TestDiagnoseRefuses(t *testing.T) {
	m := newMachine(t)
	m.own(m.serveNodes("True", ""))
	m.run("diagnose", "linux-1").refused(t, ExitUsage, `node "linux-1" is not a Windows node`,
		"`kubectl get nodes -L kubernetes.io/os` lists the nodes with their system")
	m.run("diagnose", "win-9").has(t, ExitUsage, `mullion: the cluster has no node "win-9"`)
	m.run("diagnose", "-o", "yaml").refused(t, ExitUsage, `--output "yaml" is none of text, json, junit`,
		"see `mullion diagnose --help`")
	m.run("diagnose", "probes", "-o", "json").refused(t, ExitUsage, `--output "json" is neither text nor markdown`,
		"see `mullion diagnose probes --help`")
	m.run("diagnose", "probes", "x").has(t, ExitUsage, "mullion: `mullion diagnose probes` takes no arguments")
}

func TestDiagnoseProbes(t *testing.T) {
	m := newMachine(t)
	m.run("diagnose", "probes").has(t, ExitOK, "PROBE ", "flannel-subnet-env ")
	m.run("diagnose", "probes", "-o", "markdown").has(t, ExitOK, "# The probes of", "| `flannel-subnet-env` | ")
	m.describe(nil)
	m.run("__complete", "diagnose", "").has(t, ExitOK, "win-1")
	m.run("__complete", "diagnose", "-o", "").has(t, ExitOK, "junit")
}
