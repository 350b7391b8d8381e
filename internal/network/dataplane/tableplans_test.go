package dataplane

import (
	"net/netip"

	"mullion.dev/mullion/internal/network/netplan"
)

// The plans of the goldens: a host 10.213.0.11 with the pods web (10.244.1.5) and db (10.244.1.6). A third pod,
// 10.244.2.7, is on another host. The plans' IDs are readable names, not GUIDs, because they appear as comments in the
// goldens.

// tablePlans returns a plan for each mode of networks.
func tablePlans() map[string]netplan.Plan {
	return map[string]netplan.Plan{
		"l2bridge":    l2bridgePlan(),
		"overlay":     overlayPlan(),
		"l2tunnel":    l2tunnelPlan(),
		"nat":         natPlan(),
		"transparent": transparentPlan(),
	}
}

func addrs(list ...string) []netip.Addr {
	var all []netip.Addr
	for _, s := range list {
		all = append(all, netip.MustParseAddr(s))
	}
	return all
}

func addrPorts(list ...string) []netip.AddrPort {
	var all []netip.AddrPort
	for _, s := range list {
		all = append(all, netip.MustParseAddrPort(s))
	}
	return all
}

func networks(list ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range list {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// planOf returns a plan of one network with the pods web and db, without load balancers.
func planOf(b netplan.Bridge) netplan.Plan {
	b.ID = "net"

	return netplan.Plan{
		Bridges:    []netplan.Bridge{b},
		Namespaces: []string{"ns-db", "ns-web"},
		Ports: []netplan.Port{
			{
				ID:        "db",
				Bridge:    "net",
				Namespace: "ns-db",
				Name:      "eth0",
				MAC:       "00:15:5d:00:00:06",
				Addrs:     networks("10.244.1.6/24"),
			},
			{
				ID:        "web",
				Bridge:    "net",
				Namespace: "ns-web",
				Name:      "eth0",
				MAC:       "00:15:5d:00:00:05",
				Addrs:     networks("10.244.1.5/24"),
			},
		},
	}
}

// services are load balancers of all kinds that kube-proxy makes. source is the address that backends elsewhere see
// without direct return; the host's own if it is not valid.
func services(source netip.Addr) []netplan.LoadBalancer {
	return []netplan.LoadBalancer{
		{ // direct return
			ID:       "dns",
			VIPs:     addrs("10.96.0.10"),
			Protocol: netplan.UDP,
			Port:     53,
			Backends: addrPorts("10.244.1.5:53", "10.244.1.6:53", "10.244.2.7:53"),
			External: true,
			DSR:      true,
		},
		{ // no direct return
			ID:        "web",
			VIPs:      addrs("10.96.0.20"),
			Protocol:  netplan.TCP,
			Port:      80,
			Backends:  addrPorts("10.244.1.5:8080", "10.244.2.7:8080"),
			External:  true,
			SourceVIP: source,
		},
		{ // session affinity
			ID:       "shop",
			VIPs:     addrs("10.96.0.30"),
			Protocol: netplan.TCP,
			Port:     443,
			Backends: addrPorts("10.244.1.5:8443", "10.244.2.7:8443"),
			External: true,
			ByClient: true,
			DSR:      true,
		},
		{ // internalTrafficPolicy: Local
			ID:       "db-inside",
			VIPs:     addrs("10.96.0.40"),
			Protocol: netplan.TCP,
			Port:     5432,
			Backends: addrPorts("10.244.1.6:5432"),
			DSR:      true,
		},
		{ // externalTrafficPolicy: Local, at an address of the load balancer's own
			ID:          "web-outside",
			VIPs:        addrs("203.0.113.20"),
			Protocol:    netplan.TCP,
			Port:        80,
			Backends:    addrPorts("10.244.1.5:80", "10.244.1.6:80"),
			External:    true,
			DSR:         true,
			PreserveDIP: true,
		},
		{ // a node port
			ID:        "web-node",
			Protocol:  netplan.TCP,
			Port:      30080,
			Backends:  addrPorts("10.244.1.5:8080", "10.244.2.7:8080"),
			External:  true,
			SourceVIP: source,
		},
		{ // a node port with session affinity and externalTrafficPolicy: Local
			ID:       "shop-node",
			Protocol: netplan.TCP,
			Port:     30443,
			Backends: addrPorts("10.244.1.5:8443"),
			External: true,
			ByClient: true,
		},
		{ // a Service without a pod
			ID:       "nobody",
			VIPs:     addrs("10.96.0.50"),
			Protocol: netplan.TCP,
			Port:     80,
			External: true,
			DSR:      true,
		},
	}
}

// webPolicy returns the access rules of web. The first tier blocks two networks and passes the nodes' network on to the
// second tier, which lets pods connect to web's ports, and lets web connect to db and look up names.
func webPolicy() []netplan.ACL {
	return []netplan.ACL{
		{Tier: 1, Priority: 10, In: true, Pass: true, Remote: networks("10.213.0.0/24")},
		{Tier: 1, Priority: 20, In: true, Block: true, Remote: networks("10.244.66.0/24", "198.51.100.0/24")},
		{
			Tier:       2,
			Priority:   10,
			In:         true,
			Protocol:   netplan.TCP,
			Remote:     networks("10.244.0.0/16"),
			LocalPorts: []netplan.PortRange{{First: 8080, Last: 8080}, {First: 8443, Last: 8444}},
		},
		{Tier: 2, Priority: 10, In: true, Remote: networks("10.213.0.0/24")},
		{Tier: 2, Priority: 100, In: true, Block: true},
		{
			Tier:        2,
			Priority:    10,
			Protocol:    netplan.UDP,
			RemotePorts: []netplan.PortRange{{First: 53, Last: 53}},
		},
		{
			Tier:        2,
			Priority:    10,
			Protocol:    netplan.TCP,
			Remote:      networks("10.244.1.6/32"),
			RemotePorts: []netplan.PortRange{{First: 5432, Last: 5432}},
		},
		{Tier: 2, Priority: 100, Block: true},
	}
}

// l2bridgePlan has both families.
func l2bridgePlan() netplan.Plan {
	p := planOf(netplan.Bridge{
		Mode:     netplan.L2Bridge,
		MAC:      "00:15:5d:00:00:02",
		Addrs:    networks("10.244.1.2/24", "fd00:244:0:1::2/64"),
		HostVIPs: true,
	})

	db, web := &p.Ports[0], &p.Ports[1]
	db.Addrs = append(db.Addrs, networks("fd00:244:0:1::6/64")...)
	web.Addrs = append(web.Addrs, networks("fd00:244:0:1::5/64")...)
	local := networks("10.244.0.0/16", "10.96.0.0/16", "10.213.0.0/24", "fd00:244::/32", "fd00:96::/112")
	db.NAT = []netplan.NAT{{Except: local}}
	web.NAT = []netplan.NAT{
		{Except: local, ICMP: true},
		{Only: networks("198.51.100.0/24", "198.51.100.9/32", "192.0.2.1/32"), To: addrs("10.213.0.99")[0]},
	}

	web.ACL = webPolicy()

	p.LoadBalancers = append(services(netip.Addr{}),
		netplan.LoadBalancer{
			ID:        "web6",
			VIPs:      addrs("fd00:96::20"),
			Protocol:  netplan.TCP,
			Port:      80,
			Backends:  addrPorts("[fd00:244:0:1::5]:8080", "[fd00:244:0:2::7]:8080"),
			External:  true,
			ByClient:  true,
			SourceVIP: addrs("fd00:244:0:1::2")[0],
		},
		netplan.LoadBalancer{
			ID:          "web6-outside",
			VIPs:        addrs("2001:db8::20"),
			Protocol:    netplan.TCP,
			Port:        80,
			Backends:    addrPorts("[fd00:244:0:1::5]:80"),
			External:    true,
			DSR:         true,
			PreserveDIP: true,
		},
		netplan.LoadBalancer{
			ID:       "web6-node",
			Protocol: netplan.TCP,
			Port:     30080,
			Backends: addrPorts("[fd00:244:0:1::5]:8080"),
			External: true,
		})

	web.Proxies = webProxies()
	p.Normalize()
	return p
}

// webProxies send connections to web to a program in the pod, and connections from web to a program elsewhere.
func webProxies() []netplan.Proxy {
	return []netplan.Proxy{
		{
			In:          true,
			Protocol:    netplan.TCP,
			Port:        15006,
			ExceptPorts: []netplan.PortRange{{First: 15020, Last: 15021}},
		},
		{
			Protocol:   netplan.TCP,
			Port:       15001,
			Remote:     networks("10.96.0.0/16", "fd00:96::/112"),
			Ports:      []netplan.PortRange{{First: 80, Last: 80}, {First: 443, Last: 443}},
			Except:     networks("10.96.0.10/32"),
			ExceptUser: "S-1-5-93-2-2",
			Addr:       addrs("10.244.1.6")[0],
		},
	}
}

func overlayPlan() netplan.Plan {
	p := planOf(netplan.Bridge{
		Mode:     netplan.Overlay,
		Gateways: networks("10.244.1.1/24"),
		HostVIPs: true,
		Overlay: &netplan.VXLAN{
			VNI:  4096,
			Port: 4789,
			VTEP: addrs("10.213.0.11")[0],
			MAC:  "00:15:5d:00:00:01",
		},
	})

	p.Peers = []netplan.Peer{{
		ID:     "other",
		Bridge: "net",
		Subnet: networks("10.244.2.0/24")[0],
		VTEP:   addrs("10.213.0.12")[0],
		MAC:    "00:15:5d:00:02:01",
	}}

	for i := range p.Ports {
		p.Ports[i].NAT = []netplan.NAT{{Except: networks("10.244.0.0/16", "10.96.0.0/16")}}
	}

	p.Ports[1].ACL = webPolicy()
	p.LoadBalancers = services(addrs("10.244.1.2")[0])
	p.Normalize()
	return p
}

func l2tunnelPlan() netplan.Plan {
	p := planOf(netplan.Bridge{
		Mode:  netplan.L2Tunnel,
		MAC:   "00:15:5d:00:00:02",
		Addrs: networks("10.244.1.2/24"),
	})
	for i := range p.Ports {
		p.Ports[i].NAT = []netplan.NAT{{Except: networks("10.244.0.0/16", "10.96.0.0/16", "10.213.0.0/24")}}
	}

	p.Ports[1].ACL = webPolicy()
	p.LoadBalancers = services(netip.Addr{})
	p.Normalize()
	return p
}

// natPlan has, beside Services, a mapped port by which the host and others reach the pod web.
func natPlan() netplan.Plan {
	p := planOf(netplan.Bridge{
		Mode:     netplan.WinNAT,
		Gateways: networks("10.244.1.1/24"),
	})

	p.Ports[1].ACL = webPolicy()
	p.LoadBalancers = append(services(netip.Addr{}), netplan.LoadBalancer{
		ID:       "web-map",
		Protocol: netplan.TCP,
		Port:     8080,
		Backends: addrPorts("10.244.1.5:80"),
		External: true,
		FromHost: true,
	})
	p.Normalize()

	return p
}

// transparentPlan has a VLAN tag. Its pods' packets do not pass the host, so access rules are in the pod.
func transparentPlan() netplan.Plan {
	p := planOf(netplan.Bridge{
		Mode: netplan.Transparent,
		VLAN: 100,
	})
	p.Ports[1].ACL = webPolicy()
	p.LoadBalancers = services(netip.Addr{})
	p.Normalize()
	return p
}
