package kubeadm

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/machines/terms"
)

// Grant gives a registered node the rights that kubeadm does not give it: those of kube-proxy, which runs with the
// node's certificate here, and the right to delete itself when it leaves. The client is an administrator's. The objects
// belong to the Node: when that is deleted, upstream's garbage collector removes them.
func Grant(ctx context.Context, client kubeclient.Interface, node string) error {
	n, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read node %q: %w", node, err)
	}

	force := metav1.ApplyOptions{FieldManager: "mullion", Force: true}
	named := func(name string) metav1.ObjectMeta {
		owner := metav1.OwnerReference{
			APIVersion: "v1",
			Kind:       "Node",
			Name:       n.Name,
			UID:        n.UID,
		}
		return metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}}
	}

	leaver := terms.RightsName(node, "leave")
	role := &rbacv1.ClusterRole{
		ObjectMeta: named(leaver),
		Rules: []rbacv1.PolicyRule{{
			APIGroups:     []string{""},
			Resources:     []string{"nodes"},
			ResourceNames: []string{node},
			Verbs:         []string{"delete"},
		}},
	}

	if _, err := client.RbacV1().ClusterRoles().Apply(ctx, role, force); err != nil {
		return fmt.Errorf("give node %q its rights: %w", node, err)
	}

	for name, to := range map[string]string{terms.RightsName(node, "proxy"): terms.ProxierRole, leaver: leaver} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: named(name),
			Subjects: []rbacv1.Subject{{
				APIGroup: rbacv1.GroupName,
				Kind:     rbacv1.UserKind,
				Name:     "system:node:" + node,
			}},
			RoleRef: rbacv1.RoleRef{
				APIGroup: rbacv1.GroupName,
				Kind:     "ClusterRole",
				Name:     to,
			},
		}

		if _, err := client.RbacV1().ClusterRoleBindings().Apply(ctx, binding, force); err != nil {
			return fmt.Errorf("give node %q its rights: %w", node, err)
		}
	}

	return nil
}

// RightsError says that a node lacks the rights of kube-proxy, which it needs for Services and routes.
type RightsError struct{ Node string }

func (e *RightsError) Error() string {
	return fmt.Sprintf("node %q does not have the rights yet to see Services and other nodes; an administrator can give them: %s",
		e.Node, GrantCommand(e.Node))
}

// GrantCommand returns what an administrator types to give a node the rights of kube-proxy.
func GrantCommand(node string) string { return terms.GrantCommand(node) }

// Allowed returns nil if the client, a node's, has the rights of kube-proxy, and a RightsError if not.
func Allowed(ctx context.Context, client kubeclient.Interface, node string) error {
	for _, may := range []authorizationv1.ResourceAttributes{
		{Verb: "watch", Group: "discovery.k8s.io", Resource: "endpointslices"},
		{Verb: "watch", Resource: "nodes"},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &may},
		}
		got, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("ask what node %q may do: %w", node, err)
		}

		if !got.Status.Allowed {
			return &RightsError{Node: node}
		}
	}

	return nil
}
