package join

import "mullion.dev/mullion/internal/spec"

// published is the specification of a cluster for several machines, as others read it.
func published() spec.Cluster {
	return spec.Cluster{
		APIVersion: spec.APIVersion,
		Kind:       spec.Kind,
		Name:       "far",
		Networking: spec.Networking{AdvertiseAddress: "192.0.2.1", UnderlaySubnet: "198.18.0.0/16"},
	}.WithDefaults()
}
