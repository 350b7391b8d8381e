// Package netstat owns netstat.exe, which shows sockets, routes and counters.
package netstat

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/tools/network"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/winnet"
)

// statistics holds netstat's arguments
// (https://learn.microsoft.com/windows-server/administration/windows-commands/netstat).
type statistics struct {
	all, numbers, owners, images, ethernet, routes, counters bool
	protocol                                                 string        // "" is each
	every                                                    time.Duration // 0: once
}

func usage(e program.Env) {
	e.Print("")
	e.Print("Displays protocol statistics and current TCP/IP network connections.")
	e.Print("")
	e.Print("NETSTAT [-a] [-b] [-e] [-n] [-o] [-p proto] [-r] [-s] [interval]")
}

// Run prints the sockets of the system, its routes and its counters.
func Run(e program.Env, sys System, args []string) int {
	s, code := parseNetstat(e, args)
	if code >= 0 {
		return code
	}

	for {
		if err := s.show(e, sys); err != nil {
			e.Complain("%v", err)
			return 1
		}
		if s.every == 0 {
			return 0
		}
		<-time.After(s.every) // until somebody presses Ctrl+C
	}
}

// show prints once what the arguments ask for.
func (s statistics) show(e program.Env, sys System) error {
	if s.routes {
		return network.PrintRoutes(e, sys)
	}
	if s.ethernet {
		if err := s.showTraffic(e, sys); err != nil {
			return err
		}
	}

	if s.counters {
		return s.showCounters(e, sys)
	}
	if s.ethernet {
		return nil
	}
	return s.showSockets(e, sys)
}

// parseNetstat reads the arguments. The code is negative if there is something to show.
func parseNetstat(e program.Env, args []string) (s statistics, code int) {
	for i := 0; i < len(args); i++ {
		if seconds, err := strconv.Atoi(args[i]); err == nil && seconds > 0 {
			s.every = time.Duration(seconds) * time.Second
			continue
		}

		name, is := program.Option(args[i])
		if name == "p" && i+1 < len(args) {
			i++
			s.protocol = strings.ToUpper(args[i])
			if !slices.Contains([]string{"TCP", "TCPV6", "UDP", "UDPV6"}, s.protocol) {
				usage(e)
				return s, 1
			}
			continue
		}

		if !is || !s.letters(name) {
			usage(e)
			if name == "?" {
				return s, 0
			}
			return s, 1
		}
	}

	return s, -1
}

// letters takes options that are written together, as in -ano.
func (s *statistics) letters(name string) bool {
	for _, letter := range name {
		switch letter {
		case 'a':
			s.all = true
		case 'n':
			s.numbers = true
		case 'o':
			s.owners = true
		case 'b':
			s.images = true
		case 'e':
			s.ethernet = true
		case 'r':
			s.routes = true
		case 's':
			s.counters = true
		default:
			return false
		}
	}

	return true
}

// wanted reports whether a socket is among those that are asked for. Without -a these are connections alone.
func (s statistics) wanted(one winnet.Socket) bool {
	protocol := one.Protocol
	if one.Local.Addr().Is6() {
		protocol += "V6"
	}
	if s.protocol != "" && s.protocol != protocol {
		return false
	}
	return s.all || (one.Protocol == "TCP" && one.State != winnet.StateListening)
}

// showSockets prints the table of sockets: those of TCP first, those of IPv4 before those of IPv6.
func (s statistics) showSockets(e program.Env, sys System) error {
	sockets, err := sys.Sockets()
	if err != nil {
		return err
	}

	images := map[uint32]string{}
	if s.images {
		if images, err = sys.Images(); err != nil {
			return err
		}
	}

	slices.SortStableFunc(sockets, func(a, b winnet.Socket) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol),
			cmp.Compare(a.Local.Addr().BitLen(), b.Local.Addr().BitLen()), a.Local.Compare(b.Local))
	})
	e.Print("")
	e.Print("Active Connections")
	e.Print("")
	last := "PID"
	if !s.owners {
		last = ""
	}

	s.row(e, [4]string{"Proto", "Local Address", "Foreign Address", "State"}, last)
	names := map[netip.Addr]string{}
	for _, one := range sockets {
		if !s.wanted(one) {
			continue
		}
		pid := strconv.FormatUint(uint64(one.PID), 10)
		foreign := s.foreign(sys, one, names)
		s.row(e, [4]string{one.Protocol, one.Local.String(), foreign, winnet.StateName(one.State)}, pid)
		if !s.images {
			continue
		}

		if image := images[one.PID]; image != "" {
			e.Print(" [%s]", image)
		} else {
			e.Print(" Can not obtain ownership information")
		}
	}

	return nil
}

// row prints a row of the table of sockets.
func (s statistics) row(e program.Env, cells [4]string, pid string) {
	if s.owners {
		e.Print("  %-6s %-22s %-22s %-15s %s", cells[0], cells[1], cells[2], cells[3], pid)
		return
	}
	e.Print("%s", strings.TrimRight("  "+pad(cells[0], 6)+" "+pad(cells[1], 22)+" "+pad(cells[2], 22)+" "+cells[3], " "))
}

func pad(text string, width int) string { return text + strings.Repeat(" ", max(0, width-len(text))) }

// portNames returns the names of ports that netstat shows without -n, as the registry of service names has them
// (https://www.iana.org/assignments/service-names-port-numbers).
func portNames() map[uint16]string {
	return map[uint16]string{
		21: "ftp", 22: "ssh", 23: "telnet", 25: "smtp", 53: "domain", 80: "http", 88: "kerberos", 110: "pop3", 135: "epmap",
		143: "imap", 389: "ldap", 443: "https", 445: "microsoft-ds", 636: "ldaps", 1433: "ms-sql-s", 3389: "ms-wbt-server",
	}
}

// foreign returns the other end of a socket. Without -n the host has a name, which names remembers, and the port too.
func (s statistics) foreign(sys System, one winnet.Socket, names map[netip.Addr]string) string {
	if one.Protocol == "UDP" {
		return "*:*"
	}

	remote := one.Remote
	if one.State == winnet.StateListening { // the table may have anything there
		remote = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
		if one.Local.Addr().Is6() {
			remote = netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
		}
	}

	if s.numbers {
		return remote.String()
	}
	name, known := names[remote.Addr()]
	if !known {
		name = hostName(sys, remote.Addr())
		names[remote.Addr()] = name
	}

	port := portNames()[remote.Port()]
	if port == "" {
		port = strconv.Itoa(int(remote.Port()))
	}
	return name + ":" + port
}

// hostName returns the name of an address, or the address itself; the computer's own if it is no other's.
func hostName(sys System, addr netip.Addr) string {
	name := ""
	if addr.IsUnspecified() || addr.IsLoopback() {
		name = sys.HostName()
	} else {
		name = sys.Reverse(addr)
	}
	if name == "" && addr.Is6() {
		return "[" + addr.String() + "]"
	}
	return cmp.Or(name, addr.String())
}
