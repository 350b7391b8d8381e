// Package wire is the JSON of the Host Networking Service, in Microsoft's names: the HCN schema 2 and the older HNS
// (version 1) objects, queries, errors and HRESULTs. It owns no behaviour.
//
// The shapes are those of github.com/Microsoft/hnslib v0.1.2 (hcn/*.go, internal/hns/*.go), whose types build only on
// Windows.
package wire

import "encoding/json"

// SchemaVersion is the version of an object's shape.
type SchemaVersion struct {
	Major uint32
	Minor uint32
}

// Version is what GET /globals/version answers.
type Version struct {
	Major uint32
	Minor uint32
}

// Query is the filter of enumerate and query calls. Filter is JSON within a string: property to wanted value.
type Query struct {
	SchemaVersion SchemaVersion
	Flags         uint32 `json:",omitempty"`
	Filter        string `json:",omitempty"`
}

// Route is a route of a subnet or an endpoint.
type Route struct {
	NextHop           string `json:",omitempty"`
	DestinationPrefix string `json:",omitempty"`
	Metric            uint16 `json:",omitempty"`
}

// Policy is a policy of any object: its type, and settings that depend on it.
type Policy struct {
	Type     string
	Settings json.RawMessage `json:",omitempty"`
}

// Subnet is a subnet of a network.
type Subnet struct {
	IpAddressPrefix string   `json:",omitempty"`
	Policies        []Policy `json:",omitempty"`
	Routes          []Route  `json:",omitempty"`
	Flags           uint32   `json:",omitempty"`
}

// Ipam groups subnets.
type Ipam struct {
	Type    string   `json:",omitempty"`
	Subnets []Subnet `json:",omitempty"`
}

// MacRange is a range of hardware addresses, as 00-15-5D-….
type MacRange struct {
	StartMacAddress string `json:",omitempty"`
	EndMacAddress   string `json:",omitempty"`
}

// MacPool is where a network takes hardware addresses from.
type MacPool struct {
	Ranges []MacRange `json:",omitempty"`
}

// Dns are name servers and suffixes.
type Dns struct {
	Domain     string   `json:",omitempty"`
	Search     []string `json:",omitempty"`
	ServerList []string `json:",omitempty"`
	Options    []string `json:",omitempty"`
}

// Health is the state that HNS reports with an object.
type Health struct {
	Data  json.RawMessage `json:",omitempty"`
	Extra *Extra          `json:",omitempty"`
}

// Extra are properties without a place in the schema.
type Extra struct {
	Resources        json.RawMessage `json:",omitempty"`
	SharedContainers []string        `json:",omitempty"`
	SwitchGuid       string          `json:",omitempty"`
}

// Types of networks.
const (
	NetworkNAT         = "NAT"
	NetworkTransparent = "Transparent"
	NetworkL2Bridge    = "L2Bridge"
	NetworkL2Tunnel    = "L2Tunnel"
	NetworkICS         = "ICS"
	NetworkPrivate     = "Private"
	NetworkOverlay     = "Overlay"
)

// Flags of networks (https://learn.microsoft.com/windows-server/networking/technologies/hcn/hcn-json-document-schemas).
const (
	NetworkEnableDNSProxy   = 1
	NetworkEnableDHCPServer = 2
)

// Network is HostComputeNetwork.
type Network struct {
	ID            string   `json:",omitempty"`
	Name          string   `json:",omitempty"`
	Type          string   `json:",omitempty"`
	Policies      []Policy `json:",omitempty"`
	MacPool       *MacPool `json:",omitempty"`
	Dns           *Dns     `json:",omitempty"`
	Ipams         []Ipam   `json:",omitempty"`
	Flags         uint32   `json:",omitempty"`
	Health        *Health  `json:",omitempty"`
	SchemaVersion SchemaVersion
}

// IpConfig is an address of an endpoint.
type IpConfig struct {
	IpAddress    string `json:",omitempty"`
	PrefixLength uint8  `json:",omitempty"`
}

// EndpointRemote is the flag of an endpoint that is on another host.
const EndpointRemote = 1

// Endpoint is HostComputeEndpoint.
type Endpoint struct {
	ID                   string     `json:",omitempty"`
	Name                 string     `json:",omitempty"`
	HostComputeNetwork   string     `json:",omitempty"`
	HostComputeNamespace string     `json:",omitempty"`
	Policies             []Policy   `json:",omitempty"`
	IpConfigurations     []IpConfig `json:",omitempty"`
	Dns                  *Dns       `json:",omitempty"`
	Routes               []Route    `json:",omitempty"`
	MacAddress           string     `json:",omitempty"`
	Flags                uint32     `json:",omitempty"`
	Health               *Health    `json:",omitempty"`
	SchemaVersion        SchemaVersion
}

// Types of namespaces.
const (
	NamespaceHost         = "Host"
	NamespaceHostDefault  = "HostDefault"
	NamespaceGuest        = "Guest"
	NamespaceGuestDefault = "GuestDefault"
)

// Types of a namespace's resources.
const (
	ResourceContainer = "Container"
	ResourceEndpoint  = "Endpoint"
)

// ResourceData names a resource.
type ResourceData struct {
	ID string `json:"Id"`
}

// NamespaceResource is a container or an endpoint within a namespace.
type NamespaceResource struct {
	Type string
	Data ResourceData
}

// Namespace is HostComputeNamespace, a network compartment. NamespaceId is the compartment's number.
type Namespace struct {
	ID            string              `json:",omitempty"`
	NamespaceId   uint32              `json:",omitempty"`
	Type          string              `json:",omitempty"`
	Resources     []NamespaceResource `json:",omitempty"`
	SchemaVersion SchemaVersion
}

// Flags of load balancers and their ports.
const (
	LoadBalancerDSR  = 1
	LoadBalancerIPv6 = 2

	PortILB            = 1
	PortLocalRoutedVIP = 2
	PortUseMux         = 4
	PortPreserveDIP    = 8
	PortVIPExternalIP  = 16 // kubernetes v1.36.3, pkg/proxy/winkernel/hns.go

	DistributionSourceIPProtocol = 1
	DistributionSourceIP         = 2
)

// PortMapping is a port of a load balancer: connections to ExternalPort go to the endpoints' InternalPort.
type PortMapping struct {
	Protocol         uint32 `json:",omitempty"`
	InternalPort     uint16 `json:",omitempty"`
	ExternalPort     uint16 `json:",omitempty"`
	DistributionType uint32 `json:",omitempty"`
	Flags            uint32 `json:",omitempty"`
}

// LoadBalancer is HostComputeLoadBalancer.
type LoadBalancer struct {
	ID                   string        `json:",omitempty"`
	HostComputeEndpoints []string      `json:",omitempty"`
	SourceVIP            string        `json:",omitempty"`
	FrontendVIPs         []string      `json:",omitempty"`
	PortMappings         []PortMapping `json:",omitempty"`
	SchemaVersion        SchemaVersion
	Flags                uint32 `json:",omitempty"`
}

// SDNRouteSetting is the setting of a route and of the policy SDNRoute.
type SDNRouteSetting struct {
	DestinationPrefix string `json:",omitempty"`
	NextHop           string `json:",omitempty"`
	NeedEncap         bool   `json:",omitempty"`
}

// SdnRoute is HostComputeRoute.
type SdnRoute struct {
	ID                   string            `json:",omitempty"`
	HostComputeEndpoints []string          `json:",omitempty"`
	Setting              []SDNRouteSetting `json:",omitempty"`
	SchemaVersion        SchemaVersion
}

// States of a guest network service, in their order.
const (
	GuestCreated   = "Created"
	GuestDestroyed = "Destroyed"
)

// GuestNetworkService is the part of HNS that a virtual machine's network goes through; ports of the host are reserved
// for it. Its shape is known from a program that uses it:
// https://github.com/microsoft/WSL/blob/2.5.9/src/shared/inc/hns_schema.h.
type GuestNetworkService struct {
	ID                      string          `json:",omitempty"`
	VirtualMachineId        string          `json:",omitempty"`
	MirrorHostNetworking    bool            `json:",omitempty"`
	GnsRpcServerInformation json.RawMessage `json:",omitempty"`
	Flags                   uint32          `json:",omitempty"`
	State                   string          `json:",omitempty"`
	SchemaVersion           SchemaVersion
}

// GuestState are the settings of a Modify of a guest network service.
type GuestState struct{ State string }

// Notification is what a program is told with an event: the object, and flags without a meaning so far.
type Notification struct {
	ID    string
	Flags uint32
}

// Protocols and kinds of access of a port reservation (computenetwork.h, Windows SDK 10.0.26100).
const (
	PortTCP = 1
	PortUDP = 2

	PortExclusive = 1
	PortShared    = 2
)

// ReservePort are the arguments of HcnReserveGuestNetworkServicePort, or of …PortRange, which has PortCount alone.
type ReservePort struct {
	Protocol, Access uint32
	Port, PortCount  uint16
}

// Modify is the request of every Modify call.
type Modify struct {
	ResourceType string          `json:",omitempty"`
	RequestType  string          `json:",omitempty"` // Add, Remove, Update, Refresh
	Settings     json.RawMessage `json:",omitempty"`
}

// Policies are the settings of a Modify of policies.
type Policies struct {
	Policies []Policy `json:",omitempty"`
}

// NamespaceModify are the settings of a Modify of a namespace.
type NamespaceModify struct {
	EndpointId  string `json:",omitempty"`
	ContainerId string `json:",omitempty"`
}
