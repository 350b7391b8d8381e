//go:build cluster

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// kubeadmPlane is a control plane as kubeadm makes it: upstream's programs, and in the API what `kubeadm init` leaves
// there.
type kubeadmPlane struct {
	config     controlplane.Config
	kubeconfig string
	client     *kubeclient.Client
	hash       string
}

const kubeadmToken = "abcdef.0123456789abcdef"

// newKubeadmPlane runs such a control plane on the cluster's machine, at 198.51.100.1, without any object of Mullion's.
func newKubeadmPlane(t *testing.T, c cluster) *kubeadmPlane {
	t.Helper()
	run, err := os.MkdirTemp("/tmp", "mka") //nolint:usetesting // the socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })

	// kubeadm's API server does not verify kubelets' serving certificates, because kubelets sign them themselves.
	programs, server := t.TempDir(), bundle.At(c.bin, version.Kubernetes).Server()
	for _, name := range []string{"etcd", "kube-controller-manager", "kube-scheduler"} {
		if err := os.Symlink(filepath.Join(server, name), filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}

	start := "#!/bin/sh\nfor a; do shift; case $a in --kubelet-certificate-authority=*) ;; *) set -- \"$@\" \"$a\";; esac; done\n" +
		"exec " + filepath.Join(server, "kube-apiserver") + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(programs, "kube-apiserver"), []byte(start), 0o755); err != nil {
		t.Fatal(err)
	}

	p := &kubeadmPlane{config: controlplane.Config{
		Name:          "kubernetes",
		Programs:      programs,
		Dir:           c.data,
		RunDir:        run,
		LogDir:        filepath.Join(c.data, "logs"),
		Marker:        c.data,
		Netns:         c.netns,
		Address:       netip.MustParseAddrPort("198.51.100.1:6443"),
		PodSubnet:     netip.MustParsePrefix("10.244.0.0/16"),
		ServiceSubnet: netip.MustParsePrefix("10.96.0.0/16"),
		Log:           slog.New(slog.DiscardHandler),
	}}

	all, err := controlplane.Units(p.config)
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(u component.Unit) bool {
		return slices.Contains(component.Soles(controlplane.Bootstrap, controlplane.ServingApprover), u.ID())
	})

	manager, err := component.NewManager(all, func(component.Event) {})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := manager.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	if err := manager.Start(ctx); err != nil {
		t.Fatal(err)
	}
	p.kubeconfig = p.config.Kubeconfig(pki.SuperAdmin())
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}

	config.Dial, config.QPS = proc.DialIn(c.netns), -1
	if p.client, err = kubeclient.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	bundle, err := pki.Open(p.config.PKIDir())
	if err != nil {
		t.Fatal(err)
	}

	if p.hash, err = bundle.CAHash(); err != nil {
		t.Fatal(err)
	}
	p.must(t, p.config.Name, p.addons(bundle.CAPEM()))
	return p
}

func (p *kubeadmPlane) must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// addons makes what kubeadm's phases upload-config, bootstrap-token and kubelet-finalize leave:
// https://github.com/kubernetes/kubernetes/tree/v1.36.3/cmd/kubeadm/app/phases
func (p *kubeadmPlane) addons(ca []byte) error {
	ctx := context.Background()
	tokens := "system:bootstrappers:kubeadm:default-node-token"
	nodes := "system:nodes"
	group := func(names ...string) (all []rbacv1.Subject) {
		for _, n := range names {
			all = append(all, rbacv1.Subject{
				Kind:     "Group",
				APIGroup: rbacv1.GroupName,
				Name:     n,
			})
		}
		return all
	}

	info := fmt.Sprintf(
		"apiVersion: v1\nkind: Config\nclusters:\n- name: \"\"\n  cluster: {server: \"https://198.51.100.1:6443\", certificate-authority-data: %s}\n", base64.StdEncoding.EncodeToString(ca))
	if _, err := p.client.CoreV1().Secrets("kube-system").Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
			"usage-bootstrap-signing": "true",
			"auth-extra-groups":       tokens, "expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}

	for _, m := range []struct {
		namespace, name, key, text string
		readers                    []rbacv1.Subject
	}{
		{"kube-public", "cluster-info", "kubeconfig", info, []rbacv1.Subject{{
			Kind:     "User",
			APIGroup: rbacv1.GroupName,
			Name:     "system:anonymous",
		}}},
		{
			"kube-system", "kubeadm-config", "ClusterConfiguration",
			"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: kubernetes\nnetworking:\n  dnsDomain: cluster.local\n  podSubnet: 10.244.0.0/16\n  serviceSubnet: 10.96.0.0/16\n", group(tokens, nodes),
		},
		{
			"kube-system", "kubelet-config", "kubelet",
			"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nclusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\nrotateCertificates: true\n", group(tokens, nodes),
		},
	} {
		if _, err := p.client.CoreV1().ConfigMaps(m.namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: m.name},
			Data:       map[string]string{m.key: m.text},
		}, metav1.CreateOptions{}); err != nil {
			return err
		}

		name := "kubeadm:" + m.name
		rules := []rbacv1.PolicyRule{{
			APIGroups:     []string{""},
			Resources:     []string{"configmaps"},
			ResourceNames: []string{m.name},
			Verbs:         []string{"get"},
		}}

		if _, err := p.client.RbacV1().Roles(m.namespace).Create(ctx, &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Rules:      rules,
		}, metav1.CreateOptions{}); err != nil {
			return err
		}

		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Subjects:   m.readers,
			RoleRef: rbacv1.RoleRef{
				APIGroup: rbacv1.GroupName,
				Kind:     "Role",
				Name:     name,
			},
		}

		if _, err := p.client.RbacV1().RoleBindings(m.namespace).Create(ctx, binding,
			metav1.CreateOptions{}); err != nil {
			return err
		}
	}

	get := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:get-nodes"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""},
			Resources: []string{"nodes"},
			Verbs:     []string{"get"},
		}},
	}

	if _, err := p.client.RbacV1().ClusterRoles().Create(ctx, get, metav1.CreateOptions{}); err != nil {
		return err
	}

	for name, to := range map[string]struct {
		role     string
		subjects []rbacv1.Subject
	}{
		"kubeadm:kubelet-bootstrap":                     {"system:node-bootstrapper", group(tokens)},
		"kubeadm:node-autoapprove-bootstrap":            {"system:certificates.k8s.io:certificatesigningrequests:nodeclient", group(tokens)},
		"kubeadm:node-autoapprove-certificate-rotation": {"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", group(nodes)},
		"kubeadm:get-nodes":                             {"kubeadm:get-nodes", group(tokens)},
		"kubeadm:apiserver-kubelet-client": {"system:kubelet-api-admin", []rbacv1.Subject{{
			Kind:     "User",
			APIGroup: rbacv1.GroupName,
			Name:     pki.KubeletClientName,
		}}},
	} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Subjects:   to.subjects,
			RoleRef: rbacv1.RoleRef{
				APIGroup: rbacv1.GroupName,
				Kind:     "ClusterRole",
				Name:     to.role,
			},
		}

		if _, err := p.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return err
		}
	}

	return nil
}
