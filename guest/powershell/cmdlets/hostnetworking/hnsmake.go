package hostnetworking

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// The functions of Microsoft's hns.psm1 by which start-kubelet.ps1 and others of its folder make the network of pods
// (https://github.com/microsoft/SDN/blob/master/Kubernetes/windows/hns.psm1).

// subnet is one of a network of HNS version 1.
type subnet struct {
	AddressPrefix  string
	GatewayAddress string `json:",omitempty"`
}

// newNetwork makes a network: of its parameters, or of -JsonString as it is.
func newNetwork(c *cmdlet.Call) error {
	network := struct {
		Type, Name, NetworkAdapterName, DNSServerList string   `json:",omitempty"`
		Subnets                                       []subnet `json:",omitempty"`
	}{
		Type:               c.Text("type"),
		Name:               c.Text("name"),
		NetworkAdapterName: c.Text("adaptername"),
		DNSServerList:      c.Text("dnsserver"),
	}

	gateways := slices.Collect(object.Each(c.Values["gateway"]))
	for prefix := range object.Each(c.Values["addressprefix"]) {
		s := subnet{AddressPrefix: object.Text(prefix)}
		if i := len(network.Subnets); i < len(gateways) {
			s.GatewayAddress = object.Text(gateways[i])
		}
		network.Subnets = append(network.Subnets, s)
	}

	return makeHNS(c, "/networks/", network)
}

// newEndpoint makes an endpoint of a network.
func newEndpoint(c *cmdlet.Call) error {
	return makeHNS(c, "/endpoints/", struct {
		VirtualNetwork, Name, IPAddress, GatewayAddress, MacAddress, DNSServerList string `json:",omitempty"`
	}{
		VirtualNetwork: c.Text("networkid"),
		Name:           c.Text("name"),
		IPAddress:      c.Text("ipaddress"),
		GatewayAddress: c.Text("gateway"),
		MacAddress:     c.Text("macaddress"),
		DNSServerList:  c.Text("dnsserverlist"),
	})
}

// attachHost gives the host an endpoint.
func attachHost(c *cmdlet.Call) error {
	compartment := 1
	if _, given := c.Values["compartmentid"]; given {
		var err error
		if compartment, err = strconv.Atoi(c.Text("compartmentid")); err != nil {
			return c.Unbound(errors.New("-CompartmentID is a number"))
		}
	}
	return makeHNS(c, "/endpoints/"+c.Text("endpointid")+"/attach", struct {
		SystemType    string
		CompartmentID int `json:"CompartmentId"`
	}{"Host", compartment})
}

// detachHost takes an endpoint from the host.
func detachHost(c *cmdlet.Call) error {
	return makeHNS(c, "/endpoints/"+c.Text("endpointid")+"/detach", struct{ SystemType string }{"Host"})
}

// makeHNS posts a body to HNS, or -JsonString in its place, and outputs the answer.
func makeHNS(c *cmdlet.Call, path string, body any) error {
	text := c.Text("jsonstring")
	if text == "" {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = string(encoded)
	}

	v, err := hns(c, "POST", path, text)
	if err != nil {
		return c.Fail(err)
	}
	if v == nil {
		return nil
	}
	return c.Out.Put(v)
}

func makingCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "New-HnsNetwork",
			About:     "makes a network of HNS",
			Run:       newNetwork,
			Values:    []string{"jsonstring", "type", "name", "addressprefix", "gateway", "dnsserver", "adaptername"},
			Positions: []string{"jsonstring"},
		},
		{
			Name:      "New-HnsEndpoint",
			About:     "makes an endpoint of HNS",
			Run:       newEndpoint,
			Values:    []string{"jsonstring", "networkid", "name", "ipaddress", "gateway", "macaddress", "dnsserverlist"},
			Positions: []string{"jsonstring"},
		},
		{
			Name:   "Attach-HnsHostEndpoint",
			About:  "gives the host an endpoint of HNS",
			Run:    attachHost,
			Values: []string{"endpointid", "compartmentid"},
			Needs:  []string{"endpointid"},
		},
		{
			Name:   "Detach-HnsHostEndpoint",
			About:  "takes an endpoint of HNS from the host",
			Run:    detachHost,
			Values: []string{"endpointid"},
			Needs:  []string{"endpointid"},
		},
	}
}
