package wire

import "encoding/json"

// V1Reply is the envelope of every answer of HNSCall.
type V1Reply struct {
	Success   bool
	Error     string          `json:",omitempty"`
	ErrorCode uint32          `json:",omitempty"`
	Output    json.RawMessage `json:",omitempty"`
}

// V1Subnet is a subnet of an HNS network.
type V1Subnet struct {
	AddressPrefix  string            `json:",omitempty"`
	GatewayAddress string            `json:",omitempty"`
	Policies       []json.RawMessage `json:",omitempty"`
}

// V1Network is HNSNetwork.
type V1Network struct {
	ID                 string            `json:",omitempty"`
	Name               string            `json:",omitempty"`
	Type               string            `json:",omitempty"`
	NetworkAdapterName string            `json:",omitempty"`
	SourceMac          string            `json:",omitempty"`
	Policies           []json.RawMessage `json:",omitempty"`
	MacPools           []V1MacPool       `json:",omitempty"`
	Subnets            []V1Subnet        `json:",omitempty"`
	DNSSuffix          string            `json:",omitempty"`
	DNSServerList      string            `json:",omitempty"`
	ManagementIP       string            `json:",omitempty"`
}

// States of an endpoint.
const (
	V1StateCreated         = 1
	V1StateAttached        = 2
	V1StateAttachedSharing = 3
)

// V1Namespace is the namespace within an HNSEndpoint.
type V1Namespace struct {
	ID            string
	IsDefault     bool                `json:",omitempty"`
	ResourceList  []NamespaceResource `json:",omitempty"`
	CompartmentId uint32              `json:",omitempty"`
}

// V1Endpoint is HNSEndpoint.
type V1Endpoint struct {
	ID                 string            `json:",omitempty"`
	Name               string            `json:",omitempty"`
	VirtualNetwork     string            `json:",omitempty"`
	VirtualNetworkName string            `json:",omitempty"`
	Policies           []json.RawMessage `json:",omitempty"`
	MacAddress         string            `json:",omitempty"`
	IPAddress          string            `json:",omitempty"`
	DNSSuffix          string            `json:",omitempty"`
	DNSServerList      string            `json:",omitempty"`
	DNSDomain          string            `json:",omitempty"`
	GatewayAddress     string            `json:",omitempty"`
	PrefixLength       uint8             `json:",omitempty"`
	IPv6Address        string            `json:",omitempty"`
	IPv6PrefixLength   uint8             `json:",omitempty"`
	GatewayAddressV6   string            `json:",omitempty"`
	EncapOverhead      uint16            `json:",omitempty"`
	IsRemoteEndpoint   bool              `json:",omitempty"`
	EnableInternalDNS  bool              `json:",omitempty"`
	Namespace          *V1Namespace      `json:",omitempty"`
	SharedContainers   []string          `json:",omitempty"`
	State              uint16            `json:",omitempty"`
}

// V1Attach is the request of /endpoints/<id>/attach and /detach.
type V1Attach struct {
	ContainerId   string `json:",omitempty"`
	SystemType    string // Container, VirtualMachine, Host
	CompartmentId uint16 `json:",omitempty"`
}

// V1MacPool is a range of hardware addresses.
type V1MacPool struct {
	StartMacAddress string `json:",omitempty"`
	EndMacAddress   string `json:",omitempty"`
}

// V1PolicyList is PolicyList: a load balancer or a route for endpoints, named as /endpoints/<id>.
type V1PolicyList struct {
	ID         string            `json:",omitempty"`
	References []string          `json:",omitempty"`
	Policies   []json.RawMessage `json:",omitempty"`
}

// Types of a policy list's policies.
const (
	V1PolicyELB   = "ELB"
	V1PolicyRoute = "ROUTE"
)

// V1ELB is the policy of a load balancer.
type V1ELB struct {
	Type         string
	SourceVIP    string   `json:",omitempty"`
	VIPs         []string `json:",omitempty"`
	ILB          bool     `json:",omitempty"`
	IsDSR        bool     `json:",omitempty"`
	Protocol     uint32   `json:",omitempty"`
	InternalPort uint16
	ExternalPort uint16
}

// V1Route is the policy of a route.
type V1Route struct {
	Type              string
	DestinationPrefix string `json:",omitempty"`
	NextHop           string `json:",omitempty"`
	NeedEncap         bool   `json:",omitempty"`
}

// V1Stats is the answer of /endpointstats/<id>.
type V1Stats struct {
	BytesReceived          uint64
	BytesSent              uint64
	DroppedPacketsIncoming uint64
	DroppedPacketsOutgoing uint64
	EndpointId             string
	InstanceId             string
	PacketsReceived        uint64
	PacketsSent            uint64
}
