package nettest

import "mullion.dev/mullion/internal/spec"

func inwardFlows() []Flow {
	local := answers(podOneB).seenAs(clientOwn)
	two := need{twoNodes: true}
	source := trafficPolicies()
	external := func(b *bed, p Protocol) (string, int32) {
		return b.externalIP(), pick(p, serviceTCP, serviceUDP)
	}
	web := answers(podOneB, podTwoA)

	return []Flow{
		{
			Name:      "outside → NodePort",
			Protocols: both(),
			from:      outside,
			to:        nodePort("web", nodeOne),
			want:      web,
			source:    features(),
			modes:     joined(),
		},
		{
			Name:      "outside → NodePort, other node",
			Protocols: both(),
			from:      outside,
			to:        nodePort("web", nodeTwo),
			want:      web,
			source:    features(),
			needs:     two,
			modes:     joined(),
		},
		{
			Name:      "node → NodePort of another node",
			Protocols: both(),
			from:      nodeTwo,
			to:        nodePort("web", nodeOne),
			want:      web,
			source:    limitations(),
			needs:     two,
			modes:     joined(),
		},
		{
			Name:      "node → its own NodePort",
			Protocols: both(),
			from:      nodeOne,
			to:        nodePort("web", nodeOne),
			want:      none(),
			source:    limitations(),
			modes:     joined(),
		},
		{
			Name:      "outside → NodePort, external policy Local",
			Protocols: both(),
			from:      outside,
			to:        nodePort("outward", nodeOne),
			want:      local,
			source:    source,
			modes:     joined(),
		},
		{
			Name:      "outside → NodePort, external policy Local, no backend there",
			Protocols: both(),
			from:      outside,
			to:        nodePort("outward", nodeTwo),
			want:      none(),
			source:    source,
			needs:     two,
			modes:     joined(),
		},
		{
			Name:      "outside → external IP",
			Protocols: both(),
			from:      outside,
			to:        external,
			want:      web,
			source:    service("External IPs", "external-ips"),
			modes:     joined(),
		},
		{
			Name:      "outside → hostPort",
			Protocols: both(),
			from:      outside,
			to:        hostPort(nodeOne),
			want:      answers(podOneB),
			source:    plugin("win-bridge"),
			modes:     []spec.Mode{spec.ModeL2Bridge, spec.ModeL2Tunnel, spec.ModeNAT},
		},
		{
			Name:      "outside → hostPort",
			Protocols: both(),
			from:      outside,
			to:        hostPort(nodeOne),
			want:      none(),
			source:    plugin("win-overlay"),
			modes:     []spec.Mode{spec.ModeOverlay},
		},
	}
}

func trafficPolicies() Source { return service("Traffic policies", "traffic-policies") }

// balancerFlows go to load balancers' addresses, by the routes that the cluster's own controller made. The kube-proxy
// of the node to which the routes lead handles them.
func balancerFlows() []Flow {
	source := service("type: LoadBalancer", "loadbalancer")
	external := Source{
		"Create an External Load Balancer: Preserving the client source IP",
		"https://kubernetes.io/docs/tasks/access-application-cluster/create-external-load-balancer/#preserving-the-client-source-ip",
	}

	web := answers(podOneB, podTwoA)
	check := func(node string) target {
		return func(b *bed, _ Protocol) (string, int32) { return b.address(node), b.service("outward").healthCheck }
	}
	kept := func(b *bed, _ Protocol) (string, int32) { return b.service("kept").ingress, httpPort }

	return []Flow{
		{
			Name:      "outside → load balancer's IP",
			Protocols: both(),
			from:      outside,
			to:        ingress("balanced"),
			want:      web,
			source:    source,
			needs:     need{ingress: "balanced"},
			modes:     joined(),
		},
		{
			Name:      "pod → load balancer's IP",
			Protocols: both(),
			from:      podOneA,
			to:        ingress("balanced"),
			want:      web,
			source:    source,
			needs:     need{ingress: "balanced"},
			modes:     joined(),
		},
		{
			Name:      "outside → load balancer's IP, external policy Local",
			Protocols: both(),
			from:      outside,
			to:        ingress("outward"),
			want:      answers(podOneB).seenAs(clientOwn),
			source:    trafficPolicies(),
			needs:     need{ingress: "outward"},
			modes:     joined(),
		},
		{
			Name:      "outside → load balancer's IP, not of the source ranges",
			Protocols: both(),
			from:      outside,
			to:        ingress("closed"),
			want:      answers(podOneB),
			source:    sourceRanges(),
			needs:     need{ingress: "closed"},
			modes:     joined(),
		},
		{
			Name:      "outside → load balancer's IP, preserve-destination",
			Protocols: []Protocol{TCP},
			from:      outside,
			to:        kept,
			want:      answers(podOneB).seenAs(clientOwn),
			source:    features(),
			needs:     need{ingress: "kept"},
			modes:     joined(),
		},
		{
			Name:      "outside → health check node port",
			Protocols: []Protocol{TCP},
			from:      outside,
			to:        check(nodeOne),
			request:   health,
			want:      answers(withPod),
			source:    external,
			modes:     joined(),
		},
		{
			Name:      "outside → health check node port, no backend there",
			Protocols: []Protocol{TCP},
			from:      outside,
			to:        check(nodeTwo),
			request:   health,
			want:      answers(withoutPod),
			source:    external,
			needs:     need{twoNodes: true},
			modes:     joined(),
		},
	}
}

// sourceRanges documents what kube-proxy does with a Service's loadBalancerSourceRanges: in mode kernelspace (Windows)
// it does not read the field, on Linux it does.
func sourceRanges() Source {
	return Source{
		"kube-proxy's kernelspace proxier, which does not read loadBalancerSourceRanges",
		"https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/proxy/winkernel/proxier.go",
	}
}

// natICMP documents that WinNAT translates ICMP queries: it has a timeout for them.
func natICMP() Source {
	return Source{
		"Set-NetNat: IcmpQueryTimeout",
		"https://learn.microsoft.com/powershell/module/netnat/set-netnat#-icmpquerytimeout",
	}
}

// isolatedFlows show which places are reached, and which not, in the modes without a network of the cluster's own.
func isolatedFlows() []Flow {
	return []Flow{
		{
			Name:      "pod → pod, other node",
			Protocols: both(),
			from:      podOneA,
			to:        pod(podTwoA),
			want:      none(),
			source:    drivers("NAT"),
			needs:     need{twoNodes: true},
			modes:     []spec.Mode{spec.ModeNAT},
		},
		{
			Name:      "pod → pod, same node, ping",
			Protocols: []Protocol{ICMP},
			from:      podOneA,
			to:        pod(podOneB),
			want:      answers(),
			source:    drivers("NAT"),
			modes:     []spec.Mode{spec.ModeNAT},
		},
		{
			Name:      "pod → outside, beyond, ping",
			Protocols: []Protocol{ICMP},
			from:      podOneA,
			to:        outsideAt(true),
			want:      answers(),
			source:    natICMP(),
			modes:     []spec.Mode{spec.ModeNAT},
		},
		{
			Name:      "outside → pod",
			Protocols: both(),
			from:      outside,
			to:        pod(podOneA),
			want:      none(),
			source:    drivers("NAT"),
			modes:     []spec.Mode{spec.ModeNAT},
		},
		{
			Name:      "outside → pod",
			Protocols: both(),
			from:      outside,
			to:        pod(podOneA),
			want:      answers(podOneA).seenAs(clientOwn),
			source:    drivers("Transparent"),
			modes:     []spec.Mode{spec.ModeTransparent},
		},
		{
			Name:      "outside → pod",
			Protocols: both(),
			from:      outside,
			to:        pod(podOneA),
			want:      none(),
			source:    drivers("Overlay"),
			modes:     []spec.Mode{spec.ModeOverlay},
		},
	}
}
