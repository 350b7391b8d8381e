package powershell

import (
	"maps"
	"net/netip"
)

// route is a route of Windows.
type route struct {
	index   int64  // of the interface
	alias   string // its name, where it is known
	prefix  netip.Prefix
	hop     netip.Addr
	metric  int64
	publish bool
}

// object is a route as Get-NetRoute shows it
// (https://learn.microsoft.com/en-us/powershell/module/nettcpip/get-netroute).
func (r route) object() *object {
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
		"interfaceindex": r.index, "interfacealias": r.alias, "ifalias": r.alias, "addressfamily": family, "publish": publish,
	})
	return o
}

// getNetRoute outputs routes, all or those that the parameters name.
func getNetRoute(c *call) error {
	found, err := c.routes()
	for _, r := range found {
		if err := c.out.put(r.object()); err != nil {
			return err
		}
	}
	return err
}

func routeCmdlets() []cmdlet {
	stored := append(routeFilters(), "policystore")
	return []cmdlet{
		{
			name:      "Get-NetRoute",
			about:     "the routes",
			run:       getNetRoute,
			values:    routeFilters(),
			also:      routeAlso(),
			positions: []string{"destinationprefix"},
			allowed:   routeAllowed(),
		},
		{
			name:      "New-NetRoute",
			about:     "makes a route of IPv4 on a host, until it is restarted",
			run:       newNetRoute,
			values:    stored,
			also:      routeAlso(),
			positions: []string{"destinationprefix"},
			needs:     []string{"destinationprefix"},
			allowed:   routeAllowed(),
		},
		{
			name:      "Remove-NetRoute",
			about:     "removes routes of IPv4 on a host",
			run:       removeNetRoute,
			values:    stored,
			also:      routeAlso(),
			positions: []string{"destinationprefix"},
			takes:     "destinationprefix",
			allowed:   routeAllowed(),
		},
	}
}
