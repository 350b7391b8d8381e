package policy

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// pod is what policies see of a pod.
type pod struct {
	uid             types.UID
	namespace, node string
	labels          labels.Set
	addrs           []netip.Addr
	ports           []namedPort
}

// namedPort is a container's port with a name.
type namedPort struct {
	name     string
	protocol corev1.Protocol
	port     uint16
}

// Addresses are a pod's addresses by its UID.
type Addresses map[types.UID][]netip.Addr

// podsOf returns the pods that policies can select: those with addresses of their own. A pod that has ended has none:
// its address may be another pod's by now. known are addresses that the API does not tell yet, which count more.
func podsOf(all []*corev1.Pod, known Addresses) []pod {
	held := map[netip.Addr]types.UID{}
	for uid, addrs := range known {
		for _, a := range addrs {
			held[a] = uid
		}
	}

	var out []pod
	for _, p := range all {
		if p.Spec.HostNetwork || hostProcess(p) ||
			p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}

		addrs := known[p.UID]
		if len(addrs) == 0 {
			addrs = slices.DeleteFunc(Reported(p), func(a netip.Addr) bool { return held[a] != "" })
		}
		if len(addrs) > 0 {
			out = append(out, pod{
				uid:       p.UID,
				namespace: p.Namespace,
				node:      p.Spec.NodeName,
				labels:    p.Labels,
				addrs:     addrs,
				ports:     portsOf(p),
			})
		}
	}

	return out
}

// hostProcess reports whether a Windows pod's containers run on the host, whose network they have then.
func hostProcess(p *corev1.Pod) bool {
	s := p.Spec.SecurityContext
	return s != nil && s.WindowsOptions != nil && s.WindowsOptions.HostProcess != nil && *s.WindowsOptions.HostProcess
}

// Reported returns the addresses that a pod's status names.
func Reported(p *corev1.Pod) []netip.Addr {
	var addrs []netip.Addr
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			addrs = append(addrs, a.Unmap())
		}
	}
	return addrs
}

// portsOf returns the pod's ports with names. An init container has them only if it goes on beside the others.
func portsOf(p *corev1.Pod) []namedPort {
	var ports []namedPort
	add := func(c corev1.Container) {
		for _, port := range c.Ports {
			if port.Name != "" && port.ContainerPort > 0 && port.ContainerPort <= lastPort {
				ports = append(ports, namedPort{
					name:     port.Name,
					protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP),
					port:     uint16(port.ContainerPort),
				})
			}
		}
	}

	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}

	for _, c := range p.Spec.Containers {
		add(c)
	}

	return ports
}
