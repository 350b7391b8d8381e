package check_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/check"
)

// TestCustomResources: the pods of kinds that are not known are found by their form, with the places of their faults.
func TestCustomResources(t *testing.T) {
	text, err := os.ReadFile("testdata/custom.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, r := range run(t, check.Options{Kubernetes: 37}, string(text)) {
		for _, f := range r.Findings {
			got = append(got, fmt.Sprintf("%s %d %s %s", f.Object.Kind, f.Line, f.Path, f.Rule.ID))
		}
		if len(r.Passed) > 0 || len(r.Faults) > 0 {
			t.Errorf("passed over %v, not read %v", r.Passed, r.Faults)
		}
	}

	want := []string{
		"Workflow 11 spec.templates[0].container.command[0] command-linux-shell",
		"TaskRun 18 spec.podTemplate.hostNetwork host-network",
		"TaskRun 18 spec.podTemplate.securityContext.runAsUser pod-run-as-user",
		"TaskRun 21 spec.taskSpec.steps[0].image image-base-latest",
		"GameServer 30 spec.template.spec.hostNetwork host-network",
		"GameServer 31 spec.template.spec.containers[0].image image-linux",
		"GameServer 31 spec.template.spec.containers[0].command[0] command-linux-shell",
		"OpenTelemetryCollector 39 spec.hostNetwork host-network",
		"OpenTelemetryCollector 40 spec.podSecurityContext.runAsUser pod-run-as-user",
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestCustomResourcesThatArePassedOver: only what says that it is for Windows is judged, and no kind of Kubernetes'
// own.
func TestCustomResourcesThatArePassedOver(t *testing.T) {
	for _, in := range []string{
		"apiVersion: example.com/v1\nkind: X\nspec: {template: {spec: {" + container + "}}}\n",
		"apiVersion: example.com/v1\nkind: X\nspec: {nodeSelector: {kubernetes.io/os: linux}, " + container + "}\n",
		"apiVersion: example.com/v1\nkind: X\nspec: {containers: [a, b], nodeSelector: {kubernetes.io/os: windows}}\n",
		"apiVersion: example.com/v1\nkind: X\nspec: {image: alpine, hostNetwork: true}\n",
		"apiVersion: v1\nkind: X\nspec: {nodeSelector: {kubernetes.io/os: windows}, " + container + "}\n",
		"apiVersion: networking.k8s.io/v1\nkind: X\nspec: {nodeSelector: {kubernetes.io/os: windows}, " + container + "}\n",
	} {
		findings, passed := 0, 0
		for _, r := range run(t, check.Options{Kubernetes: 37}, in) {
			findings += len(r.Findings)
			passed += r.Passed["X"]
		}

		// one that only names a node selector is found, and has no fault
		if findings > 0 || (passed != 1 && !strings.Contains(in, "[a, b]")) {
			t.Errorf("%s: %d findings, %d passed over", in, findings, passed)
		}
	}
}

// TestCustomResourceOfAliases: forms in each other, and one value many times, do not make pods without an end.
func TestCustomResourceOfAliases(t *testing.T) {
	in := "apiVersion: example.com/v1\nkind: X\na0: &a0 {nodeSelector: {kubernetes.io/os: windows}, " + container + "}\n"
	for i := range 12 {
		in += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 2))
	}
	findings := 0
	for _, r := range run(t, check.Options{Kubernetes: 37}, in) {
		findings += len(r.Findings)
	}
	if findings != 1 {
		t.Errorf("%d findings", findings)
	}
}
