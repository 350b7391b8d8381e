package nettest

import (
	"slices"

	"mullion.dev/mullion/internal/spec"
)

// Flows returns all flows of a mode, in the order of the report.
func Flows(mode spec.Mode, profile spec.Profile) []Flow {
	var all []Flow
	for _, group := range [][]Flow{
		podFlows(), wayOutFlows(mode), serviceFlows(), nameFlows(mode), inwardFlows(),
		balancerFlows(), isolatedFlows(), linuxFlows(mode),
	} {
		all = append(all, group...)
	}

	all = slices.DeleteFunc(all, func(f Flow) bool {
		return len(f.modes) > 0 && !slices.Contains(f.modes, mode)
	})
	for i := range all {
		if profile == spec.ProfileModern && all[i].modern != nil {
			all[i].want = *all[i].modern
		}
	}

	return all
}

// Flows6 returns the flows over IPv6 of a mode, for a cluster with both families: those of Flows that exist over IPv6,
// and those that show that the families are separate.
func Flows6(mode spec.Mode, profile spec.Profile) []Flow {
	var all []Flow
	for _, f := range Flows(mode, profile) {
		if f.fourAlone {
			continue
		}
		all = append(all, f)
	}

	all = append(all, familyFlows()...)
	for i := range all {
		all[i].Name += ", IPv6"
		all[i].six = true
	}

	return all
}

// familyFlows go over IPv6 to Services that have IPv4 only.
func familyFlows() []Flow {
	four := func(b *bed, p Protocol) (string, int32) { return b.address(nodeOne), b.services["web"].nodePorts[p] }
	return []Flow{
		{
			Name:      "outside → NodePort of an IPv4-only Service",
			Protocols: both(),
			from:      outside,
			to:        four,
			want:      none(),
			source:    dualStack(),
		},
	}
}

func dualStack() Source {
	return Source{
		"IPv4/IPv6 dual-stack: Services",
		"https://kubernetes.io/docs/concepts/services-networking/dual-stack/#services",
	}
}

// ofIPv4 marks a flow that does not exist over IPv6.
func (f Flow) ofIPv4() Flow {
	f.fourAlone = true
	return f
}

// inModern sets the expectation with the profile modern, which lifts a limit of Windows.
func (f Flow) inModern(want expectation) Flow {
	f.modern = &want
	return f
}

// before2022 sets the expectation for versions before Windows Server 2022.
func (f Flow) before2022(want expectation) Flow {
	f.older = &want
	return f
}

// inCluster returns upstream's test that a HostProcess container reaches the API server at its ClusterIP.
func inCluster() Source {
	return Source{
		"Kubernetes' test: HostProcess containers should support querying api-server using in-cluster config",
		"https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/e2e/windows/host_process.go",
	}
}

func both() []Protocol { return []Protocol{TCP, UDP} }

// joined returns the modes in which the pods of all nodes have a network in common and Services.
func joined() []spec.Mode { return []spec.Mode{spec.ModeL2Bridge, spec.ModeL2Tunnel, spec.ModeOverlay} }

func podFlows() []Flow {
	two := need{twoNodes: true}
	reach := append(joined(), spec.ModeTransparent)

	return []Flow{
		{
			Name:      "pod → pod, same node",
			Protocols: both(),
			from:      podOneA,
			to:        pod(podOneB),
			want:      answers(podOneB).seenAs(clientOwn),
			source:    podNetwork(),
		},
		{
			Name:      "pod → pod, other node",
			Protocols: both(),
			from:      podOneA,
			to:        pod(podTwoA),
			want:      answers(podTwoA).seenAs(clientOwn),
			source:    podNetwork(),
			needs:     two,
			modes:     reach,
		},
		{
			Name:      "pod → pod, same node, ping",
			Protocols: []Protocol{ICMP},
			from:      podOneA,
			to:        pod(podOneB),
			want:      answers(),
			source:    limitations(),
			modes:     reach,
		},
		{
			Name:      "pod → pod, other node, ping",
			Protocols: []Protocol{ICMP},
			from:      podOneA,
			to:        pod(podTwoA),
			want:      answers(),
			source:    limitations(),
			needs:     two,
			modes:     reach,
		},
		{
			Name:      "node → its own pod",
			Protocols: both(),
			from:      nodeOne,
			to:        pod(podOneA),
			want:      answers(podOneA),
			source:    podNetwork(),
			modes:     append(joined(), spec.ModeNAT),
		},
		{
			Name:      "node → pod, other node",
			Protocols: both(),
			from:      nodeOne,
			to:        pod(podTwoA),
			want:      answers(podTwoA),
			source:    podNetwork(),
			needs:     two,
			modes:     []spec.Mode{spec.ModeL2Bridge, spec.ModeL2Tunnel},
		},
		{
			Name:      "pod → its own node",
			Protocols: both(),
			from:      podOneA,
			to:        node(nodeOne),
			want:      answers(nodeOne),
			source:    podNetwork(),
			modes:     append(joined(), spec.ModeNAT),
		},
		{
			Name:      "pod → other node",
			Protocols: both(),
			from:      podOneA,
			to:        node(nodeTwo),
			want:      answers(nodeTwo),
			source:    podNetwork(),
			needs:     two,
		},
	}
}

// outward returns the address by which the world outside sees a Windows pod, near on the underlay and far beyond it. In
// an overlay and in mode nat it is always the node's; otherwise the underlay knows the pods' addresses.
func outward(mode spec.Mode) (near, far string) {
	switch mode {
	case spec.ModeOverlay, spec.ModeNAT:
		return clientNode, clientNode
	case spec.ModeTransparent:
		return clientOwn, clientOwn
	}
	return clientOwn, clientNode
}

// wayOutFlows leave the cluster. ICMP cannot where policies of HNS translate the source address.
func wayOutFlows(mode spec.Mode) []Flow {
	near, far := outward(mode)

	return []Flow{
		{
			Name:      "pod → outside, underlay",
			Protocols: both(),
			from:      podOneA,
			to:        outsideAt(false),
			want:      answers(outside).seenAs(near),
			source:    windowsNetworking("Network modes", "network-modes"),
		},
		{
			Name:      "pod → outside, beyond",
			Protocols: both(),
			from:      podOneA,
			to:        outsideAt(true),
			want:      answers(outside).seenAs(far),
			source:    windowsNetworking("Network modes", "network-modes"),
		},
		Flow{
			Name:      "pod → outside, beyond, ping",
			Protocols: []Protocol{ICMP},
			from:      podOneA,
			to:        outsideAt(true),
			want:      none(),
			source:    limitations(),
			modes:     joined(),
		}.inModern(answers()),
		{
			Name:      "pod → outside, beyond, ping",
			Protocols: []Protocol{ICMP},
			from:      podOneA,
			to:        outsideAt(true),
			want:      answers(),
			source:    drivers("Transparent"),
			modes:     []spec.Mode{spec.ModeTransparent},
		},
	}
}

func serviceFlows() []Flow {
	spread := expectation{servers: []string{podOneB, podTwoA}, each: true}
	sticky := expectation{servers: []string{podOneB, podTwoA}, same: true}
	two := need{twoNodes: true}

	return []Flow{
		{
			Name:      "pod → ClusterIP",
			Protocols: both(),
			from:      podOneA,
			to:        clusterIP("web"),
			want:      spread,
			source:    features(),
			needs:     two,
			modes:     joined(),
		},
		{
			Name:      "pod → ClusterIP, other node",
			Protocols: both(),
			from:      podTwoA,
			to:        clusterIP("web"),
			want:      answers(podOneB, podTwoA),
			source:    features(),
			needs:     two,
			modes:     joined(),
		},
		{
			Name:      "pod → ClusterIP, affinity ClientIP",
			Protocols: both(),
			from:      podOneA,
			to:        clusterIP("sticky"),
			want:      sticky,
			source:    features(),
			needs:     need{twoNodes: true, affinity: true},
			modes:     joined(),
		},
		{
			Name:      "pod → ClusterIP, internal policy Local",
			Protocols: both(),
			from:      podOneA,
			to:        clusterIP("inward"),
			want:      answers(podOneB),
			source:    service("internalTrafficPolicy", "internal-traffic-policy"),
			modes:     joined(),
		},
		{
			Name:      "pod → ClusterIP, internal policy Local, no backend there",
			Protocols: both(),
			from:      podTwoA,
			to:        clusterIP("inward"),
			want:      none(),
			source:    service("internalTrafficPolicy", "internal-traffic-policy"),
			needs:     two,
			modes:     joined(),
		},
		Flow{
			Name:      "node → ClusterIP",
			Protocols: both(),
			from:      nodeOne,
			to:        clusterIP("web"),
			want:      answers(podOneB, podTwoA),
			source:    inCluster(),
			modes:     joined(),
		}.before2022(none()),
		Flow{
			Name:      "node → ClusterIP, backend on a Linux node",
			Protocols: both(),
			from:      nodeOne,
			to:        clusterIP("linux"),
			want:      answers(podLinux),
			source:    inCluster(),
			needs:     need{linux: true},
			modes:     joined(),
		}.before2022(none()),
	}
}

func nameFlows(mode spec.Mode) []Flow {
	d := need{dns: true}
	_, far := outward(mode)
	at := func(name string, to target, want expectation) Flow {
		return Flow{
			Name:      name,
			Protocols: both(),
			from:      podOneA,
			to:        to,
			want:      want,
			source:    dns(),
			needs:     d,
			modes:     joined(),
		}
	}

	headless := func(b *bed, p Protocol) (string, int32) { return b.host("headless"), portOfPod(p) }
	elsewhere := func(b *bed, p Protocol) (string, int32) {
		return b.host("elsewhere") + "." + b.namespace + ".svc." + b.domain, portOfPod(p)
	}
	fqdn := func(b *bed, p Protocol) (string, int32) {
		return b.host("web") + "." + b.namespace + ".svc." + b.domain, pick(p, serviceTCP, serviceUDP)
	}

	beyond := func(b *bed, _ Protocol) (string, int32) { return b.host("beyond"), portOfNode }
	unknown := func(*bed, Protocol) (string, int32) { return "no-such." + Zone, portOfNode }
	unresolved := expectation{none: true, unresolved: true}

	return []Flow{
		at("pod → Service by short name", byName("web"), answers(podOneB, podTwoA)),
		at("pod → Service by FQDN", fqdn, answers(podOneB, podTwoA)),
		at("pod → Service by NAME.NAMESPACE", byPartlyName("web"), unresolved).inModern(answers(podOneB, podTwoA)),
		at("pod → headless Service by name", headless, answers(podOneB, podTwoA)),
		at("pod → ExternalName Service", elsewhere, answers(podOneB, podTwoA)),
		at("pod → outside by name", byFarName(), answers(outside).seenAs(far)),
		at("pod → outside by ExternalName Service", beyond, answers(outside).seenAs(far)),
		at("pod → name that the outside does not know", unknown, unresolved).ofIPv4(),
		Flow{
			Name:      "pod → kubernetes.default",
			Protocols: []Protocol{TCP},
			from:      podOneA,
			to:        byName("kubernetes.default"),
			want:      unresolved,
			source:    dns(),
			needs:     d,
			modes:     joined(),
			fourAlone: true,
		}.inModern(expectation{none: true, resolved: true}),
	}
}
