//go:build cluster

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const kubeadmHAYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-kubeadm-ha
networking: {underlaySubnet: 10.228.0.0/24, podSubnet: 10.229.0.0/17, serviceSubnet: 10.229.128.0/17}
addons: {metricsServer: false, localStorage: false, gmsa: false}
nodes: [{os: linux, bare: true, count: 3}, {windowsVersion: ltsc2022, bare: true}]
`

// joinControlPlane is the command line for further control planes that `kubeadm init --upload-certs` prints.
var joinControlPlane = regexp.MustCompile(`kubeadm join \S+ --token \S+ \\\s+--discovery-token-ca-cert-hash \S+ \\\s+` +
	`--control-plane --certificate-key \S+`)

// TestFieldKubeadmHA makes three control planes by kubeadm on bare hosts, as its document says, and loses one of them:
// https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/high-availability/
func TestFieldKubeadmHA(t *testing.T) {
	h, nssm := newKubeadmHosts(t)
	h.pods = "10.229.0.0/17"
	h.services = "10.229.128.0/17"
	h.endpoint = "10.228.0.10:6443"
	h.linux = []string{"linux-1", "linux-2", "linux-3"}
	defer h.logs(t)

	h.up(t, kubeadmHAYAML)
	h.leadsTo(t)
	command := joinControlPlane.FindString(h.init(t, "--upload-certs"))
	if !strings.HasPrefix(command, "kubeadm join "+h.endpoint+" ") {
		t.Fatalf("kubeadm init prints %q for further control planes", command)
	}
	for _, host := range h.linux[1:] {
		h.joinBy(t, host, strings.Fields(strings.ReplaceAll(command, `\`, "")))
	}

	for _, host := range h.linux {
		h.network(t, host)
		for _, to := range h.linux {
			if to != host {
				h.route(t, host, to)
			}
		}
	}

	h.kubectl(t, "wait", "--for=condition=Ready", "node", "--all", "--timeout=180s")
	h.kubectl(t, "taint", "nodes", "--all", "node-role.kubernetes.io/control-plane-")
	h.kubectl(t, "-n", "kube-system", "rollout", "status", "daemonset/kube-proxy", "--timeout=180s")

	// As the document says: all of CoreDNS is on the first control plane else.
	h.kubectl(t, "-n", "kube-system", "rollout", "restart", "deployment/coredns")
	h.kubectl(t, "-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=180s")
	h.etcdMembers(t)
	h.leadsTo(t, h.linux...)
	h.prepareWindows(t, "win-1", nssm)
	h.joinWindows(t, "win-1")
	h.proxyWindows(t, "win-1")
	h.routesWindows(t, "win-1", h.linux...)
	h.agnhost(t, "linux")
	h.control = "linux-2"
	h.podsWindows(t, strings.Replace(kubeadmPods, "{kubernetes.io/os: linux}", "{kubernetes.io/hostname: linux-3}", 1))
	before := h.containers(t)

	h.loses(t, "linux-1")
	h.leadsTo(t, "linux-2", "linux-3")
	if now := h.containers(t); now != before {
		t.Errorf("the pods' containers were %s, and are %s", before, now)
	}
	h.dialBoth(t)

	began := time.Now()
	h.must(t, "node", "start", "linux-1")
	h.etcdMembers(t)
	t.Logf("etcd has three members again after %.1fs", time.Since(began).Seconds())
	h.leadsTo(t, h.linux...)
	h.kubectl(t, "wait", "--for=condition=Ready", "node", "--all", "--timeout=180s")
	if now := h.containers(t); now != before {
		t.Errorf("the pods' containers were %s, and are %s", before, now)
	}

	h.control = "linux-1"
	h.resetWindows(t, "win-1")
	h.reset(t, "linux-3")
	h.linux = h.linux[:2]
	h.etcdMembers(t)
	h.reset(t, "linux-2")
	h.reset(t, "linux-1")
	h.leadsTo(t)
}

// leadsTo waits until the address of the control planes leads to exactly these hosts, as mullion status says.
func (h kubeadmHosts) leadsTo(t *testing.T, hosts ...string) {
	t.Helper()
	want := h.endpoint + ": no control plane of kubeadm's answers"
	if len(hosts) > 0 {
		var list []string
		for _, host := range hosts {
			list = append(list, regexp.QuoteMeta(host)+` \(\d+\)`)
		}
		want = regexp.QuoteMeta(h.endpoint+" leads to ") + strings.Join(list, ", ")
	}

	re := regexp.MustCompile(`(?m)^control-plane-endpoint .* ` + want + `(; not to .*)?$`)
	poll(t, settle, func(ctx context.Context) error {
		out, _ := h.mullion(ctx, t, "status") // fails while a host is off
		if !re.MatchString(out) {
			return fmt.Errorf("mullion status has no line %s:\n%s", re, out)
		}
		return nil
	})
}

// loses switches a control plane's host off. The API has to answer, also for writes, and all other nodes have to stay
// Ready until the cluster has found that the host's node is gone.
func (h kubeadmHosts) loses(t *testing.T, host string) {
	t.Helper()
	h.must(t, "node", "stop", host)
	began := time.Now()
	poll(t, settle, func(ctx context.Context) error {
		out, err := h.mullion(ctx, t, "node", "exec", h.control, "--", "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf",
			"--request-timeout=5s", "create", "configmap", "written-without-"+host)
		// a write whose answer was late has been one
		if err != nil && !strings.Contains(out, "AlreadyExists") {
			return fmt.Errorf("write by way of %s: %w: %s", h.endpoint, err, out)
		}
		return nil
	})
	t.Logf("the API took a write %.1fs after the loss of %s", time.Since(began).Seconds(), host)
	poll(t, 2*settle, func(ctx context.Context) error {
		out, err := h.mullion(ctx, t, "node", "exec", h.control, "--", "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf",
			"get", "nodes", "-o",
			`jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} {end}`)
		if err != nil {
			return fmt.Errorf("read nodes: %w: %s", err, out)
		}

		states := strings.Fields(out)
		if len(states) != len(h.linux)+1 {
			t.Fatalf("nodes: %q", out)
		}
		for _, s := range states {
			if name, ready, _ := strings.Cut(s, "="); name != host && ready != "True" {
				t.Fatalf("%.1fs after the loss of %s: %s", time.Since(began).Seconds(), host, out)
			}
		}

		if !slices.Contains(states, host+"=Unknown") {
			return fmt.Errorf("nodes: %s", out)
		}
		return nil
	})
	t.Logf("its node is known to be gone after %.1fs", time.Since(began).Seconds())
}

// containers returns the pods' containers, and how often they were started again.
func (h kubeadmHosts) containers(t *testing.T) string {
	t.Helper()
	return h.kubectl(t, "get", "pod", "win", "lin", "-o",
		`jsonpath={range .items[*]}{.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount} {end}`)
}

// etcdMembers waits until etcd has a member on each Linux host, and each of them is healthy by a read that the others
// agree to.
func (h kubeadmHosts) etcdMembers(t *testing.T) {
	t.Helper()
	const pki = "/etc/kubernetes/pki/etcd/"
	file := func(name string) []byte { return []byte(h.runs(t, "linux-1", "cat", pki+name)) }
	pair, err := tls.X509KeyPair(file("healthcheck-client.crt"), file("healthcheck-client.key"))
	if err != nil {
		t.Fatal(err)
	}

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(file("ca.crt"))
	client := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
		},
		Timeout: 10 * time.Second,
	}
	defer client.CloseIdleConnections()

	poll(t, 2*settle, func(ctx context.Context) error {
		for i := range h.linux {
			at := fmt.Sprintf("https://10.228.0.%d:2379", 11+i)
			var health struct{ Health, Reason string }
			if err := ask(ctx, client, http.MethodGet, at+"/health", &health); err != nil {
				return err
			}
			if health.Health != "true" {
				return fmt.Errorf("etcd at %s: %+v", at, health)
			}

			var list struct {
				Members []struct {
					Name      string
					IsLearner bool
				}
			}
			if err := ask(ctx, client, http.MethodPost, at+"/v3/cluster/member/list", &list); err != nil {
				return err
			}

			var names []string
			for _, m := range list.Members {
				if !m.IsLearner {
					names = append(names, m.Name)
				}
			}

			if slices.Sort(names); !slices.Equal(names, h.linux) {
				return fmt.Errorf("etcd at %s has members %+v", at, list.Members)
			}
		}

		return nil
	})
}

// ask asks etcd's gateway (https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/).
func ask(ctx context.Context, client *http.Client, method, url string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte("{}")))
	if err != nil {
		return err
	}
	got, err := client.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()

	body, err := io.ReadAll(io.LimitReader(got.Body, 1<<20))
	if err != nil {
		return err
	}
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %.300s", url, got.Status, body)
	}
	return json.Unmarshal(body, answer)
}
