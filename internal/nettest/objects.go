package nettest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// balancerClass keeps a cluster's own controllers away from the run's LoadBalancer Services.
const balancerClass = "mullion.dev/net-test"

// podSpecs are the test pods: two on the first node, one on the second. one-b and two-a stand behind the Services, so
// that one-a calls them as somebody else.
func (b *bed) podSpecs() []*corev1.Pod {
	specs := []*corev1.Pod{b.podSpec(podOneA, nil), b.podSpec(podOneB, map[string]string{"app": "web", "only": podOneB})}
	if b.two != nil {
		specs = append(specs, b.podSpec(podTwoA, map[string]string{"app": "web"}))
	}
	return specs
}

func (b *bed) podSpec(name string, labels map[string]string) *corev1.Pod {
	grace := int64(1)
	ports := []corev1.ContainerPort{{ContainerPort: httpPort, Protocol: corev1.ProtocolTCP}, {ContainerPort: udpPort, Protocol: corev1.ProtocolUDP}}
	if name == podOneB {
		ports[0].HostPort, ports[1].HostPort = hostPortTCP, hostPortUDP
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: b.podNode(name).Name, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "netexec", Image: b.cfg.Image, ImagePullPolicy: corev1.PullIfNotPresent,
				Args: []string{"netexec", "--http-port=8080", "--udp-port=8081"}, Ports: ports,
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(httpPort)}},
					PeriodSeconds: 1,
				},
			}},
		},
	}
}

// serviceSpecs are the Services, in the flows' names for them.
func (b *bed) serviceSpecs() []*corev1.Service {
	web, one := map[string]string{"app": "web"}, map[string]string{"only": podOneB}
	local := corev1.ServiceInternalTrafficPolicyLocal
	class := balancerClass
	service := func(name string, s corev1.ServiceSpec) *corev1.Service {
		if len(s.Ports) == 0 && s.Type != corev1.ServiceTypeExternalName {
			s.Ports = ports(serviceTCP, serviceUDP)
		}
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: s}
	}
	return []*corev1.Service{
		service("web", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: web, ExternalIPs: []string{externalIP}}),
		service("sticky", corev1.ServiceSpec{Selector: web, SessionAffinity: corev1.ServiceAffinityClientIP}),
		service("inward", corev1.ServiceSpec{Selector: one, InternalTrafficPolicy: &local}),
		service("balanced", corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: web, LoadBalancerClass: &class}),
		service("outward", corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: one, LoadBalancerClass: &class, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		}),
		service("headless", corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: web, Ports: ports(httpPort, udpPort)}),
		service("elsewhere", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "headless." + b.namespace + ".svc." + b.domain}),
	}
}

func ports(tcp, udp int32) []corev1.ServicePort {
	return []corev1.ServicePort{
		{Name: "tcp", Protocol: corev1.ProtocolTCP, Port: tcp, TargetPort: intstr.FromInt32(httpPort)},
		{Name: "udp", Protocol: corev1.ProtocolUDP, Port: udp, TargetPort: intstr.FromInt32(udpPort)},
	}
}
