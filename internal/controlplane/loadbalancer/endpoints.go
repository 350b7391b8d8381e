package loadbalancer

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// sliceOf returns what Endpoints say as an EndpointSlice: where pods that are ready are. Another object, one that is
// such a slice already, or one that was missed when it went, stays what it is.
func sliceOf(object any) (any, error) {
	e, ok := object.(*corev1.Endpoints) //nolint:staticcheck // deprecated, and what there is
	if !ok {
		return object, nil
	}

	slice := &discoveryv1.EndpointSlice{ObjectMeta: e.ObjectMeta, AddressType: discoveryv1.AddressTypeIPv4}
	slice.ManagedFields = nil
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: e.Name}
	ready := true
	for _, subset := range e.Subsets {
		for _, a := range subset.Addresses {
			if ip, err := netip.ParseAddr(a.IP); err == nil && ip.Is6() {
				slice.AddressType = discoveryv1.AddressTypeIPv6 // all of a Service's are of one family
			}
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses:  []string{a.IP},
				NodeName:   a.NodeName,
				Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			})
		}
	}

	return slice, nil
}
