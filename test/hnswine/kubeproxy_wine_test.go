//go:build wine

package hnswine_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/network/netplan"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/spec"
)

// api answers list and watch requests, as much of the Kubernetes API as kube-proxy.exe reads: by resources, the objects
// that there are, and those that change later.
func api(t *testing.T, ns string, lists map[string][]any, changed map[string]chan map[string]any) {
	t.Helper()
	var l net.Listener
	err := netns.Do(ns, func() error {
		var err error
		l, err = net.Listen("tcp4", "10.213.0.1:6443")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	done := make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource := filepath.Base(r.URL.Path)
		items, known := lists[resource]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !known:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(
				[]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))

		case r.URL.Query().Get("watch") != "":
			if r.URL.Query().Get("sendInitialEvents") == "true" { // WatchList: let it fall back to lists
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = w.Write(
					[]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
				return
			}

			w.WriteHeader(http.StatusOK)
			for {
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-done:
					return
				case object := <-changed[resource]:
					_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": object})
				}
			}

		default:
			group := strings.TrimPrefix(strings.TrimPrefix(filepath.Dir(r.URL.Path), "/apis/"), "/api/")
			kind := map[string]string{
				"services": "ServiceList", "endpointslices": "EndpointSliceList",
				"nodes": "NodeList", "servicecidrs": "ServiceCIDRList", "endpoints": "EndpointsList",
			}[resource]
			if items == nil {
				items = []any{}
			}

			_ = json.NewEncoder(w).Encode(map[string]any{
				"kind": kind, "apiVersion": group, "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
			})
		}
	}), ReadHeaderTimeout: time.Minute}

	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { close(done); _ = s.Close() })
}

func service(name, ip string, port, target int) (svc, slice map[string]any, add func(ip, node string)) {
	var endpoints []any
	slice = map[string]any{
		"metadata": map[string]any{
			"name": name + "-1", "namespace": "default", "uid": name + "-slice", "resourceVersion": "1",
			"labels": map[string]any{"kubernetes.io/service-name": name},
		},
		"addressType": "IPv4",
		"ports":       []any{map[string]any{"name": "", "port": target, "protocol": "TCP"}},
	}

	add = func(ip, node string) {
		e := map[string]any{
			"addresses":  []any{ip},
			"conditions": map[string]any{"ready": true, "serving": true, "terminating": false},
		}
		if node != "" {
			e["nodeName"] = node
		}
		endpoints = append(endpoints, e)
		slice["endpoints"] = endpoints
	}

	svc = map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"},
		"spec": map[string]any{
			"type": "ClusterIP", "clusterIP": ip, "clusterIPs": []any{ip}, "ipFamilies": []any{"IPv4"},
			"ipFamilyPolicy":        "SingleStack",
			"internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
			"ports": []any{map[string]any{"port": port, "targetPort": target, "protocol": "TCP"}},
		},
	}

	return svc, slice, add
}

// endpoints returns what a slice says as Endpoints of a Service, which kube-proxy.exe reads in place of slices before
// Kubernetes 1.21.
func endpoints(name string, slice map[string]any) map[string]any {
	var addresses []any
	for _, e := range slice["endpoints"].([]any) {
		from := e.(map[string]any)
		address := map[string]any{"ip": from["addresses"].([]any)[0]}
		if node, of := from["nodeName"]; of {
			address["nodeName"] = node
		}
		addresses = append(addresses, address)
	}
	return map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "default", "uid": name + "-endpoints", "resourceVersion": "1"},
		"subsets":  []any{map[string]any{"addresses": addresses, "ports": slice["ports"]}},
	}
}

// Upstream's kube-proxy.exe makes services reachable from pods: one behind the API server's address, one with a pod on
// each host; the host itself does not reach them.
func TestKubeProxy(t *testing.T) { testKubeProxy(t, version.Kubernetes) }

// TestOldKubeProxy is TestKubeProxy with kube-proxy.exe of Kubernetes 1.20, if its bundle has been built.
func TestOldKubeProxy(t *testing.T) {
	const old = "v1.20.15"
	if _, err := os.Stat(kubeProxy(old)); err != nil {
		t.Skipf("%v: make bundle VERSION=%s", err, old)
	}
	testKubeProxy(t, old)
}

// kubeProxy returns where a version's kube-proxy.exe is.
func kubeProxy(version string) string {
	return filepath.Join(repository, "bin/kubernetes", version, "node/bin/kube-proxy.exe")
}

func testKubeProxy(t *testing.T, version string) {
	t.Helper()
	c := newCluster(t)
	a := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	b := c.newHost(t, "win-b", "10.213.0.12", "10.244.2.0/24")
	client := a.setup(t, pod("client"))
	near := a.setup(t, pod("near"))
	far := b.setup(t, pod("far"))
	netnstest.Serve(t, near.NetNS, "near", "10.244.1.4:8080")
	netnstest.Serve(t, far.NetNS, "far", "10.244.2.3:8080")

	kubernetes, kubernetesSlice, addAPI := service("kubernetes", "10.96.0.1", 443, 6443)
	addAPI("10.213.0.1", "")
	web, webSlice, addWeb := service("web", "10.96.0.20", 80, 8080)
	addWeb("10.244.1.4", "win-a")
	addWeb("10.244.2.3", "win-b")
	local, localSlice, addLocal := service("local", "10.96.0.30", 80, 8080)
	addLocal("10.244.1.4", "win-a")
	addLocal("10.244.2.3", "win-b")
	wanted := local["spec"].(map[string]any)
	wanted["type"], wanted["externalTrafficPolicy"] = "NodePort", "Local"
	wanted["ports"].([]any)[0].(map[string]any)["nodePort"] = 30080
	api(t, c.underlay.FabricNetns(), map[string][]any{
		"services": {kubernetes, web, local}, "endpointslices": {kubernetesSlice, webSlice, localSlice}, "servicecidrs": nil,
		"endpoints": {endpoints("kubernetes", kubernetesSlice), endpoints("web", webSlice), endpoints("local", localSlice)},
		"nodes": {map[string]any{
			"metadata": map[string]any{"name": "win-a", "uid": "win-a", "resourceVersion": "1"},
			"spec":     map[string]any{"podCIDR": "10.244.1.0/24", "podCIDRs": []any{"10.244.1.0/24"}},
			"status": map[string]any{"addresses": []any{map[string]any{
				"type":    "InternalIP",
				"address": "10.213.0.11",
			}}},
		}},
	}, nil)

	log, _ := a.startKubeProxy(t, version)

	deadline := time.Now().Add(3 * time.Minute)
	for {
		plan := a.service.Plan()
		if len(plan.LoadBalancers) >= 4 {
			break
		}
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(log)
			t.Fatalf("kube-proxy.exe made %d load balancers; its log ends:\n%s", len(plan.LoadBalancers),
				tail(string(out), 40))
		}

		select {
		case <-time.After(100 * time.Millisecond):
		case <-t.Context().Done():
		}
	}

	checkLocalTraffic(t, a.service.Plan())
	a.service.Flush(t.Context()) // the kernel follows the plan a moment later
	seen := map[string]bool{}
	for range 30 {
		name, from, err := netnstest.Ask(client.NetNS, "tcp4", "10.96.0.20:80", 3*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if from.String() != "10.244.1.3" {
			t.Errorf("%s saw the client as %s", name, from)
		}
		seen[name] = true
	}

	if len(seen) != 2 {
		t.Errorf("the service answered from %v", seen)
	}
	out := run(t, client.NetNS, "curl -sS --max-time 5 http://10.96.0.1:443/api/v1/nodes")
	if !strings.Contains(out, "NodeList") {
		t.Errorf("the API server by its service address: %s", out)
	}

	if name, _, err := netnstest.Ask(a.ns, "tcp4", "10.96.0.20:80", 3*time.Second); err != nil || !seen[name] {
		t.Errorf("the host, of Windows Server 2022, reaches %q at the service's address: %v", name, err)
	}
}

// checkLocalTraffic checks that kube-proxy.exe, without --enable-dsr, itself asks for direct server return for the node
// port of a Service with the external traffic policy Local, and for nothing else. So pods see the client's own address
// (https://github.com/kubernetes/kubernetes/pull/93166).
func checkLocalTraffic(t *testing.T, plan netplan.Plan) {
	t.Helper()
	found := false
	for _, lb := range plan.LoadBalancers {
		local := lb.Port == 30080
		found = found || local
		if lb.DSR != local {
			t.Errorf("load balancer of %v, port %d: direct server return %t", lb.VIPs, lb.Port, lb.DSR)
		}
		if near := netip.MustParseAddrPort("10.244.1.4:8080"); local && (len(lb.Backends) != 1 || lb.Backends[0] != near) {
			t.Errorf("the node port leads to %v", lb.Backends)
		}
	}
	if !found {
		t.Errorf("no load balancer has the node port: %+v", plan.LoadBalancers)
	}
}

// startKubeProxy starts kube-proxy.exe on the host and returns its log's path, and its process.
func (h *host) startKubeProxy(t *testing.T, version string) (log string, process *os.Process) {
	t.Helper()
	return h.startKubeProxyWith(t, version, "--hostname-override="+h.name)
}

// startKubeProxyWith is startKubeProxy with other words of which node it is on.
func (h *host) startKubeProxyWith(t *testing.T, version string, named ...string) (log string, process *os.Process) {
	t.Helper()
	drive := filepath.Join(h.prefix, "drive_c")
	data, err := os.ReadFile(kubeProxy(version))
	if err != nil {
		t.Fatalf("%v: build it first (make upstream)", err)
	}

	kubeconfig := `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"http://10.213.0.1:6443"}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}],"current-context":"c"}`
	for path, data := range map[string][]byte{"kube-proxy.exe": data, "kubeconfig": []byte(kubeconfig)} {
		if err := os.WriteFile(filepath.Join(drive, path), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	log = filepath.Join(h.state, "kube-proxy.log")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		`C:\kube-proxy.exe`, "--proxy-mode=kernelspace", `--kubeconfig=C:\kubeconfig`,
		"--cluster-cidr=10.244.0.0/16", "--v=4", "--bind-address=0.0.0.0",
	}
	cmd := wineCommand(h.prefix, wineBinary, append(args, named...)...)

	cmd.Env = append(cmd.Env, "KUBE_NETWORK="+podnet.NetworkName(spec.ModeL2Bridge))
	cmd.Dir = drive
	cmd.Stdout = f
	cmd.Stderr = f
	if err := netns.Do(h.ns, cmd.Start); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { defer cancel(); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ctx.Done()
		_ = f.Close()
	})

	return log, cmd.Process
}

func tail(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
