package main

import (
	"context"
	"fmt"
	"net"
	"slices"
)

// lookup NAME...: prints each name's addresses, sorted, as programs get them from GetAddrInfoW.
func lookup(names []string) error {
	for _, name := range names {
		addresses, err := net.DefaultResolver.LookupHost(context.Background(), name)
		if err != nil {
			return err
		}
		slices.Sort(addresses)
		fmt.Println(name, addresses)
	}
	return nil
}

// records TYPE NAME: prints the records of one type, as programs get them from DnsQuery_W.
func records(args []string) error {
	var lines []string
	var err error
	switch kind, name := args[0], args[1]; kind {
	case "SRV":
		var found []*net.SRV
		_, found, err = net.LookupSRV("", "", name)
		for _, r := range found {
			lines = append(lines, fmt.Sprintf("%s:%d", r.Target, r.Port))
		}

	case "PTR":
		lines, err = net.LookupAddr(name)
	case "CNAME":
		var target string
		target, err = net.LookupCNAME(name)
		lines = append(lines, target)

	case "TXT":
		lines, err = net.LookupTXT(name)
	default:
		err = fmt.Errorf("records of type %q are not known here", kind)
	}
	if err != nil {
		return err
	}

	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}

	return nil
}
