package network

import (
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// settings are what `netsh interface ipv4 set interface` sets, in the order in which it takes values without a name
// (https://learn.microsoft.com/windows-server/administration/windows-commands/netsh-interface).
func settings() []string {
	return []string{
		"interface", "forwarding", "advertise", "mtu", "siteid", "siteprefixlength", "nud", "basereachabletime",
		"retransmittime", "dadtransmits", "routerdiscovery", "managedaddress", "otherstateful", "weakhostsend",
		"weakhostreceive", "ignoredefaultroutes", "advertisedrouterlifetime", "advertisedefaultroute",
		"currenthoplimit", "forcearpndwolpattern", "enabledirectedmacwolpattern", "ecncapability", "store",
	}
}

// setInterface takes settings of an interface that are so already: a host passes packets on, and Linux takes a packet
// for each of its addresses on every interface, and sends from each, which Windows calls a weak host. Another setting
// is refused.
func setInterface(e program.Env, sys System, args []string) int {
	given, wrong := interfaceArguments(args)
	if wrong != "" {
		e.Complain("%s is not a valid argument for this command.", wrong)
		e.Complain("The syntax supplied for this command is not valid. Check help for the correct syntax.")
		return 1
	}

	adapters, err := sys.Adapters()
	if err != nil {
		e.Complain("%v", err)
		return 1
	}

	found := false
	for _, a := range adapters {
		found = found || strings.EqualFold(a.Name, given["interface"]) ||
			strconv.FormatUint(uint64(a.Index), 10) == given["interface"]
	}
	if !found {
		e.Complain("The filename, directory name, or volume label syntax is incorrect.")
		return 1
	}

	delete(given, "interface")
	delete(given, "store") // whichever it is, what is so is so after a restart

	for _, name := range settings() {
		value, is := given[name]
		switch {
		case !is:
		case name != "forwarding" && name != "weakhostsend" && name != "weakhostreceive":
			e.Complain("netsh: %s of an interface is Linux' to set, and programs cannot change it here.", name)
			return 1
		case !strings.HasPrefix("enabled", value):
			e.Complain("netsh: %s is always enabled here.", name)
			return 1
		}
	}

	if _, is := given["forwarding"]; !is {
		e.Print("Ok.")
		e.Print("")
		return 0
	}

	forwards, err := sys.Forwards()
	switch {
	case err != nil:
		e.Complain("%v", err)
		return 1
	case !forwards:
		// A container's interfaces pass nothing on, and its programs may not change that.
		e.Complain("The requested operation requires elevation (Run as administrator).")
		return 1
	}

	e.Print("Ok.")
	e.Print("")

	return 0
}

// interfaceArguments returns the settings by their whole names: those with a name, which may be shortened, and those
// without one in their order. If one is none, or is there twice, it is what is wrong.
func interfaceArguments(args []string) (given map[string]string, wrong string) {
	given = map[string]string{}
	for i, arg := range args {
		word, value, named := strings.Cut(arg, "=")
		if !named {
			word, value = "", arg
			if i < len(settings()) {
				word = settings()[i]
			}
		}

		name := ""
		for _, s := range settings() {
			if word != "" && strings.HasPrefix(s, word) {
				name = s
				break
			}
		}

		_, twice := given[name]
		if value = strings.Trim(value, `"`); name == "" || value == "" || twice {
			return nil, arg
		}
		given[name] = value
	}

	if given["interface"] == "" {
		return nil, "interface"
	}

	return given, ""
}
