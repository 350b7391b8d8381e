package bootstrap

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
)

// addressPolicy keeps Services from taking addresses of the cluster itself: kube-proxy sends what goes to a Service's
// externalIPs to its pods, so whoever may create a Service could stand between all pods and the API server, or between
// the API server and a kubelet (CVE-2020-8554, https://github.com/kubernetes/kubernetes/issues/97076).
const addressPolicy = "mullion-own-addresses"

// OwnAddresses are a cluster's own.
type OwnAddresses struct {
	// API are the API server's and those of Services, which neither a Service's externalIPs nor its load balancer may
	// be.
	API []netip.Prefix
	// Nodes are those of nodes and pods, and all that the machines have, which externalIPs may not be. A load balancer
	// may: only who may write a Service's status can say what its address is, and some use the nodes' own.
	Nodes []netip.Prefix
	// Free are the parts of Nodes that Services may have: the pools of load balancers.
	Free []netip.Prefix
}

// Has reports whether externalIPs may not have the address, as the policy sees it.
func (o OwnAddresses) Has(address string) bool {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Is4In6() {
		return true
	}
	in := func(networks []netip.Prefix) bool {
		return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	return in(o.API) || (in(o.Nodes) && !in(o.Free))
}

// within returns an expression of CEL that is true if the value of the expression address, an address, is in one of the
// networks. Single addresses are one list: a machine may have hundreds, and what an expression may cost is limited.
func within(address string, networks []netip.Prefix) string {
	var single, several, either []string
	for _, p := range networks {
		switch {
		case p.IsValid() && p.IsSingleIP():
			single = append(single, "'"+p.Addr().String()+"'")
		case p.IsValid():
			several = append(several, "'"+p.Masked().String()+"'")
		}
	}
	if len(single) > 0 {
		either = append(either, fmt.Sprintf("string(ip(%s)) in [%s]", address, strings.Join(single, ", ")))
	}

	if len(several) > 0 {
		either = append(either,
			fmt.Sprintf("[%s].exists(n, cidr(n).containsIP(%s))", strings.Join(several, ", "), address))
	}
	if len(either) == 0 {
		return "false"
	}

	return "(" + strings.Join(either, " || ") + ")"
}

// outside returns an expression that is true if the value of the expression address is an address and in none of the
// networks. An address that CEL does not understand, such as one with leading zeros, may be read otherwise by
// kube-proxy and is refused too.
func outside(address string, networks []netip.Prefix) string {
	return fmt.Sprintf("isIP(%s) && !%s", address, within(address, networks))
}

// ProtectAddresses puts the policy in place, or changes it, if the cluster's own addresses are known.
func ProtectAddresses(ctx context.Context, client kubeclient.Interface, own OwnAddresses) error {
	if len(own.API) == 0 {
		return nil
	}
	const (
		api   = "addresses of the API server and of the cluster's Services cannot be a Service's external addresses"
		nodes = "addresses of the cluster's nodes, pods and machines cannot be a Service's externalIPs: its pods would get " +
			"what is meant for a kubelet or a machine's own programs; leave externalIPs out and use type LoadBalancer or NodePort"
	)
	policy := newPolicy(addressPolicy, []string{"services", "services/status"})

	policy.Spec.Validations = []admissionv1.Validation{
		{
			Expression: "!has(object.spec.externalIPs) || object.spec.externalIPs.all(a, " + outside("a", own.API) + ")",
			Message:    api,
		},
		{
			Expression: "!has(object.spec.externalIPs) || object.spec.externalIPs.all(a, !isIP(a) || !" +
				within("a", own.Nodes) + " || " + within("a", own.Free) + ")",
			Message: nodes,
		},
		{ // a load balancer may have a host name in the place of an address
			Expression: "!has(object.status) || !has(object.status.loadBalancer) || " +
				"!has(object.status.loadBalancer.ingress) || " +
				"object.status.loadBalancer.ingress.all(a, !has(a.ip) || " + outside("a.ip", own.API) + ")",
			Message: api,
		},
	}

	return enforce(ctx, client, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}, policy)
}

// portPolicy keeps pods and Services from taking the ports at which the control plane reaches a node: what comes to a
// hostPort or a nodePort goes to a pod before the node's own programs see it. A pod on the host's network is left
// alone: there the kernel gives a port to one program.
const portPolicy = "mullion-own-ports"

// applyPortPolicy puts that policy in place.
func applyPortPolicy(ctx context.Context, client kubeclient.Interface, force metav1.ApplyOptions, ports []int) error {
	if len(ports) == 0 {
		return nil
	}

	own := strings.ReplaceAll(fmt.Sprint(ports), " ", ", ")
	containers := func(kind string) admissionv1.Validation {
		return admissionv1.Validation{
			Expression: fmt.Sprintf("(has(object.spec.hostNetwork) && object.spec.hostNetwork) || !has(object.spec.%[1]s) || "+
				"object.spec.%[1]s.all(c, !has(c.ports) || c.ports.all(p, !has(p.hostPort) || !(p.hostPort in %[2]s)))",
				kind, own),
			Message: "a pod's hostPort cannot be a port of the node's own programs (" + own + "): the control plane " +
				"would not reach the kubelet; choose another",
		}
	}

	pods := newPolicy(portPolicy+"-pods", []string{"pods"})
	pods.Spec.Validations = []admissionv1.Validation{containers("containers"), containers("initContainers")}
	services := newPolicy(portPolicy+"-services", []string{"services"})
	services.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf("!has(object.spec.ports) || "+
			"object.spec.ports.all(p, !has(p.nodePort) || !(p.nodePort in %s))", own),
		Message: "a nodePort cannot be a port of the nodes' own programs (" + own + ")",
	}}

	if err := enforce(ctx, client, force, pods); err != nil {
		return err
	}

	return enforce(ctx, client, force, services)
}

// newPolicy returns a policy of things of API group core/v1 that are created or changed.
func newPolicy(name string, resources []string) *admissionv1.ValidatingAdmissionPolicy {
	fail := admissionv1.Fail
	changed := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule: admissionv1.Rule{
			APIGroups:   []string{""},
			APIVersions: []string{"v1"},
			Resources:   resources,
		},
	}

	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: named(name, ""),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: changed}},
			},
		},
	}
}

// enforce applies a policy and binds it to all namespaces.
func enforce(ctx context.Context, client kubeclient.Interface, force metav1.ApplyOptions,
	policy *admissionv1.ValidatingAdmissionPolicy,
) error {
	admission := client.AdmissionregistrationV1()
	if _, err := admission.ValidatingAdmissionPolicies().Apply(ctx, policy, force); err != nil {
		return fmt.Errorf("apply policy %q: %w", policy.Name, err)
	}

	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: named(policy.Name, ""),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy.Name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}

	if _, err := admission.ValidatingAdmissionPolicyBindings().Apply(ctx, binding, force); err != nil {
		return fmt.Errorf("apply binding of policy %q: %w", policy.Name, err)
	}

	return nil
}
