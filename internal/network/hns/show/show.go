// Package show owns what a person sees of the objects of an HNS: the names of their kinds, tables of them, and how one
// is found by a name, an address or the start of its ID. It asks an HNS and changes nothing in it.
package show

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// kinds returns the kinds of objects under names for people.
func kinds() []struct {
	name string
	kind hcn.Kind
} {
	return []struct {
		name string
		kind hcn.Kind
	}{
		{"network", hcn.Network},
		{"endpoint", hcn.Endpoint},
		{"namespace", hcn.Namespace},
		{"loadbalancer", hcn.LoadBalancer},
		{"route", hcn.SdnRoute},
	}
}

// Kind returns the kind with that name. The name may be a plural and have capitals. It returns false if there is no
// such kind.
func Kind(name string) (hcn.Kind, bool) {
	for _, k := range kinds() {
		if k.name == strings.TrimSuffix(strings.ToLower(name), "s") {
			return k.kind, true
		}
	}
	return "", false
}

// KindNames returns the names of all kinds.
func KindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Objects is everything that an HNS has.
type Objects struct {
	Networks      []wire.Network      `json:"networks,omitempty"`
	Endpoints     []wire.Endpoint     `json:"endpoints,omitempty"`
	Namespaces    []wire.Namespace    `json:"namespaces,omitempty"`
	LoadBalancers []wire.LoadBalancer `json:"loadBalancers,omitempty"`
	Routes        []wire.SdnRoute     `json:"routes,omitempty"`
}

// Read asks an HNS for all its objects, and sorts them.
func Read(ctx context.Context, c hcn.Caller) (Objects, error) {
	var o Objects
	var err error
	if o.Networks, err = hcn.List[wire.Network](ctx, c, hcn.Network); err != nil {
		return o, err
	}
	if o.Endpoints, err = hcn.List[wire.Endpoint](ctx, c, hcn.Endpoint); err != nil {
		return o, err
	}

	if o.Namespaces, err = hcn.List[wire.Namespace](ctx, c, hcn.Namespace); err != nil {
		return o, err
	}
	if o.LoadBalancers, err = hcn.List[wire.LoadBalancer](ctx, c, hcn.LoadBalancer); err != nil {
		return o, err
	}
	if o.Routes, err = hcn.List[wire.SdnRoute](ctx, c, hcn.SdnRoute); err != nil {
		return o, err
	}

	o.sort()
	return o, nil
}

func (o Objects) sort() {
	slices.SortFunc(o.Networks, func(a, b wire.Network) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(o.Endpoints, func(a, b wire.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Flags&wire.EndpointRemote, b.Flags&wire.EndpointRemote),
			cmp.Compare(addressesOf(a), addressesOf(b)))
	})
	slices.SortFunc(o.LoadBalancers, func(a, b wire.LoadBalancer) int {
		return cmp.Or(cmp.Compare(strings.Join(a.FrontendVIPs, ","), strings.Join(b.FrontendVIPs, ",")),
			cmp.Compare(a.ID, b.ID))
	})
}

// Only returns the objects of some kinds.
func (o Objects) Only(names []string) Objects {
	var out Objects
	for _, name := range names {
		switch kind, _ := Kind(name); kind {
		case hcn.Network:
			out.Networks = o.Networks
		case hcn.Endpoint:
			out.Endpoints = o.Endpoints
		case hcn.Namespace:
			out.Namespaces = o.Namespaces
		case hcn.LoadBalancer:
			out.LoadBalancers = o.LoadBalancers
		case hcn.SdnRoute:
			out.Routes = o.Routes
		}
	}

	return out
}

// Find returns the objects with that name or address, or with an ID that begins with what.
func (o Objects) Find(what string) []any {
	var found []any
	named := func(id string, names ...string) bool {
		return strings.HasPrefix(id, strings.ToUpper(strings.Trim(what, "{}"))) || slices.Contains(names, what)
	}
	for _, n := range o.Networks {
		if named(n.ID, n.Name) {
			found = append(found, n)
		}
	}

	for _, e := range o.Endpoints {
		names := []string{e.Name}
		for _, c := range e.IpConfigurations {
			names = append(names, c.IpAddress)
		}
		if named(e.ID, names...) {
			found = append(found, e)
		}
	}

	for _, n := range o.Namespaces {
		if named(n.ID) {
			found = append(found, n)
		}
	}

	for _, l := range o.LoadBalancers {
		if named(l.ID, l.FrontendVIPs...) {
			found = append(found, l)
		}
	}

	for _, r := range o.Routes {
		if named(r.ID) {
			found = append(found, r)
		}
	}

	return found
}

// Print writes one table a kind.
func (o Objects) Print(w io.Writer, names []string) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for i, name := range names {
		if i > 0 {
			fmt.Fprintln(t)
		}

		switch kind, _ := Kind(name); kind {
		case hcn.Network:
			o.printNetworks(t)
		case hcn.Endpoint:
			o.printEndpoints(t)
		case hcn.Namespace:
			o.printNamespaces(t)
		case hcn.LoadBalancer:
			o.printLoadBalancers(t)
		case hcn.SdnRoute:
			fmt.Fprintln(t, "ROUTE\tDESTINATION\tNEXT HOP\tENDPOINTS")
			for _, r := range o.Routes {
				for _, s := range r.Setting {
					fmt.Fprintf(t, "%s\t%s\t%s\t%d\n", shortID(r.ID), s.DestinationPrefix, s.NextHop,
						len(r.HostComputeEndpoints))
				}
			}
		}

		if err := t.Flush(); err != nil { // each table has columns of its own
			return err
		}
	}

	return nil
}

func (o Objects) printNetworks(t io.Writer) {
	fmt.Fprintln(t, "NETWORK\tNAME\tTYPE\tSUBNETS\tPOLICIES")
	for _, n := range o.Networks {
		var subnets, policies []string
		for _, ipam := range n.Ipams {
			for _, s := range ipam.Subnets {
				subnets = append(subnets, s.IpAddressPrefix)
				policies = append(policies, policyWords(s.Policies)...)
			}
		}
		policies = append(policies, policyWords(n.Policies)...)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", shortID(n.ID), n.Name, n.Type, strings.Join(subnets, ","),
			strings.Join(policies, ", "))
	}
}

// policyWords returns policies in short, each with its most important setting.
func policyWords(policies []wire.Policy) []string {
	var words []string
	for _, p := range policies {
		var s struct {
			ID                                                    uint32 `json:"IsolationId"`
			DestinationPrefix, ProviderAddress, Address           string
			DistributedRouterMacAddress, NetworkAdapterName, Name string
		}
		if json.Unmarshal(p.Settings, &s) != nil {
			words = append(words, p.Type)
			continue
		}

		switch p.Type {
		case wire.PolicyRemoteSubnetRoute:
			words = append(words, fmt.Sprintf("%s via %s", s.DestinationPrefix, s.ProviderAddress))
		case wire.PolicyVSID, wire.PolicyVLAN:
			words = append(words, fmt.Sprintf("%s %d", p.Type, s.ID))
		default:
			words = append(words, strings.TrimSpace(p.Type+" "+cmp.Or(s.ProviderAddress, s.Address,
				s.NetworkAdapterName, s.Name)))
		}
	}

	return words
}

func addressesOf(e wire.Endpoint) string {
	var all []string
	for _, c := range e.IpConfigurations {
		all = append(all, c.IpAddress)
	}
	return strings.Join(all, ",")
}

func (o Objects) printEndpoints(t io.Writer) {
	networks := map[string]string{}
	for _, n := range o.Networks {
		networks[n.ID] = n.Name
	}

	fmt.Fprintln(t, "ENDPOINT\tADDRESS\tMAC\tNETWORK\tWHERE\tNAME")
	for _, e := range o.Endpoints {
		where := "not attached"
		switch {
		case e.Flags&wire.EndpointRemote != 0:
			where = "remote"
			for _, p := range e.Policies {
				if p.Type == wire.PolicyProviderAddress {
					where = strings.Replace(policyWords([]wire.Policy{p})[0], wire.PolicyProviderAddress, "remote, on",
						1)
				}
			}

		case e.HostComputeNamespace != "":
			where = "namespace " + shortID(e.HostComputeNamespace)
		}

		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", shortID(e.ID), addressesOf(e), e.MacAddress,
			networks[e.HostComputeNetwork], where, shortName(e.Name))
	}
}

func (o Objects) printNamespaces(t io.Writer) {
	fmt.Fprintln(t, "NAMESPACE\tTYPE\tCOMPARTMENT\tENDPOINTS\tCONTAINERS")
	for _, n := range o.Namespaces {
		var endpoints, containers []string
		for _, r := range n.Resources {
			if r.Type == wire.ResourceEndpoint {
				endpoints = append(endpoints, shortID(r.Data.ID))
			} else {
				containers = append(containers, shortName(r.Data.ID))
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\n", shortID(n.ID), n.Type, n.NamespaceId, strings.Join(endpoints, ","),
			strings.Join(containers, ","))
	}
}

func (o Objects) printLoadBalancers(t io.Writer) {
	addresses := map[string]string{}
	for _, e := range o.Endpoints {
		addresses[e.ID] = addressesOf(e)
	}

	fmt.Fprintln(t, "LOADBALANCER\tADDRESS\tPORT\tTO\tBACKENDS\tFLAGS")
	for _, l := range o.LoadBalancers {
		vips := strings.Join(l.FrontendVIPs, ",")
		if vips == "" {
			vips = "every"
		}
		var backends []string
		for _, e := range l.HostComputeEndpoints {
			backends = append(backends, addresses[e])
		}

		for _, p := range l.PortMappings {
			fmt.Fprintf(t, "%s\t%s\t%d/%s\t%d\t%s\t%s\n", shortID(l.ID), vips, p.ExternalPort, protocolName(p.Protocol),
				p.InternalPort,
				strings.Join(backends, ","), strings.Join(balancerFlags(l, p), ","))
		}
	}
}

func protocolName(n uint32) string {
	if name, ok := map[uint32]string{6: "TCP", 17: "UDP"}[n]; ok {
		return name
	}
	return fmt.Sprint(n)
}

func balancerFlags(l wire.LoadBalancer, p wire.PortMapping) []string {
	var flags []string
	for _, f := range []struct {
		set  bool
		name string
	}{
		{l.Flags&wire.LoadBalancerDSR != 0, "DSR"},
		{l.Flags&wire.LoadBalancerIPv6 != 0, "IPv6"},
		{p.DistributionType != 0, "affinity"},
		{p.Flags&wire.PortLocalRoutedVIP != 0, "LocalRoutedVIP"},
		{p.Flags&wire.PortPreserveDIP != 0, "PreserveDIP"},
		{p.Flags&wire.PortUseMux != 0, "UseMux"},
	} {
		if f.set {
			flags = append(flags, f.name)
		}
	}

	return flags
}

// shortID returns the first part of a GUID, which identifies it well enough; `show` accepts it.
func shortID(id string) string {
	first, _, _ := strings.Cut(id, "-")
	return first
}

// shortName cuts a name that a container's ID makes long.
func shortName(s string) string {
	if len(s) <= 28 {
		return s
	}
	return s[:12] + "…" + s[max(len(s)-12, 12):]
}
