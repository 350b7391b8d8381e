package bootstrap

import (
	"slices"
	"testing"

	"mullion.dev/mullion/internal/controlplane/pki"
)

// TestViewersOnlyRead: readers have Kubernetes' role view and rules that read, none of which is about secrets or leads
// into a node or a pod.
func TestViewersOnlyRead(t *testing.T) {
	for _, g := range viewerGrants() {
		if g.subject.Kind != "Group" || g.subject.Name != pki.ViewerGroup {
			t.Errorf("%s is granted to %s %s", g.name, g.subject.Kind, g.subject.Name)
		}
		if g.rules == nil && g.role != "view" {
			t.Errorf("%s grants the role %s", g.name, g.role)
		}

		for _, r := range g.rules {
			for _, verb := range r.Verbs {
				if !slices.Contains([]string{"get", "list", "watch"}, verb) {
					t.Errorf("%s grants %s of %v", g.name, verb, r.Resources)
				}
			}

			for _, resource := range append(r.Resources, r.APIGroups...) {
				if slices.Contains([]string{
					"*", "secrets", "nodes/proxy", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy",
					"serviceaccounts/token",
				}, resource) {
					t.Errorf("%s grants %s", g.name, resource)
				}
			}
		}
	}
}
