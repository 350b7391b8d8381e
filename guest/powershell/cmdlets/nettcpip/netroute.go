package nettcpip

import (
	"maps"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// routeObject returns a route as Get-NetRoute shows it
// (https://learn.microsoft.com/en-us/powershell/module/nettcpip/get-netroute).
func routeObject(r system.Route) *object.Object {
	family := "IPv4"
	if r.Hop.Is6() {
		family = "IPv6"
	}
	publish := "No"
	if r.Publish {
		publish = "Yes"
	}

	o := object.New("route").Set("ifIndex", r.Index).Set("DestinationPrefix", r.Prefix.String()).
		Set("NextHop", r.Hop.String()).Set("RouteMetric", r.Metric).Set("PolicyStore", "ActiveStore")
	maps.Copy(o.Props, map[string]object.Value{
		"interfaceindex": r.Index, "interfacealias": r.Alias, "ifalias": r.Alias, "addressfamily": family,
		"publish": publish,
	})

	return o
}

// getNetRoute outputs routes, all or those that the parameters name.
func getNetRoute(c *cmdlet.Call) error {
	found, err := routes(c)
	for _, r := range found {
		if err := c.Out.Put(routeObject(r)); err != nil {
			return err
		}
	}
	return err
}

func routeCmdlets() []cmdlet.Cmdlet {
	stored := append(routeFilters(), "policystore")
	return []cmdlet.Cmdlet{
		{
			Name:      "Get-NetRoute",
			About:     "the routes",
			Run:       getNetRoute,
			Values:    routeFilters(),
			Also:      routeAlso(),
			Positions: []string{"destinationprefix"},
			Allowed:   routeAllowed(),
		},
		{
			Name:      "New-NetRoute",
			About:     "makes a route of IPv4 on a host, until it is restarted",
			Run:       newNetRoute,
			Values:    stored,
			Also:      routeAlso(),
			Positions: []string{"destinationprefix"},
			Needs:     []string{"destinationprefix"},
			Allowed:   routeAllowed(),
		},
		{
			Name:      "Remove-NetRoute",
			About:     "removes routes of IPv4 on a host",
			Run:       removeNetRoute,
			Values:    stored,
			Also:      routeAlso(),
			Positions: []string{"destinationprefix"},
			Takes:     "destinationprefix",
			Allowed:   routeAllowed(),
		},
	}
}
