package bootstrap

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/machines"
)

// Machines is what other machines need to join the cluster; the zero value: none can join.
type Machines struct {
	// Address is the address at which other machines reach this one, Server the API server's URL for them.
	Address netip.Addr
	Server  string
	// Parts is the largest number of machines, including this one.
	Parts int
	// Specification is the text of the cluster's specification for other machines, from machines.Published.
	Specification string
}

func (m Machines) enabled() bool { return m.Address.IsValid() }

// machineGrants returns the rights of kubelets on machines that joined, besides upstream's. kube-proxy and the
// machine's work on its network use the kubelet's certificate, and a machine that leaves deletes its nodes. The
// admission plugin NodeRestriction lets a node delete only itself.
func machineGrants() []grant {
	return []grant{
		{name: "mullion:node-proxier", role: "system:node-proxier", subject: group(nodesGroup)},
		{
			name:    "mullion:node-leaver",
			role:    "mullion:node-leaver",
			subject: group(nodesGroup),
			rules:   []rbacv1.PolicyRule{rule("", "nodes", "delete")},
		},
		{ // what NetworkPolicies select may be anywhere in the cluster
			name:    "mullion:network-policies",
			role:    "mullion:network-policies",
			subject: group(nodesGroup),
			rules: []rbacv1.PolicyRule{
				rule("", "pods", "get", "list", "watch"),
				rule("", "namespaces", "list", "watch"),
				rule("networking.k8s.io", "networkpolicies", "list", "watch"),
			},
		},
	}
}

// apply puts the records' namespace, the rights to them and this machine's own in place.
func (m Machines) apply(ctx context.Context, client kubeclient.Interface, force metav1.ApplyOptions) error {
	if !m.enabled() {
		return nil
	}
	for _, g := range machineGrants() {
		if err := g.apply(ctx, client, force); err != nil {
			return err
		}
	}

	for _, namespace := range []string{machines.Namespace, machines.VolumesNamespace} {
		object := &corev1.Namespace{ObjectMeta: named(namespace, "")}
		if _, err := client.CoreV1().Namespaces().Apply(ctx, object, force); err != nil {
			return fmt.Errorf("apply namespace %q: %w", namespace, err)
		}
	}

	// By name, so that nobody who joins can change the record of the control plane's machine.
	claims := func(verbs ...string) rbacv1.PolicyRule {
		var names []string
		for part := 1; part < m.Parts; part++ {
			names = append(names, machines.ClaimName(part))
		}
		return only(rule("", "configmaps", verbs...), names...)
	}

	for _, r := range []struct {
		name, namespace, group string
		rules                  []rbacv1.PolicyRule
	}{
		{"mullion:joining-machines", machines.Namespace, tokenGroup, []rbacv1.PolicyRule{
			rule("", "configmaps", "create"), only(rule("", "configmaps", "get"), machines.Cluster),
			claims("get", "delete"),
		}},
		{
			"mullion:machines", machines.Namespace, nodesGroup,
			[]rbacv1.PolicyRule{
				rule("", "configmaps", "get", "list", "watch"),
				claims("update"),
			},
		},
		{
			"mullion:volumes", machines.VolumesNamespace, nodesGroup,
			[]rbacv1.PolicyRule{rule("", "configmaps", "get", "list", "watch")},
		},
	} {
		object := &rbacv1.Role{ObjectMeta: named(r.name, r.namespace), Rules: r.rules}
		if _, err := client.RbacV1().Roles(r.namespace).Apply(ctx, object, force); err != nil {
			return fmt.Errorf("apply role %q: %w", r.name, err)
		}

		binding := &rbacv1.RoleBinding{
			ObjectMeta: named(r.name, r.namespace),
			Subjects:   []rbacv1.Subject{group(r.group)},
			RoleRef:    role("Role", r.name),
		}
		if _, err := client.RbacV1().RoleBindings(r.namespace).Apply(ctx, binding, force); err != nil {
			return fmt.Errorf("apply role binding %q: %w", r.name, err)
		}
	}

	for name, data := range map[string]map[string]string{
		machines.Cluster:      {machines.SpecKey: m.Specification},
		machines.ClaimName(0): machines.ClaimData(m.Address, "control plane"),
	} {
		object := &corev1.ConfigMap{ObjectMeta: named(name, machines.Namespace), Data: data}
		if _, err := client.CoreV1().ConfigMaps(machines.Namespace).Apply(ctx, object, force); err != nil {
			return fmt.Errorf("apply config map %q: %w", name, err)
		}
	}

	return nil
}
