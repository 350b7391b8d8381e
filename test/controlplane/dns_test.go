//go:build kernel

package controlplane_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/controlplane/addon"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/clusterdns"
	"mullion.dev/mullion/internal/process/proc"
)

// dnsConfig returns the cluster's DNS as bootstrap publishes it.
func dnsConfig() bootstrap.DNS {
	return bootstrap.DNS{
		ClusterIP:   netip.MustParseAddr("10.96.0.10"),
		Address:     netip.MustParseAddr("10.213.0.1"),
		Port:        clusterdns.Port,
		MetricsPort: clusterdns.MetricsPort,
	}
}

// testDNS runs the real CoreDNS beside the control plane and asks it.
func testDNS(t *testing.T, p *plane, admin *kubeclient.Client) {
	t.Helper()
	program, err := filepath.Abs("../../bin/coredns")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("run `make build` first: %v", err)
	}

	if err := os.Chmod(p.config.RunDir, 0o711); err != nil { // as a cluster's is
		t.Fatal(err)
	}

	server, err := clusterdns.New(clusterdns.Config{
		Place: addon.Place{
			Program: program,
			RunDir:  p.config.RunDir,
			LogDir:  p.config.LogDir,
			Marker:  p.config.Marker,
			Netns:   p.config.Netns,
		},
		Address: dnsConfig().Address,
		Domain:  "cluster.local",
		PKIDir:  p.config.PKIDir(),
		Cluster: "mullion",
		Server:  p.config.Server(),
		Version: p.config.Version,
	}, p.config.Log)
	if err != nil {
		t.Fatal(err)
	}

	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()

	checkPublished(t, p, admin)
	checkConfined(t, server.State().PID, "coredns", clusterdns.UserID, "0000000000000400") // CAP_NET_BIND_SERVICE alone
	resolves := func() error {
		got, err := resolver(p).LookupHost(t.Context(), "kubernetes.default.svc.cluster.local.")
		if err == nil && !slices.Equal(got, []string{"10.96.0.1"}) {
			err = fmt.Errorf("got %q", got)
		}
		return err
	}

	if err := resolves(); err != nil {
		t.Errorf("a server that is ready: %v", err)
	}

	eventually(t, "the DNS Service's name", func() error {
		got, err := resolver(p).LookupAddr(t.Context(), "10.96.0.10")
		if err == nil && !slices.Equal(got, []string{"kube-dns.kube-system.svc.cluster.local."}) {
			err = fmt.Errorf("got %q", got)
		}
		return err
	})

	pid := server.State().PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	eventually(t, "an answer after the kill", func() error {
		if s := server.State(); s.Phase != proc.Running || s.PID == pid {
			return fmt.Errorf("it is %s with pid %d", s.Phase, s.PID)
		}
		return resolves()
	})
}

// resolver asks the server in the plane's namespace and nobody else.
func resolver(p *plane) *net.Resolver {
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			return proc.DialIn(p.config.Netns)(ctx, network,
				netip.AddrPortFrom(dnsConfig().Address, clusterdns.Port).String())
		},
	}
}

// checkPublished checks the Service, its endpoint, and what CoreDNS may not read.
func checkPublished(t *testing.T, p *plane, admin *kubeclient.Client) {
	t.Helper()
	service, err := admin.CoreV1().Services("kube-system").Get(t.Context(), "kube-dns", metav1.GetOptions{})
	if err != nil || service.Spec.ClusterIP != "10.96.0.10" || len(service.Spec.Selector) != 0 ||
		len(service.Spec.Ports) != 3 {
		t.Errorf("service: got %+v, %v", service, err)
	}

	checkEndpoint(t, p, admin)

	coredns := p.client(t, filepath.Join(p.config.RunDir, "coredns", "kubeconfig"))
	if _, err := coredns.CoreV1().Secrets("kube-system").List(t.Context(),
		metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("CoreDNS lists secrets: got %v, want forbidden", err)
	}
	if _, err := coredns.CoreV1().Services("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("CoreDNS lists services: %v", err)
	}
}

// checkEndpoint checks the one address of the DNS Service.
func checkEndpoint(t *testing.T, p *plane, admin *kubeclient.Client) {
	t.Helper()
	if version.MinorOf(p.config.Version) < version.EndpointSlices {
		got, err := admin.CoreV1().Endpoints("kube-system").Get(t.Context(), "kube-dns", metav1.GetOptions{})
		if err != nil || len(got.Subsets) != 1 || len(got.Subsets[0].Addresses) != 1 ||
			got.Subsets[0].Addresses[0].IP != "10.213.0.1" {
			t.Errorf("endpoints: got %+v, %v", got, err)
		}
		return
	}

	slices, err := admin.DiscoveryV1().EndpointSlices("kube-system").List(t.Context(),
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=kube-dns"})
	if err != nil || len(slices.Items) != 1 || len(slices.Items[0].Endpoints) != 1 ||
		slices.Items[0].Endpoints[0].Addresses[0] != "10.213.0.1" {
		t.Errorf("endpoint slices: got %+v, %v", slices, err)
	}
}

// checkConfined checks that the process is called so, has these capabilities (hexadecimal), is no root and can become
// none.
func checkConfined(t *testing.T, pid int, name string, id int, capabilities string) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}

	user := fmt.Sprint(id)
	for _, want := range []string{
		"Name:\t" + name + "\n", "Uid:\t" + strings.Join([]string{user, user, user, user}, "\t") + "\n",
		"NoNewPrivs:\t1\n",
		"CapEff:\t" + capabilities + "\n",
	} {
		if !strings.Contains(string(status), want) {
			t.Errorf("status of the process: want %q in\n%s", want, status)
		}
	}
}
