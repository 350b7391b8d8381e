package network

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
	"mullion.dev/mullion/guest/winnet"
)

const rule = "==========================================================================="

// Route prints the routes
// (https://learn.microsoft.com/windows-server/administration/windows-commands/route_ws2008).
func Route(e program.Env, sys System, args []string) int {
	f, code := parseRoute(e, args)
	if code >= 0 {
		return code
	}
	if err := printRoutes(e, sys, f); err != nil {
		e.Complain("%v", err)
		return 1
	}
	return 0
}

// routeFilter says which routes are printed: those of a family, and to destinations that match a pattern.
type routeFilter struct {
	family  string // "", "4", "6"
	pattern string
}

// parseRoute reads the arguments. The code is negative if there is something to print.
func parseRoute(e program.Env, args []string) (f routeFilter, code int) {
	command := ""
	for _, arg := range args {
		name, is := program.Option(arg)
		if verb := routeChange(arg); verb != "" && command == "" {
			e.Complain("The route %s failed: the routes of a container and of a node are made by the Host Networking Service; "+
				"programs cannot change them here.", verb)
			return f, 1
		}

		switch {
		case is && (name == "4" || name == "6"):
			f.family = name
		case is && name == "?":
			return f, routeUsage(e, 0)
		case command == "" && strings.EqualFold(arg, "print"):
			command = "print"
		case command != "" && f.pattern == "":
			f.pattern = arg
		default:
			return f, routeUsage(e, 1)
		}
	}
	if command == "" {
		return f, routeUsage(e, 1)
	}

	return f, -1
}

// routeChange returns what an argument would do to the routes, as a noun; "" for one that only shows them.
func routeChange(arg string) string {
	return map[string]string{
		"add": "addition", "-p": "addition", "/p": "addition", "delete": "deletion", "-f": "deletion", "/f": "deletion",
		"change": "change",
	}[strings.ToLower(arg)]
}

func routeUsage(e program.Env, code int) int {
	e.Print("")
	e.Print("Manipulates network routing tables.")
	e.Print("")
	e.Print("ROUTE [-4|-6] PRINT [destination]")
	return code
}

// PrintRoutes prints the interfaces and the routes, as route print and netstat -r do.
func PrintRoutes(e program.Env, r Routing) error { return printRoutes(e, r, routeFilter{}) }

// printRoutes prints the interfaces, and the routes that a filter lets through.
func printRoutes(e program.Env, r Routing, f routeFilter) error {
	adapters, err := r.Adapters()
	if err != nil {
		return err
	}
	routes, err := r.Routes()
	if err != nil {
		return err
	}

	routes = slices.DeleteFunc(routes, func(r winnet.Route) bool {
		return f.pattern != "" && !wildcard.Match(f.pattern, r.Prefix.Addr().String())
	})

	slices.SortStableFunc(routes, func(a, b winnet.Route) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()))
	})
	e.Print(rule)
	e.Print("Interface List")
	for _, a := range slices.Backward(adapters) {
		e.Print("%s", interfaceLine(a))
	}

	e.Print(rule)
	if f.family != "6" {
		printRoutes4(e, adapters, routes)
	}
	if f.family != "4" {
		printRoutes6(e, routes)
	}
	return nil
}

// interfaceLine returns an adapter's line in the list of interfaces.
func interfaceLine(a program.Adapter) string {
	const dots = "..........................."
	if len(a.Hardware) == 0 {
		return fmt.Sprintf("%3d%s%s", a.Index, dots, a.Description)
	}
	return fmt.Sprintf("%3d...%s ......%s", a.Index, strings.ReplaceAll(a.Hardware.String(), ":", " "), a.Description)
}

func printRoutes4(e program.Env, adapters []program.Adapter, routes []winnet.Route) {
	e.Print("")
	e.Print("IPv4 Route Table")
	e.Print(rule)
	none := true
	for _, r := range routes {
		if !r.Prefix.Addr().Is4() {
			continue
		}
		if none {
			e.Print("Active Routes:")
			e.Print("Network Destination        Netmask          Gateway       Interface  Metric")
			none = false
		}

		hop := r.Hop.String()
		if r.Hop.IsUnspecified() {
			hop = "On-link "
		}
		e.Print("%17s%17s%17s%17s%7d", r.Prefix.Addr(), net.IP(net.CIDRMask(r.Prefix.Bits(), 32)), hop,
			addressOn(adapters, r.Index), r.Metric)
	}

	printNoMore(e, none)
}

// addressOn returns the IPv4 address of the interface with a number.
func addressOn(adapters []program.Adapter, index uint32) string {
	for _, a := range adapters {
		for _, one := range a.Addresses {
			if a.Index == index && one.IP.Is4() {
				return one.IP.String()
			}
		}
	}
	return netip.IPv4Unspecified().String()
}

func printRoutes6(e program.Env, routes []winnet.Route) {
	e.Print("")
	e.Print("IPv6 Route Table")
	e.Print(rule)
	none := true
	for _, r := range routes {
		if !r.Prefix.Addr().Is6() {
			continue
		}
		if none {
			e.Print("Active Routes:")
			e.Print(" If Metric Network Destination      Gateway")
			none = false
		}

		hop, to := r.Hop.String(), r.Prefix.String()
		if r.Hop.IsUnspecified() {
			hop = "On-link"
		}
		if len(to) > 24 {
			e.Print("%3d%7d %s", r.Index, r.Metric, to)
			e.Print("%36s%s", "", hop)
			continue
		}

		e.Print("%3d%7d %-24s %s", r.Index, r.Metric, to, hop)
	}

	printNoMore(e, none)
}

// printNoMore ends a table. Routes here are never persistent: HNS makes them anew.
func printNoMore(e program.Env, none bool) {
	if none {
		e.Print("Active Routes:")
		e.Print("  None")
	} else {
		e.Print(rule)
	}
	e.Print("Persistent Routes:")
	e.Print("  None")
}
