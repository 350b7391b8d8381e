package filter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/knftables"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/network/policy"
)

// ruleset returns what a node has with some pods and policies.
func ruleset(t *testing.T, pods string, policies ...string) policy.Ruleset {
	t.Helper()
	var o policy.Objects
	for i, name := range strings.Fields(pods) {
		p := &corev1.Pod{}
		p.Namespace = "default"
		p.Name = name
		p.UID = types.UID(name)
		p.Labels = map[string]string{"app": name}
		p.Spec.NodeName = "one"
		p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80}}}}
		p.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.0.0.%d", i+1)}, {IP: fmt.Sprintf("fd00::%d", i+1)}}
		o.Pods = append(o.Pods, p)
	}

	for i, text := range policies {
		p := &networkingv1.NetworkPolicy{}
		if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
			t.Fatal(err)
		}
		p.Namespace, p.Name = "default", fmt.Sprint(i)
		o.Policies = append(o.Policies, p)
	}

	return policy.Compile(o).Ruleset("one")
}

// lines returns what is in the table, in no order: elements have none.
func lines(nft *knftables.Fake) []string { return slices.Sorted(strings.Lines(nft.Dump())) }

// A change of any kind leaves the table as if it had been made anew, and the second time there is nothing to change.
func TestChanges(t *testing.T) {
	const (
		deny  = "podSelector: {}\npolicyTypes: [Ingress, Egress]\n"
		named = "podSelector: {matchLabels: {app: a}}\ningress: [{from: [{podSelector: {matchLabels: {app: b}}}], ports: [{port: web}]}]\n"
		block = "podSelector: {matchLabels: {app: b}}\negress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}]\n"
	)

	states := map[string]policy.Ruleset{
		"nothing":       ruleset(t, ""),
		"pods":          ruleset(t, "a b"),
		"deny":          ruleset(t, "a b", deny),
		"named":         ruleset(t, "a b", named),
		"named, more":   ruleset(t, "a b c d", named),
		"moved":         ruleset(t, "b a", named),
		"all":           ruleset(t, "a b c", deny, named, block),
		"deny, no pods": ruleset(t, "", deny),
	}

	run := func(nft *knftables.Fake, tx *knftables.Transaction) {
		t.Helper()
		if err := nft.Run(t.Context(), tx); err != nil {
			t.Fatalf("%v in\n%s", err, tx)
		}
	}

	anew := func(nft *knftables.Fake, want policy.Ruleset) {
		t.Helper()
		tx := nft.NewTransaction()
		replace(tx)
		change(tx, policy.Ruleset{}, want)
		run(nft, tx)
	}

	for from, have := range states {
		for to, want := range states {
			t.Run(from+"/"+to, func(t *testing.T) {
				nft := knftables.NewFake(knftables.InetFamily, policy.Table)
				fresh := knftables.NewFake(knftables.InetFamily, policy.Table)
				anew(nft, have)
				anew(fresh, want)
				tx := nft.NewTransaction()
				change(tx, have, want)
				run(nft, tx)
				if diff := cmp.Diff(lines(fresh), lines(nft)); diff != "" {
					t.Error(diff)
				}

				again := nft.NewTransaction()
				if change(again, want, want); again.NumOperations() > 0 {
					t.Errorf("the same again is a change:\n%s", again)
				}
			})
		}
	}
}
