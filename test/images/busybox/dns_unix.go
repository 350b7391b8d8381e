//go:build unix

package main

import (
	"bufio"
	"net/netip"
	"os"
	"strings"
)

// systemResolver reads /etc/resolv.conf.
func systemResolver() (resolver, error) {
	f, err := os.Open("/etc/resolv.conf")
	if err != nil {
		return resolver{}, err
	}
	defer f.Close()

	var r resolver
	s := bufio.NewScanner(f)
	for s.Scan() {
		fields := strings.Fields(s.Text())
		switch {
		case len(fields) < 2:
		case fields[0] == "nameserver":
			if ip, err := netip.ParseAddr(fields[1]); err == nil {
				r.servers = append(r.servers, netip.AddrPortFrom(ip, 53))
			}
		case fields[0] == "search":
			r.search = fields[1:]
		}
	}

	return r, s.Err()
}
