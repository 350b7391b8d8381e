package version

import (
	"cmp"
	"fmt"
	"strings"
)

// Minor is a minor version of Kubernetes: 20 of v1.20.15.
type Minor int

// What Kubernetes has had since which minor version. Where a cluster's or a node's is older, its programs are told
// otherwise, or what needs it is left out.
const (
	// EndpointSlices are discovery.k8s.io/v1. kube-proxy before it reads Endpoints.
	EndpointSlices Minor = 21
	// HNSv2Only: kube-proxy.exe before it calls version 1 of HNS where there is no version 2:
	// https://github.com/kubernetes/kubernetes/blob/v1.20.15/pkg/proxy/winkernel/proxier.go (later ones were not read)
	HNSv2Only Minor = 21
	// SocketPaths: the etcd before it takes a Unix socket as host:port alone, a file in its working folder, and does
	// not listen at one that is there already:
	// https://github.com/etcd-io/etcd/blob/v3.4.13/pkg/types/urls.go,
	// https://github.com/etcd-io/etcd/blob/v3.4.13/embed/etcd.go
	SocketPaths Minor = 22
	// CRIv1 is what a kubelet of it calls. One before it calls CRI by the name v1alpha2 alone.
	CRIv1 Minor = 23
	// TaintsInFile is the field registerWithTaints of the kubelet's configuration.
	TaintsInFile Minor = 23
	// SecureOnly: controller-manager and scheduler before it serve a port without TLS too, unless told otherwise.
	SecureOnly Minor = 24
	// MixedProtocols are Services of type LoadBalancer with ports of several protocols, and an internal traffic policy:
	// https://kubernetes.io/docs/concepts/services-networking/service/#load-balancers-with-mixed-protocol-types
	MixedProtocols Minor = 24
	// LinuxRuntime is the oldest whose kubelet runs with the containerd of Linux nodes. Those before it have the one of
	// their bundle, containerd 1.7, which has CRI by the name v1alpha2 too:
	// https://containerd.io/releases/#kubernetes-support
	LinuxRuntime Minor = 26
	// EndpointInFile is the field containerRuntimeEndpoint of the kubelet's configuration; the flag --container-runtime
	// is gone with it.
	EndpointInFile Minor = 27
	// MatchConditions of webhooks are there without a feature gate.
	MatchConditions Minor = 28
	// AdmissionPolicies are ValidatingAdmissionPolicies of admissionregistration.k8s.io/v1.
	AdmissionPolicies Minor = 30
	// ProxyNFTables is kube-proxy's mode nftables without a feature gate. One before it runs iptables.
	ProxyNFTables Minor = 31
	// SplitHealth is /readyz of the scheduler, and an etcd that serves health at a socket of its own.
	SplitHealth Minor = 31
	// DSRByDefault: kube-proxy.exe before it needs the feature gate WinDSR for Direct Server Return.
	DSRByDefault Minor = 33
)

// MinorOf returns the minor version of one like "v1.20.15"; "" is the version that Mullion comes with.
func MinorOf(version string) Minor {
	var n Minor
	// Errors: what is no version is older than any.
	_, _ = fmt.Sscanf(strings.TrimPrefix(cmp.Or(version, Kubernetes), "v"), "1.%d", &n)
	return n
}

// HasAll reports whether the version has all that this file names.
func (m Minor) HasAll() bool { return m >= DSRByDefault }
