package network

import (
	"slices"
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

	is, err := isInterface(sys, given["interface"])
	switch {
	case err != nil:
		e.Complain("%v", err)
		return 1
	case !is:
		e.Complain("The filename, directory name, or volume label syntax is incorrect.")
		return 1
	}

	delete(given, "interface")
	delete(given, "store") // whichever it is, what is so is so after a restart

	forwards, err := sys.Forwards()
	if err != nil {
		e.Complain("%v", err)
		return 1
	}
	if why := refusal(given, forwards); why != "" {
		e.Complain("%s", why)
		return 1
	}

	e.Print("Ok.")
	e.Print("")

	return 0
}

// isInterface reports whether there is an interface of a name or index.
func isInterface(sys System, name string) (bool, error) {
	adapters, err := sys.Adapters()
	return slices.ContainsFunc(adapters, func(a program.Adapter) bool {
		return strings.EqualFold(a.Name, name) || strconv.FormatUint(uint64(a.Index), 10) == name
	}), err
}

// refusal returns why a setting cannot be had; "": all are so.
func refusal(given map[string]string, forwards bool) string {
	for _, name := range settings() {
		value, is := given[name]
		if !is {
			continue
		}

		weak := name == "weakhostsend" || name == "weakhostreceive"
		switch {
		case name != "forwarding" && !weak:
			return "netsh: " + name + " of an interface is Linux' to set, and programs cannot change it here."
		case (weak || forwards) && !strings.HasPrefix("enabled", value):
			return "netsh: " + name + " is always enabled here."
		case !weak && !forwards && !strings.HasPrefix("disabled", value):
			// A container's interfaces pass nothing on, and its programs may not change that.
			return "The requested operation requires elevation (Run as administrator)."
		}
	}

	return ""
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
