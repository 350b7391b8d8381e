package nettest

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// podSpecs returns the test pods: two on the first Windows node, one on the second, one on a Linux node. one-b and
// two-a are the Services' endpoints, so that one-a, which calls, is none of them.
func (b *bed) podSpecs() []*corev1.Pod {
	specs := []*corev1.Pod{
		b.podSpec(podOneA, nil),
		b.podSpec(podOneB, map[string]string{"app": "web", "only": podOneB}),
	}
	if b.two != nil {
		specs = append(specs, b.podSpec(podTwoA, map[string]string{"app": "web"}))
	}
	if b.linux != nil {
		specs = append(specs, b.podSpec(podLinux, map[string]string{"only": podLinux}))
	}
	return specs
}

func (b *bed) podSpec(name string, labels map[string]string) *corev1.Pod {
	grace := int64(1)
	ports := []corev1.ContainerPort{{
		ContainerPort: httpPort,
		Protocol:      corev1.ProtocolTCP,
	}, {ContainerPort: udpPort, Protocol: corev1.ProtocolUDP}}
	if name == podOneB {
		ports[0].HostPort, ports[1].HostPort = hostPortTCP, hostPortUDP
	}

	image := b.cfg.Image
	if name == podLinux {
		image = b.cfg.LinuxImage
	}

	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName:                      b.podNode(name).Name,
			TerminationGracePeriodSeconds: &grace,
			// clusters may have taints that keep pods off their Linux nodes
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name:            "netexec",
				Image:           image,
				ImagePullPolicy: corev1.PullIfNotPresent,
				Args:            []string{"netexec", "--http-port=8080", "--udp-port=8081"},
				Ports:           ports,
				ReadinessProbe: &corev1.Probe{
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
						Path: "/readyz",
						Port: intstr.FromInt32(httpPort),
					}},
					PeriodSeconds: 1,
				},
			}},
		},
	}
}

// serviceSpecs returns the Services by the names that flows use; in a mode without Services on Windows nodes, only the
// Linux node's. In a cluster with both families each Service that flows reach over IPv6 exists a second time, with
// IPv6.
func (b *bed) serviceSpecs() []*corev1.Service {
	var all []*corev1.Service
	for _, view := range b.views() {
		all = append(all, view.familyServices()...)
	}
	return all
}

// views returns the bed for the flows of each family.
func (b *bed) views() []*bed {
	if b.dual() {
		return []*bed{b, b.over6()}
	}
	return []*bed{b}
}

// suffix6 ends the names of the IPv6 Services.
const suffix6 = "-6"

// familyServices returns the Services that exist for each family.
func (b *bed) familyServices() []*corev1.Service {
	var all []*corev1.Service
	if b.cfg.Mode.Services() {
		all = append(b.windowsServices(), b.balancers()...)
	}
	if b.linux != nil {
		all = append(all, b.named("linux", corev1.ServiceSpec{
			Type:     corev1.ServiceTypeNodePort,
			Selector: only(podLinux),
		}))
	}
	return all
}

func (b *bed) windowsServices() []*corev1.Service {
	web := map[string]string{"app": "web"}
	local := corev1.ServiceInternalTrafficPolicyLocal
	_, far := b.far()

	return []*corev1.Service{
		b.named("web", corev1.ServiceSpec{
			Type:        corev1.ServiceTypeNodePort,
			Selector:    web,
			ExternalIPs: []string{b.externalIP()},
		}),
		b.named("sticky", corev1.ServiceSpec{Selector: web, SessionAffinity: corev1.ServiceAffinityClientIP}),
		b.named("inward", corev1.ServiceSpec{Selector: only(podOneB), InternalTrafficPolicy: &local}),
		b.named("outward", corev1.ServiceSpec{
			Type:                  corev1.ServiceTypeLoadBalancer,
			Selector:              only(podOneB),
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		}),
		b.named("headless", corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Selector:  web,
			Ports:     ports(httpPort, udpPort),
		}),
		b.named("elsewhere", corev1.ServiceSpec{
			Type:         corev1.ServiceTypeExternalName,
			ExternalName: b.host("headless") + "." + b.namespace + ".svc." + b.domain,
		}),
		b.named("beyond", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: far}),
	}
}

// balancers returns the other Services of type LoadBalancer.
func (b *bed) balancers() []*corev1.Service {
	nowhere := nowhere
	if b.six {
		nowhere = nowhere6
	}

	all := []*corev1.Service{
		b.named("balanced", corev1.ServiceSpec{
			Type:     corev1.ServiceTypeLoadBalancer,
			Selector: map[string]string{"app": "web"},
		}),
		b.named("closed", closed(podOneB, nowhere)),
		b.kept(),
	}

	if b.linux != nil {
		here := netip.MustParseAddr(b.address(outside))
		all = append(all, b.named("closed-linux", closed(podLinux, nowhere)),
			b.named("open-linux", closed(podLinux, netip.PrefixFrom(here, here.BitLen()).String())))
	}

	return all
}

// kept returns a load balancer whose packets keep their destination address and port: nobody listens at the target
// port, to which they would be translated otherwise.
func (b *bed) kept() *corev1.Service {
	s := b.named("kept", corev1.ServiceSpec{
		Type:                  corev1.ServiceTypeLoadBalancer,
		Selector:              only(podOneB),
		ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		Ports:                 []corev1.ServicePort{{Port: httpPort, TargetPort: intstr.FromInt32(udpPort)}},
	})
	s.Annotations = map[string]string{"preserve-destination": "true"}
	return s
}

func only(pod string) map[string]string { return map[string]string{"only": pod} }

// nowhere and nowhere6 are networks of documentation (RFC 5737, RFC 3849), in which no caller of the test is.
const nowhere, nowhere6 = "192.0.2.0/24", "2001:db8:dead::/48"

// closed returns a load balancer on the node of the pod, for callers in one network.
func closed(pod, to string) corev1.ServiceSpec {
	return corev1.ServiceSpec{
		Type:                     corev1.ServiceTypeLoadBalancer,
		Selector:                 only(pod),
		ExternalTrafficPolicy:    corev1.ServiceExternalTrafficPolicyLocal,
		LoadBalancerSourceRanges: []string{to},
	}
}

// named returns a Service of the bed's family, by the flows' name for it.
func (b *bed) named(name string, s corev1.ServiceSpec) *corev1.Service {
	if len(s.Ports) == 0 && s.Type != corev1.ServiceTypeExternalName {
		s.Ports = ports(serviceTCP, serviceUDP)
	}
	if b.six && s.Type != corev1.ServiceTypeExternalName {
		s.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	}
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: b.host(name)}, Spec: s}
}

func ports(tcp, udp int32) []corev1.ServicePort {
	return []corev1.ServicePort{
		{Name: "tcp", Protocol: corev1.ProtocolTCP, Port: tcp, TargetPort: intstr.FromInt32(httpPort)},
		{Name: "udp", Protocol: corev1.ProtocolUDP, Port: udp, TargetPort: intstr.FromInt32(udpPort)},
	}
}
