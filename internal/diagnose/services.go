package diagnose

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"mullion.dev/mullion/internal/base/podowner"
)

func serviceProbes() []Probe {
	return []Probe{
		{
			ID:     "dns-service",
			Title:  "a node's pods are given a name server that does not answer for the cluster",
			Items:  []int{13},
			Source: Source{"DNS resolution is not properly working", network},
			Looks:  "clusterDNS of kubelets on Windows nodes, Services, EndpointSlices",
			Needs:  []Need{Kubelets, Services, EndpointSlices},
			Cause: "the kubelet writes its clusterDNS into pods; it has to be the address of the cluster's DNS Service, and " +
				"that needs pods that are Ready",
			Remedies: []string{
				"`kubectl get service -n kube-system kube-dns` has the address; set clusterDNS in the node's kubelet configuration " +
					"to it, and restart the kubelet",
				"without endpoints: see CoreDNS' pods, `kubectl get pods -n kube-system -l k8s-app=kube-dns`",
			},
			look: dnsService,
		},
		{
			ID:     "dns-policy",
			Title:  "a pod's dnsPolicy does nothing on Windows",
			Items:  []int{13},
			Source: Source{"DNS limitations for Windows", "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows"},
			Looks:  "pods on Windows nodes",
			Needs:  []Need{Pods},
			Cause: "ClusterFirstWithHostNet is not supported on Windows: the pod has the host's name servers, and finds no " +
				"names of the cluster",
			Remedies: []string{
				"use dnsPolicy ClusterFirst where the pod has a network of its own; a HostProcess pod has to use addresses",
			},
			look: dnsPolicy,
		},
		{
			ID:     "service-without-endpoints",
			Title:  "a Service has no pod that is Ready",
			Source: Source{"Does the Service have any EndpointSlices?", "https://kubernetes.io/docs/tasks/debug/debug-application/debug-service/#does-the-service-have-any-endpointslices"},
			Looks:  "Services whose pods are on Windows nodes, EndpointSlices",
			Needs:  []Need{Pods, Services, EndpointSlices},
			Cause:  "the pods that the Service selects are not Ready, so it leads nowhere",
			Remedies: []string{
				"`kubectl describe pod POD` says why a pod is not Ready; its readinessProbe decides",
			},
			look: noEndpoints,
		},
		{
			ID:     "service-target-port",
			Title:  "a Service leads to a port that its pods do not have",
			Source: Source{"Is the Service defined correctly?", "https://kubernetes.io/docs/tasks/debug/debug-application/debug-service/#is-the-service-defined-correctly"},
			Looks:  "named target ports of Services whose pods are on Windows nodes",
			Needs:  []Need{Pods, Services},
			Cause:  "targetPort is a name, and no container of the Service's pods has a port of that name",
			Remedies: []string{
				"give the container's port that name, or the Service the port's number",
			},
			look: targetPorts,
		},
		{
			ID:     "network-policy-not-enforced",
			Title:  "a NetworkPolicy selects pods on nodes whose network plugin enforces none",
			Source: Source{"Network policies on Windows", "https://kubernetes.io/docs/concepts/services-networking/windows-networking/"},
			Looks:  "NetworkPolicies that select pods on Windows nodes, flannel's annotations",
			Needs:  []Need{Pods, NetworkPolicies},
			Cause:  "flannel enforces no policies, and its companion for Linux nodes does not run on Windows: the pods are open",
			Remedies: []string{
				"use a plugin that enforces policies on Windows nodes, such as Calico or Antrea",
			},
			look: policies,
		},
	}
}

func dnsService(v *view) []Finding {
	var h hits
	for _, node := range keys(v.Kubelets) {
		if !v.has(Services) || !v.Looked(node) {
			continue
		}
		if len(v.Kubelets[node].ClusterDNS) == 0 {
			h.add("node "+node, "its kubelet has no clusterDNS")
		}

		for _, address := range v.Kubelets[node].ClusterDNS {
			i := slices.IndexFunc(v.Services, func(s corev1.Service) bool {
				return s.Spec.ClusterIP == address || slices.Contains(s.Spec.ClusterIPs, address)
			})
			switch {
			case i < 0 && v.serviceRange(address):
				h.add("node "+node, fmt.Sprintf("its kubelet's clusterDNS is %s, which no Service has", address))
			case i >= 0 && v.has(EndpointSlices) && v.endpoints(&v.Services[i]) == 0:
				h.add("node "+node, fmt.Sprintf("its kubelet's clusterDNS %s is service %s/%s, which has no endpoint that is ready",
					address, v.Services[i].Namespace, v.Services[i].Name))
			}
		}
	}

	return h.findings()
}

// serviceRange reports whether an address is near those of the cluster's Services: in the same 65,536 as that of the
// API server. Others may be a cache of names on the node (NodeLocal DNSCache).
func (v *view) serviceRange(address string) bool {
	const same = 2 // of four numbers
	for i := range v.Services {
		s := &v.Services[i]
		if s.Namespace == metav1.NamespaceDefault && s.Name == "kubernetes" {
			one, other := strings.Split(s.Spec.ClusterIP, "."), strings.Split(address, ".")
			return len(one) > same && len(other) > same && slices.Equal(one[:same], other[:same])
		}
	}
	return false
}

// endpoints returns how many endpoints of a Service are ready.
func (v *view) endpoints(s *corev1.Service) int {
	n := 0
	for i := range v.EndpointSlices {
		e := &v.EndpointSlices[i]
		if e.Namespace != s.Namespace || e.Labels[discoveryv1.LabelServiceName] != s.Name {
			continue
		}
		for _, one := range e.Endpoints {
			if one.Conditions.Ready == nil || *one.Conditions.Ready {
				n++
			}
		}
	}
	return n
}

func dnsPolicy(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		if p.Spec.DNSPolicy == corev1.DNSClusterFirstWithHostNet && p.Spec.NodeName != "" {
			h.add(podowner.Of(p), fmt.Sprintf("pod %s/%s on %s has dnsPolicy %s", p.Namespace, p.Name, p.Spec.NodeName,
				p.Spec.DNSPolicy))
		}
	}
	return h.findings()
}

// behind returns the pods on Windows nodes that a Service selects.
func (v *view) behind(s *corev1.Service) []*corev1.Pod {
	if len(s.Spec.Selector) == 0 {
		return nil
	}
	is := labels.SelectorFromSet(s.Spec.Selector)
	var out []*corev1.Pod
	for _, p := range v.pods {
		if p.Namespace == s.Namespace && is.Matches(labels.Set(p.Labels)) {
			out = append(out, p)
		}
	}
	return out
}

func noEndpoints(v *view) []Finding {
	if !v.has(EndpointSlices) {
		return nil
	}

	var h hits
	for i := range v.Services {
		s := &v.Services[i]
		pods := v.behind(s)
		if len(pods) == 0 || s.Spec.PublishNotReadyAddresses || v.endpoints(s) > 0 {
			continue
		}

		for _, p := range pods {
			state := "is not Ready"
			if ready(p) {
				state = "is Ready, but is no endpoint"
			}
			h.add(fmt.Sprintf("service %s/%s", s.Namespace, s.Name),
				fmt.Sprintf("pod %s/%s %s", p.Namespace, p.Name, state))
		}
	}

	return h.findings()
}

func targetPorts(v *view) []Finding {
	var h hits
	for i := range v.Services {
		s := &v.Services[i]
		pods := v.behind(s)
		for _, port := range s.Spec.Ports {
			name := port.TargetPort.StrVal
			if name == "" || len(pods) == 0 || slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return hasPort(p, name) }) {
				continue
			}
			h.add(fmt.Sprintf("service %s/%s", s.Namespace, s.Name),
				fmt.Sprintf("port %d leads to %q, which pod %s/%s and its like do not have", port.Port, name,
					pods[0].Namespace, pods[0].Name))
		}
	}

	return h.findings()
}

func hasPort(p *corev1.Pod, name string) bool {
	return slices.ContainsFunc(containers(p), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(c corev1.ContainerPort) bool { return c.Name == name })
	})
}

func policies(v *view) []Finding {
	var h hits
	for i := range v.NetworkPolicies {
		policy := &v.NetworkPolicies[i]
		is, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
		if err != nil {
			continue
		}

		for _, p := range v.pods {
			n := v.node(p.Spec.NodeName)
			if p.Namespace == policy.Namespace && !p.Spec.HostNetwork && is.Matches(labels.Set(p.Labels)) && n != nil &&
				n.Annotations[backendType] != "" {
				h.add(fmt.Sprintf("networkpolicy %s/%s", policy.Namespace, policy.Name),
					fmt.Sprintf("it selects pod %s/%s on %s, whose network is flannel's", p.Namespace, p.Name, n.Name))
			}
		}
	}

	return h.findings()
}
