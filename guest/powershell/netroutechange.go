package powershell

import (
	"net/netip"
	"strings"
)

// routeFilters are the parameters of Get-NetRoute and Remove-NetRoute that choose among the routes.
func routeFilters() []string {
	return []string{"destinationprefix", "interfaceindex", "interfacealias", "nexthop", "addressfamily", "routemetric"}
}

func routeAlso() map[string]string {
	return map[string]string{"ifindex": "interfaceindex", "ifalias": "interfacealias"}
}

func routeAllowed() map[string][]string {
	return map[string][]string{
		"addressfamily": {"ipv4", "ipv6"}, "policystore": {"activestore", "persistentstore"},
	}
}

// adapterOf is the adapter that the call names, by its number or its name.
func (c *call) adapterOf() (adapter, error) {
	all, err := c.adapters()
	if err != nil {
		return adapter{}, err
	}
	index, byIndex := c.values["interfaceindex"]
	alias, byAlias := c.values["interfacealias"]
	for _, a := range all {
		if byIndex && text(index) == text(a.index) || byAlias && strings.EqualFold(text(alias), a.name) {
			return a, nil
		}
	}
	switch {
	case byIndex:
		return adapter{}, itsWords("No MSFT_NetIPInterface objects found with property 'InterfaceIndex' equal to '%s'.", text(index))
	case byAlias:
		return adapter{}, itsWords("No MSFT_NetIPInterface objects found with property 'InterfaceAlias' equal to '%s'.", text(alias))
	}
	return adapter{}, itsWords("one of -InterfaceIndex and -InterfaceAlias is needed")
}

// newNetRoute makes a route (https://learn.microsoft.com/en-us/powershell/module/nettcpip/new-netroute). It lasts until
// the host is restarted, in whichever store it is asked for.
func newNetRoute(c *call) error {
	a, err := c.adapterOf()
	if err != nil {
		return c.fail(err)
	}
	prefix, err := netip.ParsePrefix(text(c.values["destinationprefix"]))
	if err != nil || prefix.Masked() != prefix {
		return c.fail(itsWords("The parameter is incorrect: the destination prefix %s.", text(c.values["destinationprefix"])))
	}
	if prefix.Addr().Is6() {
		return thrown("New-NetRoute : a route of IPv6 is not part of Mullion's PowerShell.")
	}
	r := route{index: a.index, alias: a.name, prefix: prefix, hop: netip.IPv4Unspecified()}
	if hop, given := c.values["nexthop"]; given {
		if r.hop, err = netip.ParseAddr(text(hop)); err != nil || !r.hop.Is4() {
			return c.fail(itsWords("The parameter is incorrect: the next hop %s.", text(hop)))
		}
	}
	if metric, given := c.values["routemetric"]; given {
		n, is := metric.(int64)
		if !is || n < 0 || n > 9999 {
			return c.fail(itsWords("The parameter is incorrect: the metric %s.", text(metric)))
		}
		r.metric = n
	}
	if err := c.f.in.session.system().addRoute(r); err != nil {
		return c.fail(err)
	}
	return c.out.put(r.object())
}

// removeNetRoute removes routes, those that the parameters name or those of the pipeline
// (https://learn.microsoft.com/en-us/powershell/module/nettcpip/remove-netroute).
func removeNetRoute(c *call) error {
	found, err := c.routes()
	if err != nil {
		return err
	}
	for _, r := range found {
		if err := c.f.in.session.system().removeRoute(r); err != nil {
			if err := c.fail(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// routes are the routes that the call names.
func (c *call) routes() (found []route, err error) {
	routes, err := c.f.in.session.system().routes()
	if err != nil {
		return nil, c.fail(err)
	}
	all, err := c.adapters()
	if err != nil {
		return nil, c.fail(err)
	}
	met := map[string]bool{}
	for _, r := range routes {
		for _, a := range all {
			if a.index == r.index {
				r.alias = a.name
			}
		}
		o, picked := r.object(), true
		for _, parameter := range routeFilters() {
			yes, err := c.wanted(parameter, o.props[parameter], met)
			if err != nil {
				return nil, err
			}
			picked = picked && yes
		}
		if picked && (!c.piped || piped(c.input, o)) {
			found = append(found, r)
		}
	}
	return found, c.unmet("MSFT_NetRoute", map[string]string{
		"destinationprefix": "DestinationPrefix", "interfaceindex": "InterfaceIndex", "interfacealias": "InterfaceAlias",
		"nexthop": "NextHop", "addressfamily": "AddressFamily", "routemetric": "RouteMetric",
	}, met)
}

// piped reports whether one of the objects of the pipeline is that route.
func piped(input []value, route *object) bool {
	for _, v := range input {
		o, is := v.(*object)
		same := is
		for _, name := range []string{"ifindex", "destinationprefix", "nexthop"} {
			same = same && o.props[name] == route.props[name]
		}
		if same {
			return true
		}
	}
	return false
}
