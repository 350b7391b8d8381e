package nettest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// podSpecs are the test pods: two on the first Windows node, one on the second, one on a Linux node. one-b and two-a stand behind the
// Services, so that one-a calls them as somebody else.
func (b *bed) podSpecs() []*corev1.Pod {
	specs := []*corev1.Pod{b.podSpec(podOneA, nil), b.podSpec(podOneB, map[string]string{"app": "web", "only": podOneB})}
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
	ports := []corev1.ContainerPort{{ContainerPort: httpPort, Protocol: corev1.ProtocolTCP}, {ContainerPort: udpPort, Protocol: corev1.ProtocolUDP}}
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
			NodeName: b.podNode(name).Name, TerminationGracePeriodSeconds: &grace,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, // clusters keep pods that say nothing off their Linux nodes
			Containers: []corev1.Container{{
				Name: "netexec", Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
				Args: []string{"netexec", "--http-port=8080", "--udp-port=8081"}, Ports: ports,
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(httpPort)}},
					PeriodSeconds: 1,
				},
			}},
		},
	}
}

// serviceSpecs are the Services, in the flows' names for them; in a mode without Services on Windows nodes those of the Linux node.
func (b *bed) serviceSpecs() []*corev1.Service {
	var all []*corev1.Service
	if b.cfg.Mode.Services() {
		all = b.windowsServices()
	}
	if b.linux == nil {
		return all
	}
	all = append(all, named("linux", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: only(podLinux)}))
	if b.cfg.Mode.Services() {
		all = append(all, named("closed-linux", closed(podLinux)))
	}
	return all
}

func (b *bed) windowsServices() []*corev1.Service {
	web := map[string]string{"app": "web"}
	local := corev1.ServiceInternalTrafficPolicyLocal
	return []*corev1.Service{
		named("web", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: web, ExternalIPs: []string{externalIP}}),
		named("sticky", corev1.ServiceSpec{Selector: web, SessionAffinity: corev1.ServiceAffinityClientIP}),
		named("inward", corev1.ServiceSpec{Selector: only(podOneB), InternalTrafficPolicy: &local}),
		named("balanced", corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: web}),
		named("outward", corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: only(podOneB), ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		}),
		named("closed", closed(podOneB)),
		named("headless", corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: web, Ports: ports(httpPort, udpPort)}),
		named("elsewhere", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "headless." + b.namespace + ".svc." + b.domain}),
		named("beyond", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: farName}),
	}
}

func only(pod string) map[string]string { return map[string]string{"only": pod} }

// closed is a load balancer on the node of the pod for nobody that the test calls from.
func closed(pod string) corev1.ServiceSpec {
	return corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Selector: only(pod), ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		LoadBalancerSourceRanges: []string{"192.0.2.0/24"},
	}
}

func named(name string, s corev1.ServiceSpec) *corev1.Service {
	if len(s.Ports) == 0 && s.Type != corev1.ServiceTypeExternalName {
		s.Ports = ports(serviceTCP, serviceUDP)
	}
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: s}
}

func ports(tcp, udp int32) []corev1.ServicePort {
	return []corev1.ServicePort{
		{Name: "tcp", Protocol: corev1.ProtocolTCP, Port: tcp, TargetPort: intstr.FromInt32(httpPort)},
		{Name: "udp", Protocol: corev1.ProtocolUDP, Port: udp, TargetPort: intstr.FromInt32(udpPort)},
	}
}
