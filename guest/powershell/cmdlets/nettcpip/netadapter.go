package nettcpip

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// adapterObject returns an adapter as Get-NetAdapter shows it
// (https://learn.microsoft.com/en-us/previous-versions/windows/desktop/legacy/hh968170(v=vs.85)).
func adapterObject(a system.Adapter) *object.Object {
	status := "Disconnected"
	if a.Up {
		status = "Up"
	}
	var mac []string
	for _, b := range a.MAC {
		mac = append(mac, fmt.Sprintf("%02X", b))
	}

	o := object.New("network adapter").Set("Name", a.Name).Set("InterfaceDescription", a.Description).
		Set("ifIndex", a.Index).Set("Status", status).Set("MacAddress", strings.Join(mac, "-")).
		Set("LinkSpeed", speedText(a.Speed))
	maps.Copy(o.Props, map[string]object.Value{
		"interfacealias": a.Name, "ifalias": a.Name, "interfaceindex": a.Index, "ifdesc": a.Description,
		"interfaceguid": a.GUID, "mtusize": a.MTU, "speed": int64(min(a.Speed, math.MaxInt64)), // it fits
	})
	return o
}

// speedText returns a speed as Get-NetAdapter shows it.
func speedText(bits uint64) string {
	for _, unit := range []struct {
		name string
		n    float64
	}{{"Gbps", 1e9}, {"Mbps", 1e6}, {"Kbps", 1e3}} {
		if n := float64(bits) / unit.n; n >= 1 {
			s, _ := object.FormatNumber(object.FloatDigits(n), "0.#") // the format is a known one
			return s + " " + unit.name
		}
	}
	return fmt.Sprintf("%d bps", bits)
}

// lifetime returns how long an address is valid, as a time span.
func lifetime(d time.Duration) object.Value { return &object.Instance{Of: object.SpanClass(), V: d} }

// addressObject returns an address as Get-NetIPAddress shows it
// (https://learn.microsoft.com/en-us/windows/win32/fwp/wmi/nettcpipprov/msft-netipaddress).
func addressObject(x system.AdapterAddress, a system.Adapter) *object.Object {
	family := "IPv4"
	four, six := object.Value(x.Addr.String()), object.Value(nil)
	if x.Addr.Is6() {
		family = "IPv6"
		four, six = six, four
	}

	name := func(of []string, n int64) string { return of[min(max(int(n), 0), len(of)-1)] }
	o := object.New("IP address").Set("IPAddress", x.Addr.String()).Set("InterfaceIndex", a.Index).
		Set("InterfaceAlias", a.Name).Set("AddressFamily", family).Set("Type", "Unicast").
		Set("PrefixLength", x.Bits).
		Set("PrefixOrigin", name([]string{"Other", "Manual", "WellKnown", "Dhcp", "RouterAdvertisement"}, x.Prefix)).
		Set("SuffixOrigin", name([]string{"Other", "Manual", "WellKnown", "Dhcp", "Link", "Random"}, x.Suffix)).
		Set("AddressState", name([]string{"Invalid", "Tentative", "Duplicate", "Deprecated", "Preferred"}, x.State)).
		Set("ValidLifetime", lifetime(x.Valid)).Set("PreferredLifetime", lifetime(x.Preferred)).
		Set("SkipAsSource", false).Set("PolicyStore", "ActiveStore")

	maps.Copy(o.Props, map[string]object.Value{
		"ifindex": a.Index, "ifalias": a.Name, "ipv4address": four, "ipv6address": six,
	})
	return o
}

// adapters returns the adapters; the loopback is the last.
func adapters(c *cmdlet.Call) ([]system.Adapter, error) {
	all, err := c.State.System.Adapters()
	slices.SortStableFunc(all, func(a, b system.Adapter) int {
		return map[bool]int{true: 1}[a.Loopback] - map[bool]int{true: 1}[b.Loopback]
	})
	return all, err
}

func getNetAdapter(c *cmdlet.Call) error {
	all, err := adapters(c)
	if err != nil {
		return c.Fail(err)
	}

	met := map[string]bool{}
	for _, a := range all {
		if a.Loopback { // Windows' loopback is no adapter
			continue
		}
		o := adapterObject(a)
		name, err := c.Wanted("name", a.Name, met)
		if err != nil {
			return err
		}

		description, err := c.Wanted("interfacedescription", a.Description, met)
		if err != nil {
			return err
		}
		index, err := c.Wanted("interfaceindex", a.Index, met)
		if err != nil {
			return err
		}

		if name && index && description {
			if err := c.Out.Put(o); err != nil {
				return err
			}
		}
	}

	return c.Unmet("MSFT_NetAdapter", map[string]string{
		"name": "Name", "interfaceindex": "InterfaceIndex", "interfacedescription": "InterfaceDescription",
	}, met)
}

// getNetIPAddress outputs addresses: of IPv6 before those of IPv4, as Windows does.
func getNetIPAddress(c *cmdlet.Call) error {
	all, err := adapters(c)
	if err != nil {
		return c.Fail(err)
	}
	inputs := []object.Value{nil}
	if c.Piped {
		inputs = c.Input
	}

	met := map[string]bool{}
	for _, input := range inputs {
		o, isObject := input.(*object.Object)
		if c.Piped && (!isObject || !o.Has("interfaceindex")) {
			return object.Thrown("%s : the input object %s, which is no adapter, is not part of Mullion's PowerShell.",
				c.Name, object.Text(input))
		}

		for _, six := range []bool{true, false} {
			for _, a := range all {
				if isObject && o.Props["interfaceindex"] != a.Index {
					continue
				}
				if err := putAddresses(c, a, six, met); err != nil {
					return err
				}
			}
		}
	}

	return c.Unmet("MSFT_NetIPAddress", map[string]string{
		"ipaddress": "IPAddress", "interfacealias": "InterfaceAlias", "interfaceindex": "InterfaceIndex",
		"addressfamily": "AddressFamily", "prefixlength": "PrefixLength",
	}, met)
}

// putAddresses outputs the addresses of an adapter, of one family.
func putAddresses(c *cmdlet.Call, a system.Adapter, six bool, met map[string]bool) error {
	for _, x := range a.Addrs {
		if x.Addr.Is6() != six {
			continue
		}
		if err := putWanted(c, addressObject(x, a), met); err != nil {
			return err
		}
	}
	return nil
}

// putWanted outputs an object if each of its properties is what the parameter of that name asks for.
func putWanted(c *cmdlet.Call, o *object.Object, met map[string]bool) error {
	picked := true
	for _, parameter := range c.Cmdlet.Values {
		yes, err := c.Wanted(parameter, o.Props[parameter], met)
		if err != nil {
			return err
		}
		picked = picked && yes
	}
	if !picked {
		return nil
	}
	return c.Out.Put(o)
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	return slices.Concat(adapterCmdlets(), routeCmdlets(), interfaceCmdlets(), socketCmdlets(), configurationCmdlets())
}

func adapterCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:   "Get-NetAdapter",
			About:  "the network adapters",
			Run:    getNetAdapter,
			Values: []string{"name", "interfacedescription", "interfaceindex"},
			Also: map[string]string{
				"ifalias": "name", "interfacealias": "name", "ifindex": "interfaceindex",
				"ifdesc": "interfacedescription",
			},
			Positions: []string{"name"},
		},
		{
			Name:  "Get-NetIPAddress",
			About: "the addresses of network adapters",
			Run:   getNetIPAddress,
			Values: []string{
				"ipaddress", "interfaceindex", "interfacealias", "addressfamily", "prefixlength", "prefixorigin",
				"suffixorigin", "addressstate", "type",
			},
			Also: map[string]string{
				"ifindex": "interfaceindex", "ifalias": "interfacealias", "localaddress": "ipaddress",
			},
			Positions: []string{"ipaddress"},
			Takes:     "interfaceindex",
			Allowed:   map[string][]string{"addressfamily": {"ipv4", "ipv6"}, "type": {"unicast"}},
		},
	}
}
