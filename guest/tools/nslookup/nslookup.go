// Package nslookup owns nslookup.exe, which asks name servers.
package nslookup

import (
	"bufio"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"mullion.dev/mullion/guest/tools/program"
)

// anyAddress stands for the records of both kinds of addresses; it is no type of DNS.
const anyAddress dnsmessage.Type = 0

// unnamed is what nslookup calls a server whose address has no name.
const unnamed = "UnKnown"

// errNoAddress says that a name exists and has no record of the type that was asked for.
var errNoAddress = errors.New("no such record")

// asker is nslookup: what it asks for, and whom.
type asker struct {
	program.Env
	sys        System
	server     netip.Addr
	serverName string
	suffix     string
	kind       dnsmessage.Type
	search     bool
}

// Run is nslookup [-OPTION...] [NAME | -] [SERVER], or without a name a prompt. Of the options and commands of
// Windows' program it has [set] type=, querytype=, q= and [no]search, and the commands server NAME and exit; others are
// refused by name (https://learn.microsoft.com/windows-server/administration/windows-commands/nslookup).
//
// Like Windows' program, and unlike every other program on Windows, it tries the DNS suffix with names that have a dot
// too (https://learn.microsoft.com/windows-server/administration/windows-commands/nslookup-set-search).
func Run(e program.Env, sys System, args []string) int {
	a := asker{
		Env:    e,
		sys:    sys,
		search: true,
	}

	for ; len(args) > 0; args = args[1:] {
		text := args[0]
		if len(text) < 2 || (text[0] != '-' && text[0] != '/') {
			break
		}
		if !a.set(text[1:]) {
			return 1
		}
	}

	a.findServer()
	switch {
	case len(args) > 1:
		if !a.takeServer(args[1]) {
			return 1
		}
	case !a.server.IsValid():
		e.Complain("*** Default servers are not available")
		return 1
	}

	ok := false
	if len(args) == 0 || args[0] == "-" {
		ok = a.converse()
	} else {
		a.printServer("Server")
		ok = a.lookUp(args[0])
	}
	if !ok {
		return 1
	}

	return 0
}

// findServer takes the first DNS server and the first DNS suffix of the adapters.
func (a *asker) findServer() {
	adapters, err := a.sys.Adapters()
	if err != nil {
		return // nslookup then says that there is no server
	}
	a.suffix = program.FirstSuffix(adapters)
	for _, one := range adapters {
		if len(one.Servers) > 0 {
			a.server = one.Servers[0]
			return
		}
	}
}

// takeServer sets the server by its name or address.
func (a *asker) takeServer(name string) bool {
	server, err := a.sys.Resolve(name)
	if err != nil {
		a.Complain("*** Can't find address for server %s: Non-existent domain", name)
		return false
	}
	a.server = server
	return true
}

// set sets an option, which comes without a dash or "set".
func (a *asker) set(text string) bool {
	name, value, valued := strings.Cut(text, "=")
	switch name = strings.ToLower(name); {
	case !valued && (name == "search" || name == "nosearch"):
		a.search = name == "search"
		return true
	case !valued || (name != "type" && name != "querytype" && name != "q"):
		a.Complain("*** Option %s is not known to this nslookup", text)
		return false
	}

	kind, known := map[string]dnsmessage.Type{
		"A": dnsmessage.TypeA, "AAAA": dnsmessage.TypeAAAA, "A+AAAA": anyAddress, "ANY": dnsmessage.TypeALL,
		"CNAME": dnsmessage.TypeCNAME, "MX": dnsmessage.TypeMX, "NS": dnsmessage.TypeNS, "PTR": dnsmessage.TypePTR,
		"SOA": dnsmessage.TypeSOA, "SRV": dnsmessage.TypeSRV, "TXT": dnsmessage.TypeTXT,
	}[strings.ToUpper(value)]
	if !known {
		a.Complain("unknown query type: %s", value)
		return false
	}

	a.kind = kind
	return true
}

// converse is the prompt: one command a line. It returns whether the last one succeeded.
func (a *asker) converse() bool {
	a.printServer("Default Server")
	ok := true
	lines := bufio.NewScanner(a.Stdin)
	for {
		fmt.Fprint(a.Stdout, "> ")
		if !lines.Scan() {
			return ok
		}
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}

		switch command := strings.ToLower(words[0]); {
		case command == "exit":
			return ok
		case command == "set" && len(words) > 1:
			ok = a.set(words[1])
		case command == "server" && len(words) > 1:
			if ok = a.takeServer(words[1]); ok {
				a.printServer("Default Server")
			}

		default:
			a.printServer("Server")
			ok = a.lookUp(words[0])
		}
	}
}

// printServer looks the server's name up and prints it.
func (a *asker) printServer(title string) {
	a.serverName = unnamed
	if reverse, ok := reverseName(a.server); ok {
		if name, err := a.pointer(reverse); err == nil {
			a.serverName = name
		}
	}
	a.Print("%s:  %s\r\nAddress:  %s\r\n", title, a.serverName, a.server)
}

// reverseName returns the name under which DNS has the name of an address; false for an address that counts on one
// machine only.
func reverseName(address netip.Addr) (string, bool) {
	if !address.IsValid() || address.Zone() != "" {
		return "", false
	}
	if address.Is4() {
		b := address.As4()
		return fmt.Sprintf("%d.%d.%d.%d.in-addr.arpa", b[3], b[2], b[1], b[0]), true
	}
	var name strings.Builder
	b := address.As16()
	for i := len(b) - 1; i >= 0; i-- {
		fmt.Fprintf(&name, "%x.%x.", b[i]&15, b[i]>>4)
	}
	return name.String() + "ip6.arpa", true
}

// pointer returns the name that the first PTR record holds.
func (a *asker) pointer(reverse string) (string, error) {
	r, err := ask(a.sys, a.server, reverse, dnsmessage.TypePTR)
	if err != nil {
		return "", err
	}
	for _, one := range r.answers() {
		if body, ok := one.body.(*dnsmessage.PTRResource); ok {
			return plainName(body.PTR), nil
		}
	}
	return "", errNoDomain
}

// lookUp looks a name or an address up and prints what is found, or that nothing is.
func (a *asker) lookUp(name string) bool {
	if a.kind == anyAddress {
		if address, err := netip.ParseAddr(name); err == nil {
			if reverse, ok := reverseName(address); ok {
				return a.lookUpAddress(reverse, name)
			}
		}
	}

	var err error = errNoDomain
	exists := false
	if a.search && a.suffix != "" && name != "" && !strings.HasSuffix(name, ".") {
		err = a.lookUpExactly(name + "." + a.suffix)
		exists = errors.Is(err, errNoAddress)
	}
	if err != nil && !errors.Is(err, errNoReply) {
		err = a.lookUpExactly(name)
		exists = exists || errors.Is(err, errNoAddress)
	}
	switch {
	case err == nil:
		return true
	case exists && a.kind == anyAddress:
		a.Complain("*** No address records available for %s", name)
	case exists:
		a.Complain("*** No such records available for %s", name)
	default:
		a.Complain("*** %s can't find %s: %v", a.serverName, name, err)
	}

	return false
}

func (a *asker) lookUpAddress(reverse, text string) bool {
	name, err := a.pointer(reverse)
	if err != nil {
		a.Complain("*** %s can't find %s: %v", a.serverName, text, err)
		return false
	}
	a.Print("Name:    %s\r\nAddress:  %s\r\n", name, text)
	return true
}

// lookUpExactly looks one whole name up and prints what is found. The error is errNoAddress if the name exists, and
// otherwise what ask returned.
func (a *asker) lookUpExactly(name string) error {
	if a.kind == anyAddress {
		return a.lookUpHost(name)
	}
	r, err := ask(a.sys, a.server, name, a.kind)
	if err != nil {
		return err
	}
	if a.kind == dnsmessage.TypeA || a.kind == dnsmessage.TypeAAAA {
		return orNone(printHost(a.Env, r))
	}
	return orNone(printRecords(a.Env, r))
}

// lookUpHost is lookUpExactly for the addresses of both kinds.
func (a *asker) lookUpHost(name string) error {
	v4, err4 := ask(a.sys, a.server, name, dnsmessage.TypeA)
	if errors.Is(err4, errNoReply) {
		return err4
	}

	v6, err6 := ask(a.sys, a.server, name, dnsmessage.TypeAAAA)
	switch {
	case err4 == nil && err6 == nil:
		return orNone(printHost(a.Env, v4, v6))
	case err4 == nil:
		return orNone(printHost(a.Env, v4))
	case err6 == nil:
		return orNone(printHost(a.Env, v6))
	}

	return err4
}

// orNone is errNoAddress if nothing was found.
func orNone(found bool) error {
	if !found {
		return errNoAddress
	}
	return nil
}
