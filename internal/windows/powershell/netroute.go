package powershell

import (
	"maps"
	"net/netip"
)

// route is a route of Windows.
type route struct {
	index   int64 // of the interface
	prefix  netip.Prefix
	hop     netip.Addr
	metric  int64
	publish bool
}

// object is a route as Get-NetRoute shows it
// (https://learn.microsoft.com/en-us/powershell/module/nettcpip/get-netroute).
func (r route) object(alias string) *object {
	family := "IPv4"
	if r.hop.Is6() {
		family = "IPv6"
	}
	publish := "No"
	if r.publish {
		publish = "Yes"
	}
	o := newObject("route").set("ifIndex", r.index).set("DestinationPrefix", r.prefix.String()).
		set("NextHop", r.hop.String()).set("RouteMetric", r.metric).set("PolicyStore", "ActiveStore")
	maps.Copy(o.props, map[string]value{
		"interfaceindex": r.index, "interfacealias": alias, "ifalias": alias, "addressfamily": family, "publish": publish,
	})
	return o
}

// getNetRoute outputs routes, all or those that the parameters name.
func getNetRoute(c *call) error {
	routes, err := c.f.in.session.system().routes()
	if err != nil {
		return c.fail(err)
	}
	all, err := c.adapters()
	if err != nil {
		return c.fail(err)
	}
	met := map[string]bool{}
	for _, r := range routes {
		alias := ""
		for _, a := range all {
			if a.index == r.index {
				alias = a.name
			}
		}
		if err := c.putWanted(r.object(alias), met); err != nil {
			return err
		}
	}
	return c.unmet("MSFT_NetRoute", map[string]string{
		"destinationprefix": "DestinationPrefix", "interfaceindex": "InterfaceIndex", "interfacealias": "InterfaceAlias",
		"nexthop": "NextHop", "addressfamily": "AddressFamily", "routemetric": "RouteMetric",
	}, met)
}

func routeCmdlets() []cmdlet {
	return []cmdlet{{
		name:  "Get-NetRoute",
		about: "the routes",
		run:   getNetRoute,
		values: []string{
			"destinationprefix", "interfaceindex", "interfacealias", "nexthop", "addressfamily", "routemetric",
		},
		also:      map[string]string{"ifindex": "interfaceindex", "ifalias": "interfacealias"},
		positions: []string{"destinationprefix"},
		allowed:   map[string][]string{"addressfamily": {"ipv4", "ipv6"}},
	}}
}
