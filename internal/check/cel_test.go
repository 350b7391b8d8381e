package check_test

import (
	"testing"

	"mullion.dev/mullion/internal/check"
)

func TestCEL(t *testing.T) {
	in := func(path string, values ...string) check.Match {
		return check.Match{
			Path:   path,
			Op:     check.In,
			Values: values,
		}
	}

	for _, tc := range []struct {
		m    check.Match
		want string
	}{
		{check.Match{
			Path: "spec.securityContext.fsGroup",
			Op:   check.Present,
		}, `(has(o.spec) && (has(o.spec.securityContext) && has(o.spec.securityContext.fsGroup)))`},
		{check.Match{
			Path: "spec.nodeSelector[kubernetes.io/os]",
			Op:   check.Absent,
		}, `(!(has(o.spec)) || (!(has(o.spec.nodeSelector)) || !("kubernetes.io/os" in o.spec.nodeSelector)))`},
		{
			in("spec.volumes[*].emptyDir.medium", "Memory"),
			`(has(o.spec) && (has(o.spec.volumes) && o.spec.volumes.exists(i0, (has(i0.emptyDir) && (has(i0.emptyDir.medium) && string(i0.emptyDir.medium) in ["Memory"])))))`,
		},
		{check.Match{Path: "a[*].b", Op: check.Absent}, `(has(o.a) && o.a.exists(i0, !(has(i0.b))))`},
	} {
		got, err := tc.m.CEL("o")
		if err != nil || got != tc.want {
			t.Errorf("%s %s:\n%s, %v, want\n%s", tc.m.Path, tc.m.Op, got, err, tc.want)
		}
	}

	for _, path := range []string{"", "[*]", "a..b", "a.", "a[", "a[]"} {
		if got, err := (check.Match{Path: path, Op: check.Present}).CEL("o"); err == nil {
			t.Errorf("path %q: %s", path, got)
		}
	}

	r := check.Rule{
		Target: check.OnContainer,
		When:   []check.Match{in("name", "x")},
		Match:  []check.Match{in("tty", "true")},
	}
	want := `(has(p.spec.initContainers) && p.spec.initContainers.exists(c, (has(c.name) && string(c.name) in ["x"]) && ((has(c.tty) && string(c.tty) in ["true"])))) || `
	if got, ok := r.CEL("p"); !ok || len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("rule: %s, %v", got, ok)
	}
}
