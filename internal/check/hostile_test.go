package check_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check"
)

// TestManyInFewBytes: what aliases and long lines make many of is judged and said once, or no more of it than anybody
// reads.
func TestManyInFewBytes(t *testing.T) {
	const n = 20_000
	begin := "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  nodeSelector: {kubernetes.io/os: windows}\n"
	many := func(one string) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }
	privileged := "{name: c, image: x, securityContext: {privileged: true}}"
	for _, tc := range []struct {
		name, in string
		findings int
		fault    string
	}{
		{"containers by alias", begin + "  c: &c " + privileged + "\n  containers: " + many("*c") + "\n", 1, ""},
		{
			"lists by alias",
			begin + "  c: &c [" + privileged + "]\n  containers: *c\n  initContainers: *c\n  ephemeralContainers: *c\n", 1, "",
		},
		{
			"items by alias",
			"apiVersion: v1\nkind: List\np: &p {apiVersion: v1, kind: Pod, spec: {os: {name: windows}, " +
				"nodeSelector: {kubernetes.io/os: windows}, hostPID: true}}\nitems: " + many("*p") + "\n", 1, "",
		},
		{
			"volumes by alias",
			begin + "  v: &v {name: v, hostPath: {path: /x, type: BlockDevice}}\n  volumes: " + many("*v") + "\n", 1, "",
		},
		{
			"containers that merge one", begin + "  c: &c " + privileged + "\n  containers: " + many("{<<: *c}") + "\n", 1,
			"more than 2000 containers",
		},
		{"containers in a line", begin + "  containers: " + many(privileged) + "\n", 1000, "more than 1000 findings"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			findings, faults := 0, ""
			for _, r := range run(t, check.Options{Kubernetes: 36}, tc.in) {
				findings += len(r.Findings)
				for _, f := range r.Faults {
					faults += f.Message + "\n"
				}
			}

			if findings != tc.findings || !strings.Contains(faults, tc.fault) || (faults == "") != (tc.fault == "") {
				t.Errorf("%d findings, want %d; faults %q, want %q", findings, tc.findings, faults, tc.fault)
			}
		})
	}
}
