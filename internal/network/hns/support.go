package hns

import (
	"fmt"

	"mullion.dev/mullion/internal/base/support"
)

// SupportRows says how much of the Host Networking Service there is, one row for a call, network type, policy or
// behaviour.
func SupportRows() []support.Row {
	var all []support.Row
	for _, rows := range [][]support.Row{
		callRows(), supportBehaviour(), supportNetworks(), supportPolicies(), supportBalancers(),
	} {
		for _, r := range rows {
			r.Area = "HNS"
			all = append(all, r)
		}
	}
	return all
}

// Where the rows' facts are written down.
const (
	refHCN    = "https://learn.microsoft.com/windows-server/networking/technologies/hcn/hcn-top"
	refSchema = "https://learn.microsoft.com/windows-server/networking/technologies/hcn/hcn-json-document-schemas"
	refHnslib = "https://github.com/microsoft/hnslib/tree/v0.1.2/"
	refPolicy = refHnslib + "hcn/hcnpolicy.go"
	refLimits = "https://kubernetes.io/docs/concepts/services-networking/windows-networking/#limitations"
	// refPreserve is also where the setting is documented; hnslib says "delivers packets with destination IP as the
	// VIP" (v0.1.2, hcn/hcnloadbalancer.go).
	refPreserve = "https://kubernetes.io/docs/concepts/services-networking/windows-networking/#load-balancing-and-services"
	refProxy    = "https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/proxy/winkernel/proxier.go"
	refEvents   = "https://learn.microsoft.com/virtualization/api/hcn/Reference/HCN_NOTIFICATIONS"
	// refReference has a page for each function. HcnReserveHostNetworkServicePort, a name that is often written, is no
	// function of Windows (exports of computenetwork.dll).
	refReference = "https://learn.microsoft.com/virtualization/api/hcn/Reference/"
)

// Notes of calls and paths.
const (
	noteModifyNetwork   = "policies and DNS; for extensions it answers HCN_E_REQUEST_UNSUPPORTED"
	noteFilterEndpoints = "filters by ID, name, network, namespace and hardware address"
	noteModifyEndpoint  = "policies; for ports, which belong to virtual machines, it answers HCN_E_REQUEST_UNSUPPORTED"
	noteCreateNamespace = "a guest namespace, which on Windows belongs to a virtual machine, is treated like any other"
	noteSdnRoute        = "a next hop on the pod's subnet becomes its route; anything else goes to the host, which routes or encapsulates it"
	noteFilterGuests    = "filters by ID and virtual machine"
	noteCreateGuest     = "there is no virtual machine behind one"
	noteDeleteBalancer  = "packets find it until the next is made, for a second at most: kube-proxy.exe makes the next by another call"
	noteModifyGuest     = "changes its state; anything else answers HCN_E_REQUEST_UNSUPPORTED"
	noteWatchGuest      = "reports changes of its state; InterfaceStateChanged never comes"
	noteReserve         = "no program of the host, node port or port mapping gets the port meanwhile. A reservation ends with its process, and with the host's mullion-node; a port that is not free answers HCN_E_PORT_ALREADY_EXISTS"
	noteReserveRange    = "as HcnReserveGuestNetworkServicePort, for both protocols"
	noteListReserved    = "priorities, types and ways of delivery are 0: Microsoft documents no values"
	noteWatch           = "the events that HCN_NOTIFICATIONS has. When the service restarts, a program is told so and registers anew"
	noteNoAnswers       = "not exported: Microsoft documents no answers"
	noteV1Endpoints     = "an update changes policies; attach and detach work for the host and for a container in a namespace; for a virtual machine they answer HCN_E_REQUEST_UNSUPPORTED"
)

// callRows returns a row for each function, and for each path of HNSCall.
func callRows() []support.Row {
	var all []support.Row
	for _, c := range calls() {
		ref := c.from.ref
		if c.from.since != 0 {
			ref += c.Name
		}

		all = append(all, support.Row{
			Name:  c.Name,
			Level: c.Level,
			Note:  c.Note,
			Ref:   ref,
		})
	}

	for _, p := range paths() {
		all = append(all, support.Row{
			Name:  "HNSCall /" + p.name,
			Level: p.level,
			Note:  p.note,
			Ref:   refHnslib + p.file,
		})
	}

	return all
}

func supportBehaviour() []support.Row {
	return []support.Row{
		{
			Name:  "queries",
			Level: support.Partly,
			Ref:   refSchema,
			Note:  "an answer has the whole object, with or without the flag Detailed",
		},
		{
			Name:  "restart of the service",
			Level: support.Supported,
			Ref:   "https://github.com/kubernetes/kubernetes/issues/139519",
			Note:  "objects are there again afterwards; calls wait in the meantime",
		},
		functionsByBuild(),
		{
			Name:  "features by build",
			Level: support.Supported,
			Ref:   refHnslib + "hcn/hcnglobals.go",
			Note:  "features that the build's HNS lacks are refused; with the profile modern they are not",
		},
		{
			Name:  "Microsoft's tests",
			Level: support.Partly,
			Ref:   refHnslib + "hcn/hcnglobals.go",
			Note: "on ltsc2025 79 of 79 of hnslib and 77 of 78 of hcsshim pass, on ltsc2022 75 and 72: " +
				"the others need a newer HNS by Microsoft's own table (TierAcl 14.0, NetworkACL 15.0, modifying a load balancer 15.5), or network cards with Accelnet; by hand (TestFieldHcnSuites)",
		},
	}
}

// functionsByBuild returns the row that says since which build the functions are documented.
func functionsByBuild() support.Row {
	documented, since := 0, uint32(0)
	for _, c := range calls() {
		if c.from.since != 0 {
			documented, since = documented+1, max(since, c.from.since)
		}
	}

	return support.Row{
		Name:  "functions by build",
		Level: support.Partly,
		Ref:   refReference + "HcnCreateNetwork",
		Note:  fmt.Sprintf("Microsoft documents %d functions, from build %d on; hosts of every build have them all", documented, since),
	}
}

func supportNetworks() []support.Row {
	return []support.Row{
		{Name: "network L2Bridge", Level: support.Supported, Ref: refSchema},
		{Name: "network L2Tunnel", Level: support.Supported, Ref: refSchema},
		{Name: "network Overlay", Level: support.Supported, Ref: refHnslib + "hcn/hcnnetwork.go"},
		{
			Name:  "networks Overlay with one subnet",
			Level: support.Partly,
			Ref:   "https://kubernetes.io/docs/concepts/services-networking/windows-networking/#network-modes",
			Note: "isolated from each other if their VSIDs differ; else HCN_E_INVALID_NETWORK. Endpoints of the later ones have no PortMapping, and no OutBoundNAT behind " +
				"an address of its own (HCN_E_REQUEST_UNSUPPORTED); the host does not reach them, and their load balancers are reached from their network alone",
		},
		{
			Name:  "network Transparent",
			Level: support.Partly,
			Ref:   refSchema,
			Note:  "load balancers do not see its packets; without subnets, endpoints need an address and a prefix length: there is no DHCP",
		},
		{Name: "network NAT", Level: support.Supported, Ref: refSchema},
		{
			Name:  "network ICS",
			Level: support.Not,
			Ref:   refSchema,
			Note:  "HCN_E_ICS_DISABLED, as on a Windows Server whose SharedAccess is off",
		},
		{
			Name:  "network Private, Internal",
			Level: support.Not,
			Ref:   refHnslib + "hcn/hcnnetwork.go",
			Note:  "HCN_E_INVALID_NETWORK_TYPE",
		},
		{
			Name:  "network flags",
			Level: support.Partly,
			Ref:   refHnslib + "hcn/hcnnetwork.go",
			Note: "EnableDnsProxy: the gateway of a NAT network answers DNS questions of its endpoints, by the host's name servers. EnableDhcpServer: it tells DHCP clients there " +
				"the addresses that their endpoints have from HNS. All others are kept without effect: a network with EnableNonPersistent persists",
		},
		{Name: "policy NetAdapterName", Level: support.Supported, Ref: refPolicy},
		{
			Name:  "policy InterfaceConstraint",
			Level: support.Partly,
			Ref:   refPolicy,
			Note:  "on networks, by InterfaceAlias; anything else answers HCN_E_ADAPTER_NOT_FOUND; on endpoints it is kept without effect",
		},
		{Name: "policy SourceMacAddress", Level: support.Supported, Ref: refPolicy},
		{Name: "policy DrMacAddress", Level: support.Supported, Ref: refPolicy},
		{Name: "policy ProviderAddress", Level: support.Supported, Ref: refPolicy},
		{Name: "policy RemoteSubnetRoute", Level: support.Supported, Ref: refPolicy},
		{Name: "policy VxlanPort", Level: support.Supported, Ref: refPolicy},
		{Name: "policy VSID", Level: support.Supported, Ref: refPolicy, Note: "one for all subnets of a network"},
		{
			Name:  "policy VLAN",
			Level: support.Partly,
			Ref:   refPolicy,
			Note:  "on subnets, the same one for all subnets of a network; not on endpoints. Frames carry the tag on the underlay; the kernel needs BPF classifiers (NET_CLS_BPF) for it, but no VLAN interfaces",
		},
		{
			Name:  "policy HostRoute",
			Level: support.Partly,
			Ref:   refPolicy,
			Note:  "without effect: pods and their host always reach each other",
		},
		{Name: "policy SetPolicy", Level: support.Supported, Ref: refPolicy},
		{Name: "policy NetworkACL", Level: support.Supported, Ref: refPolicy},
		{
			Name:  "policies AutomaticDNS, VSwitchExtension, LayerConstraint",
			Level: support.Not,
			Ref:   refPolicy,
			Note:  "kept, but without effect",
		},
		{
			Name:  "IPv6",
			Level: support.Partly,
			Ref:   refHnslib + "hcn/hcnsupport.go",
			Note:  "beside IPv4, from the first build with dual stack on: subnets, endpoints, load balancers, OutBoundNAT, ACLs and proxies of L2Bridge networks; with a VLAN tag, or on an L2Tunnel network, IPv6 packets go the host's own way; overlay networks have no IPv6, as on Windows",
		},
	}
}

func supportPolicies() []support.Row {
	return []support.Row{
		{
			Name:  "policy OutBoundNAT",
			Level: support.Supported,
			Ref:   refPolicy,
			Note:  "ICMP is not translated, as on Windows; with the profile modern it is",
		},
		{
			Name:  "policy SDNRoute",
			Level: support.Partly,
			Ref:   refPolicy,
			Note:  "as HcnCreateSdnRoute; NeedEncap makes no difference: the host encapsulates what it has to",
		},
		{
			Name:  "policy PortMapping",
			Level: support.Supported,
			Ref:   refPolicy,
			Note:  "on a nat network a port at which a program of the host listens is refused: 0x80070020",
		},
		{
			Name:  "policy ACL",
			Level: support.Partly,
			Ref:   refPolicy,
			Note:  "rules of the host (RuleType) and those of the switch are two lists; a packet has to pass both",
		},
		{Name: "policy TierAcl", Level: support.Supported, Ref: refPolicy},
		{Name: "policy QOS", Level: support.Supported, Ref: refPolicy},
		{Name: "policy L4Proxy", Level: support.Partly, Ref: refPolicy, Note: "OutboundNAT makes no difference"},
		{
			Name:  "policy L4WFPPROXY",
			Level: support.Partly,
			Ref:   refPolicy,
			Note:  "TCP; UserSID is ContainerAdministrator's (S-1-5-93-2-1), ContainerUser's (S-1-5-93-2-2), SYSTEM's (S-1-5-18) or that of a group of theirs (Administrators, Users, Authenticated Users, SERVICE, Everyone); users and groups that an image adds match no connection",
		},
		{Name: "policy EncapOverhead", Level: support.Supported, Ref: refPolicy, Note: "up to 924 bytes"},
		{
			Name:  "policies PortName, Iov, L2Driver",
			Level: support.Not,
			Ref:   refPolicy,
			Note:  "kept with the endpoint, but without effect",
		},
	}
}

func supportBalancers() []support.Row {
	return []support.Row{
		{
			Name:  "load balancer destinations",
			Level: support.Supported,
			Ref:   refLimits,
			Note:  "without direct server return at most 64, then Windows' own error; with the profile modern there is no limit",
		},
		{Name: "load balancer SourceVIP", Level: support.Supported, Ref: refProxy},
		{
			Name:  "load balancer DSR",
			Level: support.Partly,
			Ref:   "https://kubernetes.io/docs/concepts/services-networking/windows-networking/#load-balancing-and-services",
			Note: "without it, Windows hides callers behind SourceVIP or the host; " +
				"here it does so only where answers have to come back through this host, and a pod on it sees the caller's own address",
		},
		{
			Name:  "load balancer ILB",
			Level: support.Supported,
			Ref:   refProxy,
			Note:  "without it, packets from outside are balanced too",
		},
		{
			Name:  "load balancer PreserveDIP",
			Level: support.Partly,
			Ref:   refPreserve,
			Note:  "packets reach a pod on the host as they were sent, to the virtual address and its port; the pod takes that address as its own, so the server has to listen on that port. Windows documents no more; a UDP server has to answer from the address that was called, as everywhere with two addresses",
		},
		{
			Name:  "load balancer LocalRoutedVIP",
			Level: support.Partly,
			Ref:   refLimits,
			Note:  "the host itself does not reach its own node ports, as Kubernetes documents for Windows; it reaches other virtual addresses from Windows Server 2022 on",
		},
		{
			Name:  "load balancer session affinity",
			Level: support.Supported,
			Ref:   refProxy,
			Note:  "distribution by client and protocol works as distribution by client",
		},
		{
			Name:  "load balancers reserve ranges of ports",
			Level: support.Supported,
			Ref:   "https://github.com/Azure/AgentBaker/pull/1352",
			Note:  "on 2016, 1709 and 1803, without direct server return: at most 256 for each protocol, then HCN_E_PORT_ALREADY_EXISTS; later builds share ports since an update of 2020, which the emulated builds have; with the profile modern there is no limit",
		},
		{
			Name:  "load balancers apply at once",
			Level: support.Partly,
			Ref:   refProxy,
			Note:  "they apply within 20 ms after the call, many in one step",
		},
	}
}
