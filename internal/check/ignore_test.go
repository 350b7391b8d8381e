package check_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/windows/winver"
)

func TestIgnore(t *testing.T) {
	rule := check.Rule{
		ID:       "host-pid",
		Severity: check.Error,
		Category: "c",
		Title:    "t",
		Why:      "w",
		Remedy:   "r",
		Source:   check.Source{Title: "s", URL: "https://s"},
		Target:   check.OnPod,
		Match:    []check.Match{{Path: "spec.hostPID", Op: check.Present}},
	}

	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {check.mullion.dev/ignore: %}}\nspec: {os: {name: windows}, hostPID: true}\n"
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    metadata: {annotations: {check.mullion.dev/ignore: %}}\n    spec: {os: {name: windows}, hostPID: true}\n"
	for _, tc := range []struct{ text, value, want, fault string }{
		{pod, `"host-pid: known"`, "known", ""},
		{pod, `"other-rule: x; host-pid: why: because ;"`, "why: because", ""},
		{deployment, `"host-pid: of the template"`, "of the template", ""},
		{pod, `"other-rule: x"`, "", ""},
		{pod, `host-pid`, "", `"host-pid" has no reason`},
		{pod, `"host-pid: "`, "", "has no reason"},
		{pod, `[host-pid]`, "", ""},
	} {
		c, err := check.New([]check.Rule{rule}, check.Options{Kubernetes: 37, Windows: winver.All()})
		if err != nil {
			t.Fatal(err)
		}

		n := 0
		err = c.Run(t.Context(), "f", strings.NewReader(strings.Replace(tc.text, "%", tc.value, 1)),
			func(r check.Result) error {
				for _, f := range r.Findings {
					n++
					if f.Suppressed != tc.want {
						t.Errorf("%s: suppressed by %q, want %q", tc.value, f.Suppressed, tc.want)
					}
				}

				got := ""
				for _, f := range r.Faults {
					got += f.Message
				}

				if !strings.Contains(got, tc.fault) || (got == "") != (tc.fault == "") {
					t.Errorf("%s: faults %q, want %q", tc.value, got, tc.fault)
				}
				return nil
			})
		if err != nil || n != 1 {
			t.Errorf("%s: %d findings, %v", tc.value, n, err)
		}
	}
}
