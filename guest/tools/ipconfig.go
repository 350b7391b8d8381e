package tools

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// ipconfig prints the adapters with their addresses
// (https://learn.microsoft.com/windows-server/administration/windows-commands/ipconfig). Wine 8.0's
// (programs/ipconfig/ipconfig.c) prints neither the DNS servers nor the subnet masks, and shows the loopback, which is
// no adapter on Windows. There are no leases to release or renew; flushdns has nothing to do, as nothing is cached.
func ipconfig(e Env, args []string) int {
	if len(args) == 1 && strings.EqualFold(strings.TrimLeft(args[0], "/-"), "flushdns") {
		e.print("\r\nWindows IP Configuration\r\n\r\nSuccessfully flushed the DNS Resolver Cache.")
		return 0
	}
	all, compartments := false, false
	for _, arg := range args {
		switch name, _ := option(arg); name {
		case "all":
			all = true
		case "allcompartments":
			compartments = true
		default:
			e.complain("\r\nError: %s is not known to this ipconfig, which has /all, /allcompartments and /flushdns.", arg)
			return 1
		}
	}
	if compartments { // a container and a host each see one, their own
		line := strings.Repeat("=", 78)
		e.print("\r\n\r\n%s\r\nNetwork Information for *Compartment 1* (ACTIVE)\r\n%[1]s", line)
	}
	return printAdapters(e, all)
}

func printAdapters(e Env, all bool) int {
	e.print("\r\nWindows IP Configuration\r\n")
	adapters, err := e.System.Adapters()
	if err != nil {
		reason := err.Error()
		if number := syscall.Errno(0); errors.As(err, &number) {
			reason = fmt.Sprintf("error %d", uintptr(number))
		}
		e.complain("An internal error occurred: the adapters cannot be listed (%s).", reason)
		return 1
	}
	if all {
		printHostFacts(e, adapters)
	}
	for _, a := range adapters {
		if !a.Loopback {
			printAdapter(e, a, all)
		}
	}
	return 0
}

func printHostFacts(e Env, adapters []Adapter) {
	e.fact("Host Name", e.System.HostName())
	e.fact("Primary Dns Suffix ", "")
	e.fact("Node Type", "Hybrid")
	e.fact("IP Routing Enabled", "No")
	e.fact("WINS Proxy Enabled", "No")
	if suffix := firstSuffix(adapters); suffix != "" {
		e.fact("DNS Suffix Search List", suffix)
	}
}

func printAdapter(e Env, a Adapter, all bool) {
	e.print("\r\nEthernet adapter %s:\r\n", a.Name)
	if !a.Up {
		e.fact("Media State", "Media disconnected")
	}
	e.fact("Connection-specific DNS Suffix ", a.Suffix)
	if all {
		dhcp := "No"
		if a.DHCP {
			dhcp = "Yes"
		}
		e.fact("Description", a.Description)
		e.fact("Physical Address", strings.ToUpper(strings.ReplaceAll(a.Hardware.String(), ":", "-")))
		e.fact("DHCP Enabled", dhcp)
		e.fact("Autoconfiguration Enabled", "Yes")
	}
	for _, address := range a.Addresses {
		printAddress(e, address, all)
	}
	e.facts("Default Gateway", a.Gateways)
	if len(a.Gateways) == 0 {
		e.fact("Default Gateway", "")
	}
	if all {
		e.facts("DNS Servers", a.Servers)
	}
}

func printAddress(e Env, a Address, all bool) {
	text := a.IP.String()
	if all {
		text += "(Preferred)"
	}
	switch {
	case a.IP.Is4():
		e.fact("IPv4 Address", text)
		e.fact("Subnet Mask", net.IP(net.CIDRMask(min(a.Bits, 32), 32)).String())
	case a.IP.IsLinkLocalUnicast():
		e.fact("Link-local IPv6 Address", text)
	default:
		e.fact("IPv6 Address", text)
	}
}

// fact prints "   label . . . : value", as wide as Windows' ipconfig does.
func (e Env) fact(label, value string) {
	const width = 34
	var dots strings.Builder
	for i := len(label); i < width; i++ {
		dots.WriteByte(". "[i%2])
	}
	e.print("   %s%s: %s", label, dots.String(), value)
}

// facts prints a list of values, one a line, the first of them with the label.
func (e Env) facts(label string, values []netip.Addr) {
	for i, value := range values {
		if i == 0 {
			e.fact(label, value.String())
		} else {
			e.print("%39s%s", "", value)
		}
	}
}

// firstSuffix is the first DNS suffix that an adapter has, "" if none has one.
func firstSuffix(adapters []Adapter) string {
	for _, a := range adapters {
		if a.Suffix != "" {
			return a.Suffix
		}
	}
	return ""
}
