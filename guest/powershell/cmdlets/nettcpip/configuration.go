package nettcpip

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// getNetIPConfiguration outputs the adapters that are up, each with its addresses, gateways and servers of DNS, as
// `ipconfig` shows them.
func getNetIPConfiguration(c *cmdlet.Call) error {
	all, err := adapters(c)
	if err != nil {
		return c.Fail(err)
	}
	routes, err := c.State.System.Routes()
	if err != nil {
		return c.Fail(err)
	}

	met := map[string]bool{}
	for _, a := range all {
		if a.Loopback || (!a.Up && !c.Flags["all"]) {
			continue
		}
		name, err := c.Wanted("interfacealias", a.Name, met)
		if err != nil {
			return err
		}
		index, err := c.Wanted("interfaceindex", a.Index, met)
		if err != nil {
			return err
		}
		if !name || !index {
			continue
		}
		if err := c.Output(configuration(a, routes)); err != nil {
			return err
		}
	}

	return c.Unmet("MSFT_NetIPInterface", map[string]string{
		"interfacealias": "InterfaceAlias", "interfaceindex": "InterfaceIndex",
	}, met)
}

// configuration returns an adapter as Get-NetIPConfiguration shows it
// (https://learn.microsoft.com/powershell/module/nettcpip/get-netipconfiguration).
func configuration(a system.Adapter, routes []system.Route) *object.Object {
	var four, six, servers []object.Value
	shown := map[string][]string{"IPv4Address": {}, "IPv6DefaultGateway": {}, "IPv4DefaultGateway": {}, "DNSServer": {}}
	show := func(name, text string) { shown[name] = append(shown[name], text) }
	for _, x := range a.Addrs {
		if x.Addr.Is6() {
			six = append(six, addressObject(x, a))
			continue
		}
		four = append(four, addressObject(x, a))
		show("IPv4Address", x.Addr.String())
	}

	for _, server := range a.DNS {
		servers = append(servers, server.String())
		show("DNSServer", server.String())
	}

	hops := func(name string, of6 bool) object.Value {
		var all []object.Value
		for _, r := range routes {
			if r.Index == a.Index && r.Prefix.Bits() == 0 && r.Hop.Is6() == of6 {
				all = append(all, object.New(object.Custom).Set("NextHop", r.Hop.String()).Set("RouteMetric", r.Metric).
					Set("ifIndex", r.Index))
				show(name, r.Hop.String())
			}
		}
		return slices.Clip(all)
	}

	o := object.New(object.Custom).Set("InterfaceAlias", a.Name).Set("InterfaceIndex", a.Index).
		Set("InterfaceDescription", a.Description).Set("IPv4Address", four).Set("IPv6Address", six).
		Set("IPv4DefaultGateway", hops("IPv4DefaultGateway", false)).
		Set("IPv6DefaultGateway", hops("IPv6DefaultGateway", true)).
		Set("DNSServer", object.New(object.Custom).Set("ServerAddresses", servers))
	o.View = &object.View{
		Names: []string{
			"InterfaceAlias", "InterfaceIndex", "InterfaceDescription", "IPv4Address", "IPv6DefaultGateway",
			"IPv4DefaultGateway", "DNSServer",
		},
		Texts: shown,
	}

	return o
}

func configurationCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:      "Get-NetIPConfiguration",
		Aliases:   []string{"gip"},
		About:     "the adapters with their addresses, gateways and servers of DNS",
		Run:       getNetIPConfiguration,
		Values:    []string{"interfacealias", "interfaceindex"},
		Flags:     []string{"all"},
		Also:      map[string]string{"ifalias": "interfacealias", "ifindex": "interfaceindex"},
		Positions: []string{"interfacealias"},
	}}
}
