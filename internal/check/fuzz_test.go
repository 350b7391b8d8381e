package check_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

// FuzzRun gives arbitrary text to all rules, and checks what every reader of findings relies on: places inside the
// text, findings of a document in the order of its lines, and edits only in pods for Windows.
func FuzzRun(f *testing.F) {
	f.Add(corpus(2))
	f.Add(
		"apiVersion: v1\nkind: Pod\nspec: {runtimeClassName: a, containers: [{image: 'nginx', resources: {limits: {cpu: 1e9999, memory: 1Ei}}}]}\n" +
			"---\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: a}\nscheduling: {nodeSelector: {kubernetes.io/os: windows}}\n")

	f.Add(
		"apiVersion: v1\nkind: List\nitems:\n- &p {apiVersion: v1, kind: Pod, metadata: {labels: {a: b}}, spec: &s {hostPID: true, volumes: [{hostPath: {path: /proc}}]}}\n" +
			"- *p\n- {apiVersion: v1, kind: Service, spec: {selector: {a: b}, sessionAffinity: ClientIP}}\n- {<<: *p, kind: PodTemplate, template: {spec: *s}}\n")
	f.Add(
		`{"apiVersion":"batch/v1","kind":"CronJob","spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"env":[{"name":"A"},{"name":"a"}]}]}}}}}}`)
	f.Add(
		"apiVersion: networking.k8s.io/v1beta1\nkind: IngressList\nitems:\n- {spec: {backend: &b {serviceName: a, servicePort: 1}, rules: [{http: {paths: [{backend: *b}]}}]}}\n" +
			"---\napiVersion: v1\nkind: ConfigMap\ndata:\n  a: \"apiVersion: kubeproxy.config.k8s.io/v1alpha1\\nkind: KubeProxyConfiguration\\nfeatureGates: {A: true}\"\n")

	f.Fuzz(func(t *testing.T, in string) {
		c, err := check.New(rules.All(), check.Options{
			Kubernetes: 23,
			Windows:    winver.All(),
			Chosen:     true,
		})
		if err != nil {
			t.Fatal(err)
		}

		lines := strings.Count(in, "\n") + 1
		emit := func(r check.Result) error {
			last := 0
			for _, f := range r.Findings {
				if f.Line < last || f.Line < 1 || f.Line > lines || f.Column < 1 {
					t.Errorf("%s at %d:%d after line %d, of %d lines", f.Rule.ID, f.Line, f.Column, last, lines)
				}
				last = f.Line
				for _, e := range f.Edits {
					if e.Line < 1 || e.Line > lines {
						t.Errorf("%s: edit at line %d of %d", f.Rule.ID, e.Line, lines)
					}
				}
			}

			return nil
		}

		if err := c.Run(t.Context(), "f", strings.NewReader(in), emit); err != nil {
			t.Fatal(err)
		}
		if err := c.Finish(emit); err != nil {
			t.Fatal(err)
		}
	})
}
