package policy

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/check"
)

// Kubernetes minor versions from which the API server has the policies in admissionregistration.k8s.io/v1, without a
// feature gate. https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/,
// …/mutating-admission-policy/
const (
	FirstValidating = 30
	FirstMutating   = 36
)

const osLabel = "kubernetes.io/os"

// mutation is a MutatingAdmissionPolicy for pods that are being created. Workloads are not changed, because tools
// compare them with their sources; their pods are changed when they are created.
type mutation struct {
	name, comment string
	condition     string // the condition for a pod to be changed
	// each expression returns a list of JSONPatch; a JSON patch because nodeSelector and tolerations are atomic for
	// server-side apply
	patches []string
}

func mutations() []mutation {
	return []mutation{
		{
			name:    "mullion-check-add-selector",
			comment: "a pod that names its system in os.name stays on nodes of that system: the scheduler does not look at os.name",
			condition: fmt.Sprintf(
				`has(object.spec.os) && !(has(object.spec.nodeSelector) && %q in object.spec.nodeSelector)`, osLabel),
			patches: []string{fmt.Sprintf(`has(object.spec.nodeSelector) ? `+
				`[JSONPatch{op: "add", path: "/spec/nodeSelector/" + jsonpatch.escapeKey(%[1]q), value: object.spec.os.name}] : `+
				`[JSONPatch{op: "add", path: "/spec/nodeSelector", value: {%[1]q: object.spec.os.name}}]`, osLabel)},
		},
		{
			name:      "mullion-check-add-tolerations",
			comment:   "a pod for Windows tolerates the taints that keep others off Windows nodes",
			condition: Windows("object"),
			patches:   []string{tolerate(check.WindowsTaints()[0]), tolerate(check.WindowsTaints()[1])},
		},
	}
}

// tolerate adds a toleration of a taint's key, unless a toleration for this key or for all keys exists.
func tolerate(key string) string {
	value := fmt.Sprintf(`Object.spec.tolerations{key: %q, operator: "Equal", value: "windows", effect: "NoSchedule"}`,
		key)
	return fmt.Sprintf(
		`has(object.spec.tolerations) && object.spec.tolerations.exists(t, !has(t.key) || t.key == "" || t.key == %[1]q) ? [] : `+
			`has(object.spec.tolerations) ? [JSONPatch{op: "add", path: "/spec/tolerations/-", value: %[2]s}] : `+
			`[JSONPatch{op: "add", path: "/spec/tolerations", value: [%[2]s]}]`, key, value)
}

func (m mutation) write(b *strings.Builder) {
	fmt.Fprintf(
		b, "---\n# %s\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata:\n  name: %s\nspec:\n", m.comment, m.name)
	b.WriteString("  failurePolicy: Ignore\n  reinvocationPolicy: IfNeeded\n  matchConstraints:\n    resourceRules:\n" +
		"    - apiGroups: [\"\"]\n      apiVersions: [v1]\n      operations: [CREATE]\n      resources: [pods]\n")
	fmt.Fprintf(b, "  matchConditions:\n  - name: os-known\n    expression: %s\n  mutations:\n", quote(m.condition))
	for _, p := range m.patches {
		fmt.Fprintf(b, "  - patchType: JSONPatch\n    jsonPatch:\n      expression: %s\n", quote(p))
	}
	fmt.Fprintf(
		b, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata:\n  name: %[1]s\nspec:\n  policyName: %[1]s\n", m.name)
}
