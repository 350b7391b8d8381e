// Package policy renders rules as Kubernetes admission policies, so that an API server judges objects as mullion check
// judges files. Only rules with a form in CEL are rendered. The package prints text and links no Kubernetes.
package policy

import (
	"fmt"
	"io"
	"strings"

	"mullion.dev/mullion/internal/check"
)

// shape is a group of resources with the pod at the same place.
type shape struct {
	name, pod string
	rules     []resource
}

type resource struct {
	groups, versions string
	names            []string
}

func shapes() []shape {
	return []shape{
		{"pods", "object", []resource{{`""`, "v1", []string{"pods"}}}},
		{"workloads", "object.spec.template", []resource{
			{"apps", "v1", []string{"daemonsets", "deployments", "replicasets", "statefulsets"}},
			{"batch", "v1", []string{"jobs"}},
			{`""`, "v1", []string{"replicationcontrollers"}},
		}},
		{"cronjobs", "object.spec.jobTemplate.spec.template", []resource{{"batch", "v1", []string{"cronjobs"}}}},
	}
}

// Windows returns the CEL expression that is true for a pod that is surely for Windows, by os.name or node selector.
func Windows(pod string) string {
	return fmt.Sprintf(`(has(%[1]s.spec.os) && %[1]s.spec.os.name == "windows") || `+
		`(has(%[1]s.spec.nodeSelector) && "kubernetes.io/os" in %[1]s.spec.nodeSelector && %[1]s.spec.nodeSelector["kubernetes.io/os"] == "windows")`, pod)
}

// Write prints policies with their bindings. ValidatingAdmissionPolicies are for the rules that hold for a minor
// version of Kubernetes and for every Windows version: errors deny, other findings warn. MutatingAdmissionPolicies add
// placement to a pod whose system is known. It is an error if the Kubernetes version has no validating policies; if it
// has no mutating ones, a comment says so.
func Write(w io.Writer, rules []check.Rule, kubernetes int) error {
	if kubernetes < FirstValidating {
		return fmt.Errorf(
			"policies for Kubernetes 1.%d: its API server has none of admissionregistration.k8s.io/v1, which come with 1.%d", kubernetes, FirstValidating)
	}

	var b strings.Builder
	for _, kind := range []struct{ name, actions string }{{"deny", "[Deny]"}, {"warn", "[Warn, Audit]"}} {
		for _, s := range shapes() {
			var validations strings.Builder
			for _, r := range rules {
				deny := r.Severity == check.Error
				expr, ok := r.CEL(s.pod)
				if !ok || deny != (kind.name == "deny") || !holds(&r, kubernetes) {
					continue
				}
				fmt.Fprintf(&validations, "  - expression: %s\n    message: %s\n", quote("!("+expr+")"),
					quote(r.ID+": "+r.Title+"; "+r.Remedy))
			}

			if validations.Len() > 0 {
				write(&b, "mullion-check-"+kind.name+"-"+s.name, kind.actions, s, validations.String())
			}
		}
	}

	if kubernetes < FirstMutating {
		fmt.Fprintf(
			&b, "# MutatingAdmissionPolicies, which add node selectors and tolerations, are left out: they are on by default from Kubernetes 1.%d.\n", FirstMutating)
	} else {
		for _, m := range mutations() {
			m.write(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// holds reports whether a rule can be a policy: it applies to pods for Windows, on every Windows version.
func holds(r *check.Rule, kubernetes int) bool {
	return kubernetes >= r.Since && (r.Until == 0 || kubernetes < r.Until) && r.SinceBuild == 0 && r.UntilBuild == 0 &&
		len(r.Systems) == 0 && !r.Unplaced
}

func write(b *strings.Builder, name, actions string, s shape, validations string) {
	fmt.Fprintf(
		b, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata:\n  name: %s\nspec:\n  failurePolicy: Ignore\n  matchConstraints:\n    resourceRules:\n", name)
	for _, r := range s.rules {
		fmt.Fprintf(
			b, "    - apiGroups: [%s]\n      apiVersions: [%s]\n      operations: [CREATE, UPDATE]\n      resources: [%s]\n", r.groups, r.versions, strings.Join(r.names, ", "))
	}
	fmt.Fprintf(b, "  matchConditions:\n  - name: windows\n    expression: %s\n  validations:\n%s",
		quote(Windows(s.pod)), validations)
	fmt.Fprintf(
		b, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata:\n  name: %[1]s\nspec:\n  policyName: %[1]s\n  validationActions: %[2]s\n", name, actions)
}

// quote makes a scalar of YAML in single quotes. Rules have no line ends.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
