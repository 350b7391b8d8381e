package wire

// Types of endpoints' policies.
const (
	PolicyPortMapping         = "PortMapping"
	PolicyACL                 = "ACL"
	PolicyQOS                 = "QOS"
	PolicyL2Driver            = "L2Driver"
	PolicyOutBoundNAT         = "OutBoundNAT"
	PolicySDNRoute            = "SDNRoute"
	PolicyL4Proxy             = "L4Proxy" // of networks too
	PolicyL4WFPProxy          = "L4WFPPROXY"
	PolicyPortName            = "PortName"
	PolicyEncapOverhead       = "EncapOverhead"
	PolicyIov                 = "Iov"
	PolicyProviderAddress     = "ProviderAddress"     // of networks too
	PolicyInterfaceConstraint = "InterfaceConstraint" // of networks too
	PolicyTierACL             = "TierAcl"
)

// Types of networks' and subnets' policies.
const (
	PolicySourceMacAddress  = "SourceMacAddress"
	PolicyNetAdapterName    = "NetAdapterName"
	PolicyVSwitchExtension  = "VSwitchExtension"
	PolicyDrMacAddress      = "DrMacAddress"
	PolicyAutomaticDNS      = "AutomaticDNS"
	PolicyRemoteSubnetRoute = "RemoteSubnetRoute"
	PolicyVxlanPort         = "VxlanPort"
	PolicyHostRoute         = "HostRoute"
	PolicySetPolicy         = "SetPolicy"
	PolicyLayerConstraint   = "LayerConstraint"
	PolicyNetworkACL        = "NetworkACL"

	PolicyVLAN = "VLAN"
	PolicyVSID = "VSID"
)

// OutBoundNATSetting is the setting of the policy OutBoundNAT.
type OutBoundNATSetting struct {
	VirtualIP        string   `json:",omitempty"`
	Exceptions       []string `json:",omitempty"`
	Destinations     []string `json:",omitempty"`
	Flags            uint32   `json:",omitempty"`
	MaxPortPoolUsage uint16   `json:",omitempty"`
}

// PortMappingSetting is the setting of the policy PortMapping.
type PortMappingSetting struct {
	Protocol     uint32 `json:",omitempty"`
	InternalPort uint16 `json:",omitempty"`
	ExternalPort uint16 `json:",omitempty"`
	VIP          string `json:",omitempty"`
	Flags        uint32 `json:",omitempty"`
}

// Flags of PortMapping and OutBoundNAT.
const (
	NATLocalRoutedVIP = 1
	NATIPv6           = 2
)

// Values of access rules.
const (
	ActionAllow  = "Allow"
	ActionBlock  = "Block"
	ActionPass   = "Pass"
	DirectionIn  = "In"
	DirectionOut = "Out"
	RuleHost     = "Host"
	RuleSwitch   = "Switch"
)

// ACLSetting is the setting of the policies ACL and NetworkACL. Lists are separated by commas.
type ACLSetting struct {
	Protocols       string `json:",omitempty"`
	Action          string
	Direction       string
	LocalAddresses  string `json:",omitempty"`
	RemoteAddresses string `json:",omitempty"`
	LocalPorts      string `json:",omitempty"`
	RemotePorts     string `json:",omitempty"`
	RuleType        string `json:",omitempty"`
	Priority        uint16 `json:",omitempty"`
}

// TierACLRule is a rule of a tier.
type TierACLRule struct {
	Id                string `json:",omitempty"`
	Protocols         string `json:",omitempty"`
	TierAclRuleAction string
	LocalAddresses    string `json:",omitempty"`
	RemoteAddresses   string `json:",omitempty"`
	LocalPorts        string `json:",omitempty"`
	RemotePorts       string `json:",omitempty"`
	Priority          uint16 `json:",omitempty"`
}

// TierACLSetting is the setting of the policy TierAcl.
type TierACLSetting struct {
	Name         string
	Direction    string
	Order        uint16
	TierAclRules []TierACLRule `json:",omitempty"`
}

// QOSSetting is the setting of the policy QOS.
type QOSSetting struct {
	MaximumOutgoingBandwidthInBytes uint64
}

// L4ProxySetting is the setting of the policy L4Proxy.
type L4ProxySetting struct {
	IP          string   `json:",omitempty"`
	Port        string   `json:",omitempty"`
	Protocol    uint32   `json:",omitempty"`
	Exceptions  []string `json:",omitempty"`
	Destination string
	OutboundNAT bool `json:",omitempty"`
}

// FiveTuple is what an L4WFPPROXY applies to.
type FiveTuple struct {
	Protocols       string `json:",omitempty"`
	LocalAddresses  string `json:",omitempty"`
	RemoteAddresses string `json:",omitempty"`
	LocalPorts      string `json:",omitempty"`
	RemotePorts     string `json:",omitempty"`
	Priority        uint16 `json:",omitempty"`
}

// ProxyExceptions is what an L4WFPPROXY leaves alone.
type ProxyExceptions struct {
	IpAddressExceptions []string `json:",omitempty"`
	PortExceptions      []string `json:",omitempty"`
}

// L4WFPProxySetting is the setting of the policy L4WFPPROXY.
type L4WFPProxySetting struct {
	InboundProxyPort   string          `json:",omitempty"`
	OutboundProxyPort  string          `json:",omitempty"`
	FilterTuple        FiveTuple       `json:",omitzero"`
	UserSID            string          `json:",omitempty"`
	InboundExceptions  ProxyExceptions `json:",omitzero"`
	OutboundExceptions ProxyExceptions `json:",omitzero"`
}

// EncapOverheadSetting is the setting of the policy EncapOverhead.
type EncapOverheadSetting struct {
	Overhead uint16 `json:",omitempty"`
}

// PortNameSetting is the setting of the policy PortName.
type PortNameSetting struct {
	Name string `json:",omitempty"`
}

// IovSetting is the setting of the policy Iov.
type IovSetting struct {
	IovOffloadWeight    uint32 `json:",omitempty"`
	QueuePairsRequested uint32 `json:",omitempty"`
	InterruptModeration uint32 `json:",omitempty"`
}

// ProviderAddressSetting is the setting of the policy ProviderAddress.
type ProviderAddressSetting struct {
	ProviderAddress string `json:",omitempty"`
}

// InterfaceConstraintSetting is the setting of the policy InterfaceConstraint.
type InterfaceConstraintSetting struct {
	InterfaceGuid        string `json:",omitempty"`
	InterfaceLuid        uint64 `json:",omitempty"`
	InterfaceIndex       uint32 `json:",omitempty"`
	InterfaceMediaType   uint32 `json:",omitempty"`
	InterfaceAlias       string `json:",omitempty"`
	InterfaceDescription string `json:",omitempty"`
}

// NetAdapterNameSetting is the setting of the network policy NetAdapterName.
type NetAdapterNameSetting struct {
	NetworkAdapterName string `json:",omitempty"`
}

// SourceMacAddressSetting is the setting of the network policy SourceMacAddress.
type SourceMacAddressSetting struct {
	SourceMacAddress string `json:",omitempty"`
}

// DrMacAddressSetting is the setting of the network policy DrMacAddress.
type DrMacAddressSetting struct {
	Address string `json:",omitempty"`
}

// VxlanPortSetting is the setting of the network policy VxlanPort.
type VxlanPortSetting struct {
	Port uint16
}

// IsolationSetting is the setting of the subnet policies VLAN and VSID.
type IsolationSetting struct {
	IsolationId uint32
}

// RemoteSubnetRouteSetting is the setting of the network policy RemoteSubnetRoute.
type RemoteSubnetRouteSetting struct {
	DestinationPrefix           string
	IsolationId                 uint32
	ProviderAddress             string
	DistributedRouterMacAddress string
}

// Kinds of sets.
const (
	SetOfAddresses = "IPSET"
	SetOfSets      = "NESTEDIPSET"
)

// SetPolicySetting is the setting of the network policy SetPolicy: a named list of addresses, or of other sets' Ids.
type SetPolicySetting struct {
	Id         string
	Name       string
	PolicyType string
	Values     string
}
