package dnsclient

import (
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// The families of addresses, AF_INET and AF_INET6: of MSFT_DNSClientServerAddress the property is their number
// (https://learn.microsoft.com/en-us/previous-versions/windows/desktop/dnsclientcimprov/msft-dnsclientserveraddress).
const (
	four = 2
	six  = 23
)

// serversObject returns the servers of one family that an adapter asks, as Get-DnsClientServerAddress shows them
// (https://learn.microsoft.com/en-us/powershell/module/dnsclient/get-dnsclientserveraddress).
func serversObject(a system.Adapter, family int64) *object.Object {
	servers := []object.Value{}
	for _, one := range a.DNS {
		if one.Is6() == (family == six) && !a.Loopback {
			servers = append(servers, one.String())
		}
	}

	o := object.New("DNS servers").Set("InterfaceAlias", a.Name).Set("InterfaceIndex", a.Index).
		Set("AddressFamily", family).Set("ServerAddresses", servers)
	o.Props["address"], o.Props["elementname"] = servers, a.Name
	return o
}

// getServers outputs for each adapter the servers of IPv4 and those of IPv6.
func getServers(c *cmdlet.Call) error {
	all, err := c.State.System.Adapters()
	if err != nil {
		return c.Fail(err)
	}

	met := map[string]bool{}
	for _, a := range all {
		alias, err := c.Wanted("interfacealias", a.Name, met)
		if err != nil {
			return err
		}
		index, err := c.Wanted("interfaceindex", a.Index, met)
		if err != nil {
			return err
		}
		if !alias || !index {
			continue
		}

		for _, family := range []int64{four, six} {
			wanted, err := c.Wanted("addressfamily", map[int64]string{four: "IPv4", six: "IPv6"}[family], met)
			if err != nil {
				return err
			}
			if !wanted {
				continue
			}
			if err := c.Out.Put(serversObject(a, family)); err != nil {
				return err
			}
		}
	}

	return c.Unmet("MSFT_DNSClientServerAddress", map[string]string{
		"interfacealias": "InterfaceAlias", "interfaceindex": "InterfaceIndex",
	}, met)
}

func serversCmdlet() cmdlet.Cmdlet {
	return cmdlet.Cmdlet{
		Name:      "Get-DnsClientServerAddress",
		About:     "the servers of DNS that adapters ask",
		Run:       getServers,
		Values:    []string{"interfacealias", "interfaceindex", "addressfamily"},
		Also:      map[string]string{"ifalias": "interfacealias", "ifindex": "interfaceindex"},
		Positions: []string{"interfacealias"},
		Allowed:   map[string][]string{"addressfamily": {"ipv4", "ipv6"}},
	}
}
