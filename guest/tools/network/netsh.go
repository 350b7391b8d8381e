package network

import (
	"cmp"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// Netsh shows the network's settings, takes what an interface is set to if it is so already, and keeps reservations of
// URLs (https://learn.microsoft.com/windows-server/networking/technologies/netsh/netsh-contexts). Everything else is
// refused with the reason.
func Netsh(e program.Env, sys System, args []string) int {
	words := make([]string, 0, len(args))
	for _, a := range args {
		words = append(words, strings.ToLower(a))
	}
	if len(words) >= 2 && short(words[0], "interface") && slices.Contains([]string{"ip", "ipv4"}, words[1]) {
		if len(words) >= 4 && words[2] == "set" && short(words[3], "interface") {
			return setInterface(e, sys, words[4:])
		}
		return netshIPv4(e, sys, words[2:])
	}

	if len(words) >= 3 && words[0] == "http" && strings.HasPrefix(words[2], "urlacl") {
		return netshURLs(e, sys, words[1], args[3:])
	}

	if len(words) == 1 && (words[0] == "/?" || words[0] == "help") {
		e.Print("netsh interface ipv4 show config | addresses | interfaces | dnsservers")
		e.Print("netsh interface ipv4 set interface NAME | INDEX [forwarding=enabled] [weakhostsend=enabled] [weakhostreceive=enabled]")
		e.Print("netsh http show | add | delete urlacl")
		return 0
	}
	e.Complain("netsh: %s: %s.", strings.Join(args, " "), whyNot(words))
	return 1
}

// whyNot returns why a command is not there.
func whyNot(words []string) string {
	if len(words) >= 2 {
		switch words[0] + " " + words[1] {
		case "interface portproxy":
			return "there is no port proxy here: a Service or a hostPort leads to a pod's port"
		case "advfirewall firewall", "advfirewall set", "advfirewall show", "firewall add", "firewall set":
			return "nothing filters the packets of a host or container here; New-NetFirewallRule keeps rules that allow"
		case "winsock reset", "int ipv6", "interface ipv6":
			return "this part of netsh is not there"
		}
	}
	return "the command is not part of Mullion's netsh, which has interface ipv4 show and set interface, and http show, " +
		"add and delete urlacl"
}

// short reports whether a word is an abbreviation of a name that netsh takes.
func short(word, name string) bool { return len(word) >= 3 && strings.HasPrefix(name, word) }

// netshIPv4 shows adapters.
func netshIPv4(e program.Env, sys System, words []string) int {
	if len(words) < 2 || words[0] != "show" {
		e.Complain("netsh: addresses, routes and name servers are made by the Host Networking Service; programs cannot change them here.")
		return 1
	}
	adapters, err := sys.Adapters()
	if err != nil {
		e.Complain("%v", err)
		return 1
	}

	name := ""
	if len(words) > 2 {
		name = strings.Trim(strings.TrimPrefix(words[2], "name="), `"`)
	}

	switch what := words[1]; {
	case strings.HasPrefix("interfaces", what) && len(what) > 2:
		showInterfaces(e, adapters)
	case what == "config", what == "dnsservers", strings.HasPrefix("addresses", what) && len(what) > 3:
		found := false
		for _, a := range adapters {
			if name == "" || strings.EqualFold(a.Name, name) {
				found = true
				showConfig(e, a, what)
			}
		}
		if !found {
			e.Complain("The filename, directory name, or volume label syntax is incorrect.")
			return 1
		}

	default:
		e.Complain("The following command was not found: interface ipv4 show %s.", strings.Join(words[1:], " "))
		return 1
	}

	return 0
}

func showInterfaces(e program.Env, adapters []program.Adapter) {
	e.Print("")
	e.Print("Idx     Met         MTU          State                Name")
	e.Print("---  ----------  ----------  ------------  ---------------------------")
	for _, a := range adapters {
		state := "disconnected"
		if a.Up {
			state = "connected"
		}
		e.Print("%3d  %10d  %10d  %-12s  %s", a.Index, a.Metric, a.MTU, state, a.Name)
	}
	e.Print("")
}

// showConfig shows an adapter's addresses, and, unless only they are asked for, its name servers.
func showConfig(e program.Env, a program.Adapter, what string) {
	e.Print("")
	e.Print("Configuration for interface \"%s\"", a.Name)
	line := func(name, value string) { e.Print("    %-38s%s", name+":", value) }
	yes := "No"
	if a.DHCP {
		yes = "Yes"
	}

	if what != "dnsservers" {
		line("DHCP enabled", yes)
		for _, one := range a.Addresses {
			if one.IP.Is4() {
				mask := net.IP(net.CIDRMask(one.Bits, 32)).String()
				prefix := netip.PrefixFrom(one.IP, one.Bits).Masked()
				line("IP Address", one.IP.String())
				line("Subnet Prefix", prefix.String()+" (mask "+mask+")")
			}
		}

		for _, g := range a.Gateways {
			if g.Is4() {
				line("Default Gateway", g.String())
			}
		}
	}

	if what == "config" || what == "dnsservers" {
		var servers []string
		for _, s := range a.Servers {
			if s.Is4() {
				servers = append(servers, s.String())
			}
		}
		if len(servers) == 0 {
			servers = []string{"None"}
		}

		line("Statically Configured DNS Servers", servers[0])
		for _, s := range servers[1:] {
			e.Print("    %-38s%s", "", s)
		}
	}

	e.Print("")
}

// netshURLs shows, adds and deletes reservations of URLs. They are kept, and everybody may listen all the same.
func netshURLs(e program.Env, sys System, verb string, args []string) int {
	given := urlArguments(args)
	all, err := sys.Reservations()
	if err != nil {
		e.Complain("%v", err)
		return 1
	}

	url := given["url"]
	_, there := all[url]
	switch {
	case verb == "show":
		return showURLs(e, all, url)
	case (!strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://")) || !strings.HasSuffix(url, "/"):
		e.Complain("The parameter is incorrect.")
		return 1
	case verb == "add" && there:
		e.Complain("Url reservation add failed, Error: 183")
		e.Complain("Cannot create a file when that file already exists.")
		return 1

	case verb == "delete" && !there:
		e.Complain("Url reservation delete failed, Error: 2")
		e.Complain("The system cannot find the file specified.")
		return 1

	case verb == "add":
		err = sys.Reserve(url, cmp.Or(given["user"], given["sddl"]))
	case verb == "delete":
		err = sys.Reserve(url, "")
	default:
		e.Complain("The following command was not found: http %s urlacl.", verb)
		return 1
	}

	if err != nil {
		e.Complain("Url reservation %s failed, Error: 5", verb)
		e.Complain("Access is denied.")
		return 1
	}
	e.Print("")
	e.Print("URL reservation successfully %s", map[string]string{"add": "added", "delete": "deleted"}[verb])
	e.Print("")

	return 0
}

// urlArguments returns the arguments by their names; the first two may have none.
func urlArguments(args []string) map[string]string {
	given := map[string]string{}
	for i, a := range args {
		name, value, named := strings.Cut(a, "=")
		if !named {
			name, value = []string{"url", "user"}[min(i, 1)], a
		}
		given[strings.ToLower(name)] = strings.Trim(value, `"`)
	}
	return given
}

// showURLs prints the reservations, or the one of a URL.
func showURLs(e program.Env, all map[string]string, url string) int {
	e.Print("")
	e.Print("URL Reservations:")
	e.Print("-----------------")
	e.Print("")
	for _, one := range slices.Sorted(maps.Keys(all)) {
		if url != "" && one != url {
			continue
		}
		e.Print("    Reserved URL            : %s", one)
		e.Print("        User: %s", all[one])
		e.Print("            Listen: Yes")
		e.Print("            Delegate: No")
		e.Print("")
	}

	return 0
}
