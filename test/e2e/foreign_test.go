//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/cli/exit"
)

// TestFieldForeignCluster adds a Windows node to a cluster that Mullion did not make: first by an administrator's
// kubeconfig, with everything that depends on it, then by a token, after which an administrator gives the rights. Each
// time the machine leaves without a trace.
func TestFieldForeignCluster(t *testing.T) {
	server, other := twoMachines(t)
	plane := newKubeadmPlane(t, server)
	plain(t, plane)
	t.Cleanup(func() {
		if t.Failed() {
			logs(t, other)
			other.takeDown(t)
		}
	})

	byFile := []string{"join", "--kubeconfig", plane.kubeconfig, "--node-address", "198.51.100.50", "--name", "wina"}
	byToken := []string{
		"join", "--server", "198.51.100.1:6443", "--token", kubeadmToken, "--ca-cert-hash", plane.hash,
		"--node-address", "198.51.100.51", "--name", "winb",
	}
	other.refused(t, exit.Usage, "takes --node-address once for each node",
		append(byFile[:3:3], "--count", "2", "--node-address", "198.51.100.50")...)
	other.refused(t, exit.Conflict, "not an address on this machine's network",
		append(byToken[:7:7], "--node-address", "10.0.0.1")...)
	other.refused(t, exit.Conflict, "somebody on \"eth0\" has it",
		append(byToken[:7:7], "--node-address", "198.51.100.1")...)
	other.refused(t, exit.Usage, "only Windows nodes", append(byFile, "--os", "linux")...)
	other.refused(t, exit.Conflict, "the cluster has a node of that name", append(byFile, "--name", "plain")...)
	other.refused(t, exit.Refused, "unknown or has expired",
		append(byToken, "--token", "ghijkl.0123456789abcdef")...)
	other.refused(t, exit.Refused, "authority is another one",
		append(byToken[:5:5], "--ca-cert-hash", "sha256:"+strings.Repeat("0", 64), "--node-address",
			"198.51.100.51")...)

	if left, err := plane.client.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); err != nil ||
		len(left.Items) != 1 {
		t.Errorf("after refusals: %d secrets, want the one token; %v", len(left.Items), err)
	}

	began := time.Now()
	t.Logf("%s%.1fs", other.must(t, byFile...), time.Since(began).Seconds())
	node := plane.node(t, "wina", "198.51.100.50")
	poll(t, settle, func(ctx context.Context) error { // flannel on the plain node would make its route from this
		n, err := plane.client.CoreV1().Nodes().Get(ctx, "wina", metav1.GetOptions{})
		if err == nil && n.Annotations["flannel.alpha.coreos.com/public-ip"] != "198.51.100.50" {
			err = fmt.Errorf("annotations %v", n.Annotations)
		}
		return err
	})

	web := plane.web(t, server, other, node)
	plane.service(t, web)
	other.must(t, "status")
	other.must(t, "leave")
	plane.gone(t, other, "wina")

	t.Log(other.must(t, byToken...))
	plane.node(t, "winb", "198.51.100.51")
	out, err := other.mullion(t.Context(), t, "status")
	const command = "kubectl create clusterrolebinding mullion:proxy:winb --clusterrole=system:node-proxier --user=system:node:winb"
	if err == nil || !strings.Contains(out, command) {
		t.Errorf("without rights status says, with %v:\n%s", err, out)
	}

	_, err = plane.client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "mullion:proxy:winb"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "system:node:winb"}},
		RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName,
			Kind:     "ClusterRole",
			Name:     "system:node-proxier",
		},
	}, metav1.CreateOptions{})
	plane.must(t, "give the node its rights", err)
	poll(t, 2*time.Minute, func(ctx context.Context) error {
		out, err := other.mullion(ctx, t, "status")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})

	out, err = other.mullion(t.Context(), t, "leave")
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exit.Refused || !strings.Contains(out, "leave --kubeconfig") {
		t.Errorf("a node that may not delete itself: %v\n%s", err, out)
	}
	other.must(t, "leave", "--kubeconfig", plane.kubeconfig)
	plane.gone(t, other, "winb")
	plane.servingCertificates(t, other)
}

// plain registers the control plane's machine as a node, as with flannel's backend host-gw, and gives it a pod's
// address.
func plain(t *testing.T, p *kubeadmPlane) {
	t.Helper()
	_, err := p.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "plain",
			Annotations: map[string]string{"flannel.alpha.coreos.com/backend-type": "host-gw"},
		},
	}, metav1.CreateOptions{})
	p.must(t, "make node", err)
	status := []byte(`{"status":{"addresses":[{"type":"InternalIP","address":"198.51.100.1"}]}}`)
	_, err = p.client.CoreV1().Nodes().Patch(t.Context(), "plain", types.MergePatchType, status, metav1.PatchOptions{},
		"status")
	p.must(t, "set node's address", err)
	poll(t, settle, func(ctx context.Context) error {
		n, err := p.client.CoreV1().Nodes().Get(ctx, "plain", metav1.GetOptions{})
		if err == nil && n.Spec.PodCIDR == "" {
			err = errors.New("it has no range of pod addresses")
		}
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(n.Spec.PodCIDR, "0/24")
		return exec.CommandContext(ctx, "nsenter", "--net="+p.config.Netns, "ip", "addr", "replace", first+"5/32",
			"dev", "lo").Run()
	})
}

// node returns a node, which has to be Ready and have that address.
func (p *kubeadmPlane) node(t *testing.T, name, address string) *corev1.Node {
	t.Helper()
	n, err := p.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	p.must(t, "read node", err)
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			t.Errorf("node %s: %s", name, c.Message)
		}
	}
	if a := n.Status.Addresses; len(a) == 0 || a[0].Address != address || n.Spec.PodCIDR == "" ||
		n.Labels["kubernetes.io/os"] != "windows" {
		t.Fatalf("node %s: addresses %v, pods %q, labels %v", name, a, n.Spec.PodCIDR, n.Labels)
	}
	return n
}

// web runs a pod on the node. The plain node must reach it from its own address and from its pod's, over the route that
// flannel or kindnet would make there; and its log must be readable through the API server.
func (p *kubeadmPlane) web(t *testing.T, server, other cluster, node *corev1.Node) *corev1.Pod {
	t.Helper()
	ctx := t.Context()
	other.must(t, "image", "load", filepath.Join(other.bin, "webserver.tar"))
	_, err := p.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	p.must(t, "read service account", err)
	_, err = p.client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{
			Name:            "web",
			Image:           "mullion.local/webserver:v1",
			ImagePullPolicy: corev1.PullNever,
		}}},
	}, metav1.CreateOptions{})
	p.must(t, "make pod", err)
	var pod *corev1.Pod
	poll(t, settle, func(ctx context.Context) error {
		pod, err = p.client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && (pod.Status.Phase != corev1.PodRunning || !pod.Status.ContainerStatuses[0].Ready) {
			err = fmt.Errorf("the pod is %s: %s", pod.Status.Phase, pod.Status.Message)
		}
		return err
	})

	route := exec.CommandContext(ctx, "nsenter", "--net="+server.netns, "ip", "route", "replace", node.Spec.PodCIDR,
		"via", node.Status.Addresses[0].Address, "dev", "eth0")
	if out, err := route.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, from := range []string{"198.51.100.1", p.plainPod(t)} {
		poll(t, settle, func(ctx context.Context) error { return get(ctx, server.netns, from, pod.Status.PodIP) })
	}

	log, err := p.client.CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil || len(log) == 0 {
		t.Errorf("the pod's log through the API server: %q, %v", log, err)
	}
	return pod
}

func (p *kubeadmPlane) plainPod(t *testing.T) string {
	t.Helper()
	n, err := p.client.CoreV1().Nodes().Get(t.Context(), "plain", metav1.GetOptions{})
	p.must(t, "read node", err)
	first, _, _ := strings.Cut(n.Spec.PodCIDR, "0/24")
	return first + "5"
}

// get sends a request to a web server from an address in a network namespace.
func get(ctx context.Context, ns, from, to string) error {
	dial := func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		err = netns.Do(ns, func() error { conn, err = d.DialContext(ctx, network, address); return err })
		return conn, err
	}
	client := http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+to+"/", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("from %s: %w", from, err)
	}
	defer resp.Body.Close()

	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("from %s: %s: %s", from, resp.Status, body)
	}
	return err
}

// service puts a Service in front of the pod. The node port must answer on the machine's network, which shows that the
// node's kube-proxy has carried the Service out.
func (p *kubeadmPlane) service(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s, err := p.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeNodePort,
			Selector: pod.Labels,
			Ports:    []corev1.ServicePort{{Port: 80}},
		},
	}, metav1.CreateOptions{})
	p.must(t, "make Service", err)
	to := fmt.Sprintf("%s:%d", pod.Status.HostIP, s.Spec.Ports[0].NodePort)
	poll(t, settle, func(ctx context.Context) error { return get(ctx, p.config.Netns, "198.51.100.1", to) })
}

// gone checks that nothing of the node is left in the cluster or on its machine.
func (p *kubeadmPlane) gone(t *testing.T, other cluster, name string) {
	t.Helper()
	if left := other.traces(t); len(left) > 0 {
		t.Errorf("mullion leave left behind:\n%s", strings.Join(left, "\n"))
	}
	out, err := exec.CommandContext(t.Context(), "nsenter", "--net="+other.netns, "sh", "-c",
		"ip neigh show proxy; ip route | grep -v 'proto kernel'").CombinedOutput()
	if text := strings.TrimSpace(string(out)); text != "" {
		t.Errorf("mullion leave left on the machine's network: %s (%v)", text, err)
	}

	if _, err := p.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("node %s after leave: %v", name, err)
	}
	tokens, err := p.client.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(tokens.Items) != 1 {
		t.Errorf("after leave there are %d secrets, want the one token; %v", len(tokens.Items), err)
	}

	poll(t, settle, func(ctx context.Context) error { // upstream's garbage collector
		roles, err := p.client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		bindings, err := p.client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}

		var names []string
		for _, r := range roles.Items {
			names = append(names, r.Name)
		}

		for _, b := range bindings.Items {
			names = append(names, b.Name)
		}

		for _, n := range names {
			// an administrator made that one
			if strings.HasPrefix(n, "mullion:") && !strings.HasPrefix(n, "mullion:proxy:winb") {
				err = fmt.Errorf("%s is still there", n)
			}
		}

		return err
	})
}
