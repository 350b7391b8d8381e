package bootstrap

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"mullion.dev/mullion/internal/controlplane/pki"
)

// viewerGrants returns the rights of those who read the cluster without root: Kubernetes' own role view, which has no
// secrets, no exec and no port-forward, and what of the cluster as a whole a reader asks for. nodes/proxy is not in it:
// by that, kubelets run programs.
func viewerGrants() []grant {
	read := []string{"get", "list", "watch"}

	return []grant{
		{name: pki.ViewerGroup, role: "view", subject: group(pki.ViewerGroup)},
		{
			name:    "mullion:viewers-of-the-cluster",
			role:    "mullion:viewer-of-the-cluster",
			subject: group(pki.ViewerGroup),
			rules: []rbacv1.PolicyRule{
				and(rule("", "nodes", read...), "persistentvolumes"),
				and(rule("storage.k8s.io", "storageclasses", read...), "csidrivers", "csinodes", "volumeattachments"),
				rule("node.k8s.io", "runtimeclasses", read...),
				rule("scheduling.k8s.io", "priorityclasses", read...),
				rule("networking.k8s.io", "ingressclasses", read...),
				rule("apiextensions.k8s.io", "customresourcedefinitions", read...),
				rule("apiregistration.k8s.io", "apiservices", read...),
				rule("windows.k8s.io", "gmsacredentialspecs", read...),
				and(rule("metrics.k8s.io", "nodes", "get", "list"), "pods"),
			},
		},
	}
}
