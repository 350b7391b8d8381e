package nettcpip

import (
	"net/netip"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
)

// routeFilters returns the parameters of Get-NetRoute and Remove-NetRoute that choose among the routes.
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

// adapterOf returns the adapter that the call names, by its number or its name.
func adapterOf(c *cmdlet.Call) (system.Adapter, error) {
	all, err := adapters(c)
	if err != nil {
		return system.Adapter{}, err
	}

	index, byIndex := c.Values["interfaceindex"]
	alias, byAlias := c.Values["interfacealias"]
	for _, a := range all {
		if (byIndex && object.Text(index) == object.Text(a.Index)) || (byAlias &&
			strings.EqualFold(object.Text(alias), a.Name)) {
			return a, nil
		}
	}

	switch {
	case byIndex:
		return system.Adapter{}, words.Errorf("No MSFT_NetIPInterface objects found with property 'InterfaceIndex' equal to '%s'.", object.Text(index))
	case byAlias:
		return system.Adapter{}, words.Errorf("No MSFT_NetIPInterface objects found with property 'InterfaceAlias' equal to '%s'.", object.Text(alias))
	}

	return system.Adapter{}, words.Errorf("one of -InterfaceIndex and -InterfaceAlias is needed")
}

// newNetRoute makes a route (https://learn.microsoft.com/en-us/powershell/module/nettcpip/new-netroute). It lasts until
// the host is restarted, in whichever store it is asked for.
func newNetRoute(c *cmdlet.Call) error {
	a, err := adapterOf(c)
	if err != nil {
		return c.Fail(err)
	}
	prefix, err := netip.ParsePrefix(object.Text(c.Values["destinationprefix"]))
	if err != nil || prefix.Masked() != prefix {
		return c.Fail(words.Errorf("The parameter is incorrect: the destination prefix %s.",
			object.Text(c.Values["destinationprefix"])))
	}

	if prefix.Addr().Is6() {
		return object.Thrown("New-NetRoute : a route of IPv6 is not part of Mullion's PowerShell.")
	}
	r := system.Route{
		Index:  a.Index,
		Alias:  a.Name,
		Prefix: prefix,
		Hop:    netip.IPv4Unspecified(),
	}

	if hop, given := c.Values["nexthop"]; given {
		if r.Hop, err = netip.ParseAddr(object.Text(hop)); err != nil || !r.Hop.Is4() {
			return c.Fail(words.Errorf("The parameter is incorrect: the next hop %s.", object.Text(hop)))
		}
	}

	if metric, given := c.Values["routemetric"]; given {
		n, is := metric.(int64)
		if !is || n < 0 || n > 9999 {
			return c.Fail(words.Errorf("The parameter is incorrect: the metric %s.", object.Text(metric)))
		}
		r.Metric = n
	}

	if err := c.State.System.AddRoute(r); err != nil {
		return c.Fail(err)
	}
	return c.Out.Put(routeObject(r))
}

// removeNetRoute removes routes, those that the parameters name or those of the pipeline
// (https://learn.microsoft.com/en-us/powershell/module/nettcpip/remove-netroute).
func removeNetRoute(c *cmdlet.Call) error {
	found, err := routes(c)
	if err != nil {
		return err
	}
	for _, r := range found {
		if err := c.State.System.RemoveRoute(r); err != nil {
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// routes returns the routes that the call names.
func routes(c *cmdlet.Call) (found []system.Route, err error) {
	routes, err := c.State.System.Routes()
	if err != nil {
		return nil, c.Fail(err)
	}
	all, err := adapters(c)
	if err != nil {
		return nil, c.Fail(err)
	}

	met := map[string]bool{}
	for _, r := range routes {
		for _, a := range all {
			if a.Index == r.Index {
				r.Alias = a.Name
			}
		}

		o, picked := routeObject(r), true
		for _, parameter := range routeFilters() {
			yes, err := c.Wanted(parameter, o.Props[parameter], met)
			if err != nil {
				return nil, err
			}
			picked = picked && yes
		}
		if picked && (!c.Piped || fromPipe(c.Input, o)) {
			found = append(found, r)
		}
	}

	return found, c.Unmet("MSFT_NetRoute", map[string]string{
		"destinationprefix": "DestinationPrefix", "interfaceindex": "InterfaceIndex",
		"interfacealias": "InterfaceAlias",
		"nexthop":        "NextHop", "addressfamily": "AddressFamily", "routemetric": "RouteMetric",
	}, met)
}

// fromPipe reports whether one of the objects of the pipeline is that route.
func fromPipe(input []object.Value, route *object.Object) bool {
	for _, v := range input {
		o, is := v.(*object.Object)
		same := is
		for _, name := range []string{"ifindex", "destinationprefix", "nexthop"} {
			same = same && o.Props[name] == route.Props[name]
		}
		if same {
			return true
		}
	}
	return false
}
