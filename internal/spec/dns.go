package spec

import "net/netip"

// ClusterDomain is the domain of Services and pods, Kubernetes' own default.
const ClusterDomain = "cluster.local"

// clusterDNSIndex is the number of the cluster's DNS in the service subnet, as kubeadm chooses it:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/constants/constants.go GetDNSIP
const clusterDNSIndex = 10

// ClusterDNS returns the ClusterIP of the cluster's DNS. The cluster must have been validated.
func (n Networking) ClusterDNS() netip.Addr {
	addr := n.Services().Addr()
	for range clusterDNSIndex {
		addr = addr.Next()
	}
	return addr
}
