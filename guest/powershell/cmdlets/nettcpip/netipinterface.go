package nettcpip

import (
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// switchedType returns how the properties of an interface say that something is on or off
// (https://learn.microsoft.com/en-us/windows/win32/fwp/wmi/nettcpipprov/msft-netipinterface).
func switchedType() *object.EnumType {
	return &object.EnumType{
		Name: "Switch",
		Values: []object.EnumName{
			{Name: "Disabled", N: 0}, {Name: "Enabled", N: 1},
		},
	}
}

// getNetIPInterface outputs what the interfaces are as IP sees them. A host passes packets on, always: it is the router
// of its pods. A container does not.
func getNetIPInterface(c *cmdlet.Call) error {
	all, err := adapters(c)
	if err != nil {
		return c.Fail(err)
	}
	forwards, err := c.State.System.Forwards()
	if err != nil {
		return c.Fail(err)
	}

	forwarding := int64(0)
	if forwards {
		forwarding = 1
	}

	met := map[string]bool{}
	for _, six := range []bool{true, false} {
		for _, a := range all {
			has := false
			for _, x := range a.Addrs {
				has = has || x.Addr.Is6() == six
			}
			if !has {
				continue
			}

			family, state := "IPv4", "Connected"
			if six {
				family = "IPv6"
			}
			if !a.Up {
				state = "Disconnected"
			}

			o := object.New("IP interface").Set("ifIndex", a.Index).Set("InterfaceAlias", a.Name).
				Set("AddressFamily", family).
				Set("NlMtu", a.MTU).Set("Dhcp", object.Enum{Of: switchedType(), N: 0}).Set("ConnectionState", state)
			o.Props["interfaceindex"] = a.Index
			o.Props["ifalias"] = a.Name
			o.Props["nlmtubytes"] = a.MTU
			o.Props["forwarding"] = object.Enum{Of: switchedType(), N: forwarding}

			if err := putWanted(c, o, met); err != nil {
				return err
			}
		}
	}

	return c.Unmet("MSFT_NetIPInterface", map[string]string{
		"interfaceindex": "InterfaceIndex", "interfacealias": "InterfaceAlias", "addressfamily": "AddressFamily",
	}, met)
}

// setNetIPInterface accepts what is so already: that a host passes packets on. A container may not.
func setNetIPInterface(c *cmdlet.Call) error {
	if _, err := adapterOf(c); err != nil {
		return c.Fail(err)
	}
	forwards, err := c.State.System.Forwards()
	if err == nil && !forwards {
		err = words.Errorf("Access is denied.")
	}
	if err != nil {
		return c.Fail(err)
	}
	return nil
}

func interfaceCmdlets() []cmdlet.Cmdlet {
	also := map[string]string{"ifindex": "interfaceindex", "ifalias": "interfacealias"}
	families := map[string][]string{"addressfamily": {"ipv4", "ipv6"}}
	return []cmdlet.Cmdlet{
		{
			Name:      "Get-NetIPInterface",
			About:     "the interfaces, as IP sees them",
			Run:       getNetIPInterface,
			Values:    []string{"interfacealias", "interfaceindex", "addressfamily"},
			Also:      also,
			Positions: []string{"interfacealias"},
			Allowed:   families,
		},
		{
			Name:      "Set-NetIPInterface",
			About:     "that a host passes packets on (-Forwarding Enabled), which it always does",
			Run:       setNetIPInterface,
			Values:    []string{"interfacealias", "interfaceindex", "addressfamily", "forwarding"},
			Also:      also,
			Positions: []string{"interfacealias"},
			Needs:     []string{"forwarding"},
			Allowed:   map[string][]string{"addressfamily": families["addressfamily"], "forwarding": {"enabled"}},
		},
	}
}
