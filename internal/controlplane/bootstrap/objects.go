package bootstrap

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

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
	rules   []*rbacapply.PolicyRuleApplyConfiguration // nil: the role exists
	subject *rbacapply.SubjectApplyConfiguration
}

func group(name string) *rbacapply.SubjectApplyConfiguration {
	return rbacapply.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.GroupKind).WithName(name)
}

func user(name string) *rbacapply.SubjectApplyConfiguration {
	return rbacapply.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.UserKind).WithName(name)
}

func rule(apiGroup, resource string, verbs ...string) *rbacapply.PolicyRuleApplyConfiguration {
	return rbacapply.PolicyRule().WithAPIGroups(apiGroup).WithResources(resource).WithVerbs(verbs...)
}

// grants are kubeadm's ClusterRoleBindings, under kubeadm's names, so that `kubeadm join` works as documented, and
// ours:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go
func grants() []grant {
	return append(metricsGrants(), []grant{
		{name: pki.AdminGroup, role: "cluster-admin", subject: group(pki.AdminGroup)},
		{name: "kubeadm:kubelet-bootstrap", role: "system:node-bootstrapper", subject: group(tokenGroup)},
		{
			name:    "kubeadm:get-nodes",
			role:    "kubeadm:get-nodes",
			subject: group(tokenGroup),
			rules:   []*rbacapply.PolicyRuleApplyConfiguration{rule("", "nodes", "get")},
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
			rules: []*rbacapply.PolicyRuleApplyConfiguration{
				rule("certificates.k8s.io", "certificatesigningrequests", "get", "list", "watch"),
				rule("certificates.k8s.io", "certificatesigningrequests/approval", "update"),
				rule("certificates.k8s.io", "signers", "approve").WithResourceNames("kubernetes.io/kubelet-serving"),
				rule("", "nodes", "get"),
			},
		},
		dnsGrant(),
	}...)
}

// apply puts the objects in place. ca is the API server's authority (PEM).
func (o *Objects) apply(ctx context.Context, client kubernetes.Interface, ca []byte) error {
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
	if err := o.config.DNS.apply(ctx, client, force); err != nil {
		return err
	}
	if err := applyAddressPolicy(ctx, client, force, o.config.Addresses); err != nil {
		return err
	}
	return m.apply(ctx, client, force)
}

func (g grant) apply(ctx context.Context, client kubernetes.Interface, force metav1.ApplyOptions) error {
	if g.rules != nil {
		role := rbacapply.ClusterRole(g.role).WithRules(g.rules...)
		if _, err := client.RbacV1().ClusterRoles().Apply(ctx, role, force); err != nil {
			return fmt.Errorf("apply cluster role %q: %w", g.role, err)
		}
	}
	binding := rbacapply.ClusterRoleBinding(g.name).WithSubjects(g.subject).
		WithRoleRef(rbacapply.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(g.role))
	if _, err := client.RbacV1().ClusterRoleBindings().Apply(ctx, binding, force); err != nil {
		return fmt.Errorf("apply cluster role binding %q: %w", g.name, err)
	}
	return nil
}

// applyClusterInfo publishes the API server's URL and authority, readable without credentials; the controller-manager's
// bootstrapsigner signs it with each token. `kubeadm join` reads it:
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/#configmap-signing
func applyClusterInfo(ctx context.Context, client kubernetes.Interface, force metav1.ApplyOptions, server string,
	ca []byte,
) error {
	const name, roleName = "cluster-info", "kubeadm:bootstrap-signer-clusterinfo"
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"": {Server: server, CertificateAuthorityData: ca}},
	})
	if err != nil {
		return fmt.Errorf("encode cluster-info: %w", err)
	}
	info := coreapply.ConfigMap(name, metav1.NamespacePublic).WithData(map[string]string{"kubeconfig": string(text)})
	if _, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Apply(ctx, info, force); err != nil {
		return fmt.Errorf("apply config map %q: %w", name, err)
	}
	role := rbacapply.Role(roleName, metav1.NamespacePublic).
		WithRules(rule("", "configmaps", "get").WithResourceNames(name))
	if _, err := client.RbacV1().Roles(metav1.NamespacePublic).Apply(ctx, role, force); err != nil {
		return fmt.Errorf("apply role %q: %w", roleName, err)
	}
	binding := rbacapply.RoleBinding(roleName, metav1.NamespacePublic).WithSubjects(user("system:anonymous")).
		WithRoleRef(rbacapply.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(roleName))
	if _, err := client.RbacV1().RoleBindings(metav1.NamespacePublic).Apply(ctx, binding, force); err != nil {
		return fmt.Errorf("apply role binding %q: %w", roleName, err)
	}
	return nil
}
