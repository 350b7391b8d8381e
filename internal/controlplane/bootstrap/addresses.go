package bootstrap

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// addressPolicy keeps Services from taking addresses of the cluster itself: kube-proxy sends what goes to a Service's
// externalIPs to its pods, so whoever may create a Service could stand between all pods and the API server
// (CVE-2020-8554, https://github.com/kubernetes/kubernetes/issues/97076).
const addressPolicy = "mullion-own-addresses"

// outside returns an expression of CEL that is true if the value of the expression address is an address and none of
// ours. An address that CEL does not understand, such as one with leading zeros, may be read otherwise by kube-proxy
// and is refused too.
func outside(address string, own []netip.Prefix) string {
	quoted := make([]string, len(own))
	for i, p := range own {
		quoted[i] = "'" + p.Masked().String() + "'"
	}
	return fmt.Sprintf("isIP(%[1]s) && ![%[2]s].exists(n, cidr(n).containsIP(%[1]s))", address,
		strings.Join(quoted, ", "))
}

// applyAddressPolicy puts the policy in place, if the cluster's own addresses are known.
func applyAddressPolicy(ctx context.Context, client kubeclient.Interface, force metav1.ApplyOptions,
	own []netip.Prefix,
) error {
	if len(own) == 0 {
		return nil
	}
	admission := client.AdmissionregistrationV1()
	const message = "addresses of the API server and of the cluster's Services cannot be a Service's external addresses"
	validation := func(expression string) admissionv1.Validation {
		return admissionv1.Validation{Expression: expression, Message: message}
	}
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: named(addressPolicy, ""),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule: admissionv1.Rule{
						APIGroups:   []string{""},
						APIVersions: []string{"v1"},
						Resources:   []string{"services", "services/status"},
					},
				}}},
			},
			Validations: []admissionv1.Validation{
				validation("!has(object.spec.externalIPs) || object.spec.externalIPs.all(a, " + outside("a", own) + ")"),
				// a load balancer may have a host name in the place of an address
				validation("!has(object.status) || !has(object.status.loadBalancer) || " +
					"!has(object.status.loadBalancer.ingress) || " +
					"object.status.loadBalancer.ingress.all(a, !has(a.ip) || " + outside("a.ip", own) + ")"),
			},
		},
	}
	if _, err := admission.ValidatingAdmissionPolicies().Apply(ctx, policy, force); err != nil {
		return fmt.Errorf("apply policy %q: %w", addressPolicy, err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: named(addressPolicy, ""),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        addressPolicy,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	if _, err := admission.ValidatingAdmissionPolicyBindings().Apply(ctx, binding, force); err != nil {
		return fmt.Errorf("apply binding of policy %q: %w", addressPolicy, err)
	}
	return nil
}
