package hns

import (
	"math"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// Profile says how a host treats the limits of its Windows build.
type Profile string

const (
	// Faithful keeps them, with Windows' own errors. It is the default.
	Faithful Profile = "faithful"
	// Modern lifts them: every feature of the newest build, and no limits in number.
	Modern Profile = "modern"
)

// feature is something that came with a version of HNS.
type feature string

const (
	remoteSubnets   feature = "RemoteSubnet"
	hostMappings    feature = "PortMapping from the host"
	hostRoutes      feature = "HostRoute"
	hostVIPs        feature = "virtual addresses from the host"
	directReturn    feature = "DSR"
	sessionAffinity feature = "SessionAffinity"
	dualStack       feature = "IPv6DualStack"
	setPolicies     feature = "SetPolicy"
	vxlanPorts      feature = "VxlanPort"
	networkL4Proxy  feature = "L4Proxy"
	wfpProxy        feature = "L4WfpProxy"
	tierACLs        feature = "TierAcl"
	networkACLs     feature = "NetworkACL"
	nestedSets      feature = "NestedIpSet"
	modifyBalancer  feature = "ModifyLoadbalancer"
	sharedPorts     feature = "ports that load balancers share"
)

// span is a range of versions, both ends included.
type span struct{ from, to wire.Version }

func since(major, minor uint32) span {
	return span{wire.Version{Major: major, Minor: minor}, wire.Version{Major: math.MaxUint32, Minor: math.MaxUint32}}
}

// within returns the versions from major.minor to the last of major.
func within(major, minor uint32) span {
	return span{wire.Version{Major: major, Minor: minor}, wire.Version{Major: major, Minor: math.MaxUint32}}
}

// features returns the versions that have each feature:
// https://github.com/microsoft/hnslib/blob/v0.1.2/hcn/hcnglobals.go.
func features() map[feature][]span {
	return map[feature][]span{
		remoteSubnets: {since(9, 2)},
		hostRoutes:    {since(9, 2)},
		// Windows Server 2022: there Kubernetes' own tests pass, in one of which a HostProcess container reaches the
		// API server by its ClusterIP ("should support querying api-server using in-cluster config"). Of older versions
		// Microsoft says that a node cannot reach it
		// (https://learn.microsoft.com/virtualization/windowscontainers/kubernetes/common-problems).
		hostVIPs:        {since(13, 0)},
		hostMappings:    {since(9, 2)}, // Windows Server 2019
		directReturn:    {within(9, 3), since(10, 2)},
		sessionAffinity: {since(12, 0)},
		dualStack:       {since(11, 10)},
		setPolicies:     {since(13, 0)},
		vxlanPorts:      {since(10, 3)},
		networkL4Proxy:  {within(9, 5), within(10, 5), within(11, 11), within(12, 1), since(13, 1)},
		wfpProxy:        {since(13, 2)},
		tierACLs:        {since(14, 0)},
		networkACLs:     {since(15, 0)},
		nestedSets:      {since(15, 0)},
		modifyBalancer:  {within(15, 5), since(16, 0)},
		// KB4551853 of May 2020 brought it to Windows Server 2019; all later builds have it
		// (https://learn.microsoft.com/virtualization/windowscontainers/kubernetes/common-problems#load-balancers-are-plumbed-inconsistently-across-the-cluster-nodes).
		sharedPorts: {since(9, 0)},
	}
}

// has reports whether the host's HNS has the feature. Every HNS has the feature "".
func (m *Model) has(f feature) bool {
	if f == "" || m.cfg.Profile == Modern {
		return true
	}
	v := m.cfg.Version
	for _, s := range m.features[f] {
		if !older(v, s.from) && !older(s.to, v) {
			return true
		}
	}
	return false
}

func older(a, b wire.Version) bool {
	return a.Major < b.Major || (a.Major == b.Major && a.Minor < b.Minor)
}

// maxDestinations is how many different backends a load balancer without direct server return may have
// (https://kubernetes.io/docs/concepts/services-networking/windows-networking/#limitations).
const maxDestinations = 64

// maxBlocks is how many load balancers without direct server return can exist on an HNS on which they do not share
// ports: each takes 64 of the 16384 dynamic ports. Azure counted 260 Services
// (https://github.com/Azure/aks-engine/issues/2684).
const maxBlocks = (lastPort - dynamicFirst + 1) / 64
