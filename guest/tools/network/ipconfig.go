package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"mullion.dev/mullion/guest/tools/program"
)

// Ipconfig prints the adapters with their addresses
// (https://learn.microsoft.com/windows-server/administration/windows-commands/ipconfig). Wine 8.0's
// (programs/ipconfig/ipconfig.c) prints neither the DNS servers nor the subnet masks, and shows the loopback, which is
// no adapter on Windows. There are no leases to release or renew; flushdns has nothing to do, as nothing is cached.
func Ipconfig(e program.Env, sys System, args []string) int {
	if len(args) == 1 && strings.EqualFold(strings.TrimLeft(args[0], "/-"), "flushdns") {
		e.Print("\r\nWindows IP Configuration\r\n\r\nSuccessfully flushed the DNS Resolver Cache.")
		return 0
	}

	all, compartments := false, false
	for _, arg := range args {
		switch name, _ := program.Option(arg); name {
		case "all":
			all = true
		case "allcompartments":
			compartments = true
		default:
			e.Complain("\r\nError: %s is not known to this ipconfig, which has /all, /allcompartments and /flushdns.", arg)
			return 1
		}
	}
	if compartments { // a container and a host each see one, their own
		line := strings.Repeat("=", 78)
		e.Print("\r\n\r\n%s\r\nNetwork Information for *Compartment 1* (ACTIVE)\r\n%[1]s", line)
	}

	return printAdapters(e, sys, all)
}

func printAdapters(e program.Env, sys System, all bool) int {
	e.Print("\r\nWindows IP Configuration\r\n")
	adapters, err := sys.Adapters()
	if err != nil {
		reason := err.Error()
		if number := syscall.Errno(0); errors.As(err, &number) {
			reason = fmt.Sprintf("error %d", uintptr(number))
		}
		e.Complain("An internal error occurred: the adapters cannot be listed (%s).", reason)
		return 1
	}

	if all {
		printHostFacts(e, sys, adapters)
	}
	for _, a := range adapters {
		if !a.Loopback {
			printAdapter(e, a, all)
		}
	}

	return 0
}

func printHostFacts(e program.Env, sys System, adapters []program.Adapter) {
	printFact(e, "Host Name", sys.HostName())
	printFact(e, "Primary Dns Suffix ", "")
	printFact(e, "Node Type", "Hybrid")
	printFact(e, "IP Routing Enabled", "No")
	printFact(e, "WINS Proxy Enabled", "No")
	if suffix := program.FirstSuffix(adapters); suffix != "" {
		printFact(e, "DNS Suffix Search List", suffix)
	}
}

func printAdapter(e program.Env, a program.Adapter, all bool) {
	e.Print("\r\nEthernet adapter %s:\r\n", a.Name)
	if !a.Up {
		printFact(e, "Media State", "Media disconnected")
	}

	printFact(e, "Connection-specific DNS Suffix ", a.Suffix)
	if all {
		dhcp := "No"
		if a.DHCP {
			dhcp = "Yes"
		}
		printFact(e, "Description", a.Description)
		printFact(e, "Physical Address", strings.ToUpper(strings.ReplaceAll(a.Hardware.String(), ":", "-")))
		printFact(e, "DHCP Enabled", dhcp)
		printFact(e, "Autoconfiguration Enabled", "Yes")
	}

	for _, address := range a.Addresses {
		printAddress(e, address, all)
	}

	printFacts(e, "Default Gateway", a.Gateways)
	if len(a.Gateways) == 0 {
		printFact(e, "Default Gateway", "")
	}
	if all {
		printFacts(e, "DNS Servers", a.Servers)
	}
}

func printAddress(e program.Env, a program.Address, all bool) {
	text := a.IP.String()
	if all {
		text += "(Preferred)"
	}
	switch {
	case a.IP.Is4():
		printFact(e, "IPv4 Address", text)
		printFact(e, "Subnet Mask", net.IP(net.CIDRMask(min(a.Bits, 32), 32)).String())
	case a.IP.IsLinkLocalUnicast():
		printFact(e, "Link-local IPv6 Address", text)
	default:
		printFact(e, "IPv6 Address", text)
	}
}

// printFact prints "   label . . . : value", as wide as Windows' ipconfig does.
func printFact(e program.Env, label, value string) {
	const width = 34
	var dots strings.Builder
	for i := len(label); i < width; i++ {
		dots.WriteByte(". "[i%2])
	}
	e.Print("   %s%s: %s", label, dots.String(), value)
}

// printFacts prints a list of values, one a line, the first of them with the label.
func printFacts(e program.Env, label string, values []netip.Addr) {
	for i, value := range values {
		if i == 0 {
			printFact(e, label, value.String())
		} else {
			e.Print("%39s%s", "", value)
		}
	}
}
