package nettest

// windowsNetworking and the functions below return the pages that document Windows' behaviour.
func windowsNetworking(title, anchor string) Source {
	return Source{
		"Networking on Windows: " + title,
		"https://kubernetes.io/docs/concepts/services-networking/windows-networking/#" + anchor,
	}
}

func limitations() Source { return windowsNetworking("Limitations", "limitations") }
func features() Source {
	return windowsNetworking("Load balancing and Services", "load-balancing-and-services")
}

func podNetwork() Source {
	return Source{
		"The Kubernetes network model",
		"https://kubernetes.io/docs/concepts/services-networking/#the-kubernetes-network-model",
	}
}

func service(title, anchor string) Source {
	return Source{"Service: " + title, "https://kubernetes.io/docs/concepts/services-networking/service/#" + anchor}
}

func dns() Source {
	return Source{
		"DNS for Services and Pods: DNS resolution on Windows nodes",
		"https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows",
	}
}

// plugin returns a CNI plugin's page; win-bridge has the capability portMappings, win-overlay has not.
func plugin(name string) Source {
	return Source{"CNI plugin " + name, "https://www.cni.dev/plugins/current/main/" + name + "/"}
}

func drivers(title string) Source {
	return Source{
		"Windows container network drivers: " + title,
		"https://learn.microsoft.com/virtualization/windowscontainers/container-networking/network-drivers-topologies#network-modesdocker-drivers",
	}
}

// Targets.
func pod(name string) target {
	return func(b *bed, p Protocol) (string, int32) { return b.pod(name), portOfPod(p) }
}

func portOfPod(p Protocol) int32 {
	if p == UDP {
		return udpPort
	}
	return httpPort
}

func pick(p Protocol, tcp, udp int32) int32 {
	if p == UDP {
		return udp
	}
	return tcp
}

func clusterIP(name string) target {
	return func(b *bed, p Protocol) (string, int32) { return b.service(name).ip, pick(p, serviceTCP, serviceUDP) }
}

func nodePort(name, node string) target {
	return func(b *bed, p Protocol) (string, int32) { return b.address(node), b.service(name).nodePorts[p] }
}

func byName(host string) target {
	return func(b *bed, p Protocol) (string, int32) { return b.host(host), pick(p, serviceTCP, serviceUDP) }
}

func ingress(name string) target {
	return func(b *bed, p Protocol) (string, int32) {
		return b.service(name).ingress, pick(p, serviceTCP, serviceUDP)
	}
}

// byPartlyName names a Service with its namespace.
func byPartlyName(name string) target {
	return func(b *bed, p Protocol) (string, int32) {
		return b.host(name) + "." + b.namespace, pick(p, serviceTCP, serviceUDP)
	}
}

// byFarName names the world outside, beyond the cluster's networks.
func byFarName() target {
	return func(b *bed, _ Protocol) (string, int32) {
		_, name := b.far()
		return name, portOfNode
	}
}

func hostPort(node string) target {
	return func(b *bed, p Protocol) (string, int32) { return b.address(node), pick(p, hostPortTCP, hostPortUDP) }
}

func node(name string) target {
	return func(b *bed, _ Protocol) (string, int32) { return b.address(name), portOfNode }
}

func outsideAt(far bool) target {
	return func(b *bed, _ Protocol) (string, int32) {
		if far {
			address, _ := b.far()
			return address, portOfNode
		}
		return b.address(outside), portOfNode
	}
}

func answers(servers ...string) expectation { return expectation{servers: servers} }

func (e expectation) seenAs(client string) expectation {
	e.client = client
	return e
}

func none() expectation { return expectation{none: true} }
