package hns

import "mullion.dev/mullion/internal/support"

// Support is what of the Host Networking Service is there, one row a call, network mode or policy.
func Support() []support.Row {
	const hcn = "https://learn.microsoft.com/windows-server/networking/technologies/hcn/hcn-top"
	const hnslib = "https://github.com/microsoft/hnslib/tree/v0.1.2/"
	row := func(name string, level support.Level, ref, note string) support.Row {
		return support.Row{Area: "HNS", Name: name, Level: level, Ref: ref, Note: note}
	}
	return []support.Row{
		row("HCN networks", support.Partly, hcn, "L2Bridge only; other types answer HCN_E_INVALID_NETWORK_TYPE; policies besides NetAdapterName are kept and not carried out"),
		row("HCN endpoints", support.Supported, hcn, ""),
		row("HCN namespaces", support.Partly, hcn, "Host and HostDefault; a Guest namespace is made like a Host one"),
		row("HCN load balancers", support.Partly, hcn, "IPv4: ClusterIP from pods, node ports from outside; DSR, SourceVIP and preserved destination make no difference; virtual addresses from outside (ExternalIPs, ingress) are not answered; IPv6 ones are kept and not carried out"),
		row("HCN SDN routes", support.Partly, hcn, "a next hop on the pod's subnet becomes its route; anything else goes to the host, which routes it; Modify answers E_NOTIMPL"),
		row("HCN service callbacks", support.Not, hcn, "HcnRegisterServiceCallback answers E_NOTIMPL"),
		row("HNSCall /networks", support.Partly, hnslib+"internal/hns", "GET, POST, DELETE"),
		row("HNSCall /endpoints", support.Partly, hnslib+"internal/hns", "GET, POST, DELETE, attach and detach to the host; a container is attached by its namespace"),
		row("HNSCall /endpointstats", support.Supported, hnslib+"internal/hns", ""),
		row("HNSCall /namespaces", support.Supported, hnslib+"internal/hns", ""),
		row("HNSCall /policylists", support.Not, hnslib+"internal/hns", "GET answers an empty list, the rest E_NOTIMPL; kube-proxy uses HCN load balancers"),
		row("HNSCall /globals/version", support.Supported, hnslib+"internal/hns", ""),
		row("policy OutBoundNAT", support.Partly, hnslib+"hcn/hcnpolicy.go", "Exceptions and Destinations; with a VirtualIP it answers HCN_E_INVALID_POLICY"),
		row("policy SDNRoute", support.Partly, hnslib+"hcn/hcnpolicy.go", "as HCN SDN routes; NeedEncap makes no difference, as the host routes every packet"),
		row("policy PortMapping", support.Partly, hnslib+"hcn/hcnpolicy.go", "on every address of the host, whatever VIP says"),
		row("other endpoint policies", support.Not, hnslib+"hcn/hcnpolicy.go", "ACL, QOS, L4Proxy, TierAcl and the rest are kept with the endpoint and not carried out"),
		row("IPv6", support.Not, hnslib+"hcn/hcnsupport.go", "addresses are kept and not carried out"),
	}
}
