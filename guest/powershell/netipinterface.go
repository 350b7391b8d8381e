package powershell

// switchedType is how the properties of an interface say that something is on or off
// (https://learn.microsoft.com/en-us/windows/win32/fwp/wmi/nettcpipprov/msft-netipinterface).
func switchedType() *enumType {
	return &enumType{name: "Switch", values: []enumName{{"Disabled", 0}, {"Enabled", 1}}}
}

// getNetIPInterface outputs what the interfaces are as IP sees them. A host passes packets on, always: it is the router
// of its pods. A container does not.
func getNetIPInterface(c *call) error {
	all, err := c.adapters()
	if err != nil {
		return c.fail(err)
	}
	forwards, err := c.f.in.session.system().forwards()
	if err != nil {
		return c.fail(err)
	}
	forwarding := int64(0)
	if forwards {
		forwarding = 1
	}
	met := map[string]bool{}
	for _, six := range []bool{true, false} {
		for _, a := range all {
			has := false
			for _, x := range a.addrs {
				has = has || x.addr.Is6() == six
			}
			if !has {
				continue
			}
			family, state := "IPv4", "Connected"
			if six {
				family = "IPv6"
			}
			if !a.up {
				state = "Disconnected"
			}
			o := newObject("IP interface").set("ifIndex", a.index).set("InterfaceAlias", a.name).set("AddressFamily", family).
				set("NlMtu", a.mtu).set("Dhcp", enum{switchedType(), 0}).set("ConnectionState", state)
			o.props["interfaceindex"], o.props["ifalias"], o.props["nlmtubytes"] = a.index, a.name, a.mtu
			o.props["forwarding"] = enum{switchedType(), forwarding}
			if err := c.putWanted(o, met); err != nil {
				return err
			}
		}
	}
	return c.unmet("MSFT_NetIPInterface", map[string]string{
		"interfaceindex": "InterfaceIndex", "interfacealias": "InterfaceAlias", "addressfamily": "AddressFamily",
	}, met)
}

// setNetIPInterface accepts what is so already: that a host passes packets on. A container may not.
func setNetIPInterface(c *call) error {
	if _, err := c.adapterOf(); err != nil {
		return c.fail(err)
	}
	forwards, err := c.f.in.session.system().forwards()
	if err == nil && !forwards {
		err = itsWords("Access is denied.")
	}
	if err != nil {
		return c.fail(err)
	}
	return nil
}

func interfaceCmdlets() []cmdlet {
	also := map[string]string{"ifindex": "interfaceindex", "ifalias": "interfacealias"}
	families := map[string][]string{"addressfamily": {"ipv4", "ipv6"}}
	return []cmdlet{
		{
			name:      "Get-NetIPInterface",
			about:     "the interfaces, as IP sees them",
			run:       getNetIPInterface,
			values:    []string{"interfacealias", "interfaceindex", "addressfamily"},
			also:      also,
			positions: []string{"interfacealias"},
			allowed:   families,
		},
		{
			name:      "Set-NetIPInterface",
			about:     "that a host passes packets on (-Forwarding Enabled), which it always does",
			run:       setNetIPInterface,
			values:    []string{"interfacealias", "interfaceindex", "addressfamily", "forwarding"},
			also:      also,
			positions: []string{"interfacealias"},
			needs:     []string{"forwarding"},
			allowed:   map[string][]string{"addressfamily": families["addressfamily"], "forwarding": {"enabled"}},
		},
	}
}
