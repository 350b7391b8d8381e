package powershell

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// adapter is a network adapter with its addresses.
type adapter struct {
	name, description, guid string
	index                   int64
	mac                     []byte
	up, loopback            bool
	speed                   uint64 // bits a second
	mtu                     int64
	addrs                   []adapterAddress
}

// adapterAddress is an address of an adapter, with numbers as Windows has them.
type adapterAddress struct {
	addr             netip.Addr
	bits             int64
	prefix, suffix   int64 // where prefix and suffix come from
	state            int64 // of duplicate detection
	valid, preferred time.Duration
}

// infinite is the lifetime of an address that does not end.
const infinite = time.Duration(math.MaxInt64)

// object is an adapter as Get-NetAdapter shows it
// (https://learn.microsoft.com/en-us/previous-versions/windows/desktop/legacy/hh968170(v=vs.85)).
func (a adapter) object() *object {
	status := "Disconnected"
	if a.up {
		status = "Up"
	}
	var mac []string
	for _, b := range a.mac {
		mac = append(mac, fmt.Sprintf("%02X", b))
	}
	o := newObject("network adapter").set("Name", a.name).set("InterfaceDescription", a.description).
		set("ifIndex", a.index).set("Status", status).set("MacAddress", strings.Join(mac, "-")).
		set("LinkSpeed", speedText(a.speed))
	maps.Copy(o.props, map[string]value{
		"interfacealias": a.name, "ifalias": a.name, "interfaceindex": a.index, "ifdesc": a.description,
		"interfaceguid": a.guid, "mtusize": a.mtu, "speed": int64(min(a.speed, math.MaxInt64)), // it fits
	})
	return o
}

// speedText is a speed as Get-NetAdapter shows it.
func speedText(bits uint64) string {
	for _, unit := range []struct {
		name string
		n    float64
	}{{"Gbps", 1e9}, {"Mbps", 1e6}, {"Kbps", 1e3}} {
		if n := float64(bits) / unit.n; n >= 1 {
			s, _ := formatNumber(floatDigits(n), "0.#") // the format is a known one
			return s + " " + unit.name
		}
	}
	return fmt.Sprintf("%d bps", bits)
}

// lifetime is how long an address is valid, as a time span.
func lifetime(d time.Duration) value { return &instance{spanClass(), d} }

// object is an address as Get-NetIPAddress shows it
// (https://learn.microsoft.com/en-us/windows/win32/fwp/wmi/nettcpipprov/msft-netipaddress).
func (x adapterAddress) object(a adapter) *object {
	family, four, six := "IPv4", value(x.addr.String()), value(nil)
	if x.addr.Is6() {
		family, four, six = "IPv6", six, four
	}
	name := func(of []string, n int64) string { return of[min(max(int(n), 0), len(of)-1)] }
	o := newObject("IP address").set("IPAddress", x.addr.String()).set("InterfaceIndex", a.index).
		set("InterfaceAlias", a.name).set("AddressFamily", family).set("Type", "Unicast").
		set("PrefixLength", x.bits).
		set("PrefixOrigin", name([]string{"Other", "Manual", "WellKnown", "Dhcp", "RouterAdvertisement"}, x.prefix)).
		set("SuffixOrigin", name([]string{"Other", "Manual", "WellKnown", "Dhcp", "Link", "Random"}, x.suffix)).
		set("AddressState", name([]string{"Invalid", "Tentative", "Duplicate", "Deprecated", "Preferred"}, x.state)).
		set("ValidLifetime", lifetime(x.valid)).set("PreferredLifetime", lifetime(x.preferred)).
		set("SkipAsSource", false).set("PolicyStore", "ActiveStore")
	maps.Copy(o.props, map[string]value{
		"ifindex": a.index, "ifalias": a.name, "ipv4address": four, "ipv6address": six,
	})
	return o
}

// sortedAdapters are the adapters; the loopback is the last.
func (c *call) adapters() ([]adapter, error) {
	all, err := c.f.in.session.system().adapters()
	slices.SortStableFunc(all, func(a, b adapter) int {
		return map[bool]int{true: 1}[a.loopback] - map[bool]int{true: 1}[b.loopback]
	})
	return all, err
}

// wanted reports whether a parameter of the call allows a value; names may have wild cards. Each value that it names
// without them, and that is met, is marked in met.
func (c *call) wanted(parameter string, v value, met map[string]bool) (bool, error) {
	given, there := c.values[parameter]
	if !there {
		return true, nil
	}
	found := false
	for want := range each(given) {
		re, err := wildcard(text(want))
		if err != nil {
			return false, err
		}
		if re.MatchString(text(v)) {
			found = true
			met[parameter+" "+text(want)] = true
		}
	}
	return found, nil
}

// unmet reports the values of parameters without wild cards that nothing has.
func (c *call) unmet(class string, names map[string]string, met map[string]bool) error {
	for _, parameter := range c.cmdlet.values {
		given, there := c.values[parameter]
		if !there || names[parameter] == "" {
			continue
		}
		for want := range each(given) {
			if met[parameter+" "+text(want)] || hasWildcard(text(want)) {
				continue
			}
			err := itsWords("No %s objects found with property '%s' equal to '%s'.  "+
				"Verify the value of the property and retry.", class, names[parameter], text(want))
			if err := c.fail(err); err != nil {
				return err
			}
		}
	}
	return nil
}

func getNetAdapter(c *call) error {
	all, err := c.adapters()
	if err != nil {
		return c.fail(err)
	}
	met := map[string]bool{}
	for _, a := range all {
		if a.loopback { // Windows' loopback is no adapter
			continue
		}
		o := a.object()
		name, err := c.wanted("name", a.name, met)
		if err != nil {
			return err
		}
		description, err := c.wanted("interfacedescription", a.description, met)
		if err != nil {
			return err
		}
		index, err := c.wanted("interfaceindex", a.index, met)
		if err != nil {
			return err
		}
		if name && index && description {
			if err := c.out.put(o); err != nil {
				return err
			}
		}
	}
	return c.unmet("MSFT_NetAdapter", map[string]string{
		"name": "Name", "interfaceindex": "InterfaceIndex", "interfacedescription": "InterfaceDescription",
	}, met)
}

// getNetIPAddress outputs addresses: of IPv6 before those of IPv4, as Windows does.
func getNetIPAddress(c *call) error {
	all, err := c.adapters()
	if err != nil {
		return c.fail(err)
	}
	inputs := []value{nil}
	if c.piped {
		inputs = c.input
	}
	met := map[string]bool{}
	for _, input := range inputs {
		o, isObject := input.(*object)
		if c.piped && (!isObject || !o.has("interfaceindex")) {
			return thrown("%s : the input object %s, which is no adapter, is not part of Mullion's PowerShell.", c.name,
				text(input))
		}
		for _, six := range []bool{true, false} {
			for _, a := range all {
				if isObject && o.props["interfaceindex"] != a.index {
					continue
				}
				if err := c.putAddresses(a, six, met); err != nil {
					return err
				}
			}
		}
	}
	return c.unmet("MSFT_NetIPAddress", map[string]string{
		"ipaddress": "IPAddress", "interfacealias": "InterfaceAlias", "interfaceindex": "InterfaceIndex",
		"addressfamily": "AddressFamily", "prefixlength": "PrefixLength",
	}, met)
}

// putAddresses outputs the addresses of an adapter, of one family.
func (c *call) putAddresses(a adapter, six bool, met map[string]bool) error {
	for _, x := range a.addrs {
		if x.addr.Is6() != six {
			continue
		}
		if err := c.putWanted(x.object(a), met); err != nil {
			return err
		}
	}
	return nil
}

// putWanted outputs an object if each of its properties is what the parameter of that name asks for.
func (c *call) putWanted(o *object, met map[string]bool) error {
	picked := true
	for _, parameter := range c.cmdlet.values {
		yes, err := c.wanted(parameter, o.props[parameter], met)
		if err != nil {
			return err
		}
		picked = picked && yes
	}
	if !picked {
		return nil
	}
	return c.out.put(o)
}

func networkCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:   "Get-NetAdapter",
			about:  "the network adapters",
			run:    getNetAdapter,
			values: []string{"name", "interfacedescription", "interfaceindex"},
			also: map[string]string{
				"ifalias": "name", "interfacealias": "name", "ifindex": "interfaceindex", "ifdesc": "interfacedescription",
			},
			positions: []string{"name"},
		},
		{
			name:  "Get-NetIPAddress",
			about: "the addresses of network adapters",
			run:   getNetIPAddress,
			values: []string{
				"ipaddress", "interfaceindex", "interfacealias", "addressfamily", "prefixlength", "prefixorigin",
				"suffixorigin", "addressstate", "type",
			},
			also: map[string]string{
				"ifindex": "interfaceindex", "ifalias": "interfacealias", "localaddress": "ipaddress",
			},
			positions: []string{"ipaddress"},
			takes:     "interfaceindex",
			allowed:   map[string][]string{"addressfamily": {"ipv4", "ipv6"}, "type": {"unicast"}},
		},
	}
}
