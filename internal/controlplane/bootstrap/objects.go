package bootstrap

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/controlplane/pki"
)

// Groups that upstream knows, see
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/constants/constants.go
const (
	nodesGroup = "system:nodes"
	// tokenGroup is the group of kubeadm's tokens, and of those made here.
	tokenGroup = "system:bootstrappers:kubeadm:default-node-token"
)

// grant is a ClusterRoleBinding, with the ClusterRole if it is not one of the API server's own.
type grant struct {
	name    string
	role    string
	rules   []rbacv1.PolicyRule // nil: the role exists
	subject rbacv1.Subject
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{
		APIGroup: rbacv1.GroupName,
		Kind:     rbacv1.GroupKind,
		Name:     name,
	}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{
		APIGroup: rbacv1.GroupName,
		Kind:     rbacv1.UserKind,
		Name:     name,
	}
}

func rule(apiGroup, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{apiGroup},
		Resources: []string{resource},
		Verbs:     verbs,
	}
}

// and returns a rule for one more resource.
func and(r rbacv1.PolicyRule, resources ...string) rbacv1.PolicyRule {
	r.Resources = append(r.Resources, resources...)
	return r
}

// only returns a rule for objects of these names alone.
func only(r rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	r.ResourceNames = names
	return r
}

// named returns the metadata of an object; namespace is "" for a kind without one.
func named(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

// role refers to a role of a kind.
func role(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{
		APIGroup: rbacv1.GroupName,
		Kind:     kind,
		Name:     name,
	}
}

// grants returns kubeadm's ClusterRoleBindings, under kubeadm's names, so that `kubeadm join` works as documented, and
// ours:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go
func grants() []grant {
	return append(slices.Concat(metricsGrants(), viewerGrants()), []grant{
		{name: pki.AdminGroup, role: "cluster-admin", subject: group(pki.AdminGroup)},
		{name: "kubeadm:kubelet-bootstrap", role: "system:node-bootstrapper", subject: group(tokenGroup)},
		{
			name:    "kubeadm:get-nodes",
			role:    "kubeadm:get-nodes",
			subject: group(tokenGroup),
			rules:   []rbacv1.PolicyRule{rule("", "nodes", "get")},
		},
		{
			name:    "kubeadm:node-autoapprove-bootstrap",
			subject: group(tokenGroup),
			role:    "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
		},
		{
			name:    "kubeadm:node-autoapprove-certificate-rotation",
			subject: group(nodesGroup),
			role:    "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
		},
		{
			name:    "kubeadm:cluster-kubelet-api-admin",
			role:    "system:kubelet-api-admin",
			subject: user(pki.KubeletClientName),
		},
		{
			name:    "mullion:kubelet-serving-approver",
			role:    "mullion:kubelet-serving-approver",
			subject: user(pki.ServingApprover().Name),
			rules: []rbacv1.PolicyRule{
				rule("certificates.k8s.io", "certificatesigningrequests", "get", "list", "watch"),
				rule("certificates.k8s.io", "certificatesigningrequests/approval", "update"),
				only(rule("certificates.k8s.io", "signers", "approve"), "kubernetes.io/kubelet-serving"),
				rule("", "nodes", "get"),
			},
		},
		dnsGrant(),
	}...)
}

// apply puts the objects in place. ca is the API server's authority (PEM).
func (o *Objects) apply(ctx context.Context, client kubeclient.Interface, ca []byte) error {
	force := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	for _, g := range grants() {
		if err := g.apply(ctx, client, force); err != nil {
			return err
		}
	}

	server, m := o.config.Server, o.config.Machines
	if m.enabled() {
		server = m.Server
	}
	if err := applyClusterInfo(ctx, client, force, server, ca); err != nil {
		return err
	}

	minor := version.MinorOf(o.config.Version)
	if err := o.config.DNS.apply(ctx, client, force, minor); err != nil {
		return err
	}

	if minor >= version.AdmissionPolicies {
		if err := applyPortPolicy(ctx, client, force, o.config.Ports); err != nil {
			return err
		}
		if err := ProtectAddresses(ctx, client, o.config.Addresses); err != nil {
			return err
		}
	}

	return m.apply(ctx, client, force)
}

func (g grant) apply(ctx context.Context, client kubeclient.Interface, force metav1.ApplyOptions) error {
	if g.rules != nil {
		object := &rbacv1.ClusterRole{ObjectMeta: named(g.role, ""), Rules: g.rules}
		if _, err := client.RbacV1().ClusterRoles().Apply(ctx, object, force); err != nil {
			return fmt.Errorf("apply cluster role %q: %w", g.role, err)
		}
	}

	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: named(g.name, ""),
		Subjects:   []rbacv1.Subject{g.subject},
		RoleRef:    role("ClusterRole", g.role),
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Apply(ctx, binding, force); err != nil {
		return fmt.Errorf("apply cluster role binding %q: %w", g.name, err)
	}

	return nil
}

// applyClusterInfo publishes the API server's URL and authority, readable without credentials; the controller-manager's
// bootstrapsigner signs it with each token. `kubeadm join` reads it:
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/#configmap-signing
func applyClusterInfo(ctx context.Context, client kubeclient.Interface, force metav1.ApplyOptions, server string,
	ca []byte,
) error {
	const name, roleName = "cluster-info", "kubeadm:bootstrap-signer-clusterinfo"
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"": {Server: server, CertificateAuthorityData: ca}},
	})
	if err != nil {
		return fmt.Errorf("encode cluster-info: %w", err)
	}

	info := &corev1.ConfigMap{
		ObjectMeta: named(name, metav1.NamespacePublic),
		Data:       map[string]string{"kubeconfig": string(text)},
	}
	if _, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Apply(ctx, info, force); err != nil {
		return fmt.Errorf("apply config map %q: %w", name, err)
	}

	reader := &rbacv1.Role{
		ObjectMeta: named(roleName, metav1.NamespacePublic),
		Rules:      []rbacv1.PolicyRule{only(rule("", "configmaps", "get"), name)},
	}
	if _, err := client.RbacV1().Roles(metav1.NamespacePublic).Apply(ctx, reader, force); err != nil {
		return fmt.Errorf("apply role %q: %w", roleName, err)
	}

	binding := &rbacv1.RoleBinding{
		ObjectMeta: named(roleName, metav1.NamespacePublic),
		Subjects:   []rbacv1.Subject{user("system:anonymous")},
		RoleRef:    role("Role", roleName),
	}
	if _, err := client.RbacV1().RoleBindings(metav1.NamespacePublic).Apply(ctx, binding, force); err != nil {
		return fmt.Errorf("apply role binding %q: %w", roleName, err)
	}

	return nil
}
