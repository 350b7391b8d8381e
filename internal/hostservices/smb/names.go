package smb

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
)

// Names is how a container's names are resolved.
type Names struct {
	// Servers are the addresses of DNS servers.
	Servers []string `json:"servers"`
	// Suffixes are tried after a name without a dot.
	Suffixes []string `json:"suffixes"`
}

// dial connects to a host by its name or its address.
func (n Names) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}

	d := net.Dialer{KeepAlive: dialTimeout, Resolver: n.resolver()}
	names := []string{host + "."} // as it is: the machine's own suffixes are not the container's
	switch {
	case net.ParseIP(host) != nil:
		names = []string{host}
	case !strings.Contains(host, "."):
		names = nil
		for _, suffix := range n.Suffixes {
			names = append(names, host+"."+strings.Trim(suffix, ".")+".")
		}
		names = append(names, host+".")
	}

	var errs []error
	for _, name := range names {
		conn, err := d.DialContext(ctx, network, net.JoinHostPort(name, port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		var dns *net.DNSError
		if !errors.As(err, &dns) || !dns.IsNotFound {
			break
		}
	}

	return nil, errors.Join(errs...)
}

// resolver asks the DNS servers in turn.
func (n Names) resolver() *net.Resolver {
	next := 0
	var mu sync.Mutex
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if len(n.Servers) == 0 {
			return nil, errors.New("the container has no DNS server")
		}
		mu.Lock()
		server := n.Servers[next%len(n.Servers)]
		next++
		mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(server, "53"))
	}}
}
