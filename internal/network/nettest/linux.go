package nettest

import "mullion.dev/mullion/internal/spec"

// linuxFlows returns the flows from, to and through a Linux node. The node has Services in every mode. Its pods are
// reached wherever the underlay or the overlay leads to them, and reach Windows pods that are not hidden behind their
// nodes.
func linuxFlows(mode spec.Mode) []Flow {
	flows := append(linuxPodFlows(mode), linuxServiceFlows()...)
	for i := range flows {
		flows[i].needs.linux = true
	}
	return flows
}

func linuxPodFlows(mode spec.Mode) []Flow {
	reach := append(joined(), spec.ModeTransparent)
	// The underlay has routes to a Linux node's pods, except in an overlay.
	underlay := []spec.Mode{spec.ModeL2Bridge, spec.ModeL2Tunnel, spec.ModeNAT, spec.ModeTransparent}
	hidden, near := clientOwn, clientOwn
	switch mode {
	case spec.ModeNAT:
		hidden = clientNode
	case spec.ModeOverlay:
		near = clientNode
	}

	return []Flow{
		{
			Name:      "pod → pod on a Linux node",
			Protocols: both(),
			from:      podOneA,
			to:        pod(podLinux),
			want:      answers(podLinux).seenAs(hidden),
			source:    podNetwork(),
		},
		{
			Name:      "pod on a Linux node → pod",
			Protocols: both(),
			from:      podLinux,
			to:        pod(podOneA),
			want:      answers(podOneA).seenAs(clientOwn),
			source:    podNetwork(),
			modes:     reach,
		},
		{
			Name:      "pod on a Linux node → pod",
			Protocols: both(),
			from:      podLinux,
			to:        pod(podOneA),
			want:      none(),
			source:    drivers("NAT"),
			modes:     []spec.Mode{spec.ModeNAT},
		},
		{
			Name:      "node → pod on a Linux node",
			Protocols: both(),
			from:      nodeOne,
			to:        pod(podLinux),
			want:      answers(podLinux),
			source:    podNetwork(),
			modes:     underlay,
		},
		{
			Name:      "Linux node → pod",
			Protocols: both(),
			from:      nodeLinux,
			to:        pod(podOneA),
			want:      answers(podOneA),
			source:    podNetwork(),
			modes:     reach,
		},
		{
			Name:      "Linux node → its own pod",
			Protocols: both(),
			from:      nodeLinux,
			to:        pod(podLinux),
			want:      answers(podLinux),
			source:    podNetwork(),
		},
		{
			Name:      "pod on a Linux node → Windows node",
			Protocols: both(),
			from:      podLinux,
			to:        node(nodeOne),
			want:      answers(nodeOne),
			source:    podNetwork(),
		},
		{
			Name:      "pod → Linux node",
			Protocols: both(),
			from:      podOneA,
			to:        node(nodeLinux),
			want:      answers(nodeLinux),
			source:    podNetwork(),
		},
		{
			Name:      "pod on a Linux node → outside, underlay",
			Protocols: both(),
			from:      podLinux,
			to:        outsideAt(false),
			want:      answers(outside).seenAs(near),
			source:    podNetwork(),
		},
		{
			Name:      "pod on a Linux node → outside, beyond",
			Protocols: both(),
			from:      podLinux,
			to:        outsideAt(true),
			want:      answers(outside).seenAs(clientNode),
			source:    podNetwork(),
		},
		{
			Name:      "outside → pod on a Linux node",
			Protocols: both(),
			from:      outside,
			to:        pod(podLinux),
			want:      answers(podLinux).seenAs(clientOwn),
			source:    podNetwork(),
			modes:     underlay,
		},
	}
}

func linuxServiceFlows() []Flow {
	proxy := Source{
		"Virtual IPs and Service Proxies: nftables proxy mode",
		"https://kubernetes.io/docs/reference/networking/virtual-ips/#proxy-mode-nftables",
	}

	ranges := service("type: LoadBalancer", "loadbalancer")
	linuxDNS := Source{
		"DNS for Services and Pods: Namespaces of Services",
		"https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#namespaces-of-services",
	}
	d := need{dns: true}
	web, own := answers(podOneB, podTwoA), answers(podLinux)

	return []Flow{
		{
			Name:      "pod → ClusterIP, backend on a Linux node",
			Protocols: both(),
			from:      podOneA,
			to:        clusterIP("linux"),
			want:      own,
			source:    features(),
			modes:     joined(),
		},
		{
			Name:      "pod on a Linux node → ClusterIP",
			Protocols: both(),
			from:      podLinux,
			to:        clusterIP("web"),
			want:      web.seenAs(clientOwn),
			source:    proxy,
			modes:     joined(),
		},
		{
			Name:      "pod on a Linux node → ClusterIP of its own",
			Protocols: both(),
			from:      podLinux,
			to:        clusterIP("linux"),
			want:      own,
			source:    proxy,
		},
		{
			Name:      "pod on a Linux node → Service by short name",
			Protocols: both(),
			from:      podLinux,
			to:        byName("web"),
			want:      web,
			source:    linuxDNS,
			needs:     d,
			modes:     joined(),
		},
		{
			Name:      "pod on a Linux node → Service by NAME.NAMESPACE",
			Protocols: both(),
			from:      podLinux,
			to:        byPartlyName("web"),
			want:      web,
			source:    linuxDNS,
			needs:     d,
			modes:     joined(),
		},
		{
			Name:      "pod on a Linux node → outside by name",
			Protocols: both(),
			from:      podLinux,
			to:        byFarName(),
			want:      answers(outside),
			source:    linuxDNS,
			needs:     d,
		},
		{
			Name:      "Linux node → ClusterIP",
			Protocols: both(),
			from:      nodeLinux,
			to:        clusterIP("web"),
			want:      web,
			source:    proxy,
			modes:     joined(),
		},
		{
			Name:      "outside → NodePort of a Linux node",
			Protocols: both(),
			from:      outside,
			to:        nodePort("web", nodeLinux),
			want:      web,
			source:    proxy,
			modes:     joined(),
		},
		{
			Name:      "outside → NodePort of a Linux node, backend there",
			Protocols: both(),
			from:      outside,
			to:        nodePort("linux", nodeLinux),
			want:      own,
			source:    proxy,
		},
		{
			Name:      "outside → NodePort, backend on a Linux node",
			Protocols: both(),
			from:      outside,
			to:        nodePort("linux", nodeOne),
			want:      own,
			source:    features(),
			modes:     joined(),
		},
		{
			Name:      "Linux node → its own NodePort",
			Protocols: both(),
			from:      nodeLinux,
			to:        nodePort("web", nodeLinux),
			want:      web,
			source:    proxy,
			modes:     joined(),
		},
		{
			Name:      "outside → load balancer's IP on a Linux node, of the source ranges",
			Protocols: both(),
			from:      outside,
			to:        ingress("open-linux"),
			want:      own,
			source:    ranges,
			needs:     need{ingress: "open-linux"},
			modes:     joined(),
		},
		{
			Name:      "outside → load balancer's IP on a Linux node, not of the source ranges",
			Protocols: both(),
			from:      outside,
			to:        ingress("closed-linux"),
			want:      none(),
			source:    ranges,
			needs:     need{ingress: "closed-linux"},
			modes:     joined(),
		},
	}
}
