package local

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// healthTimeout bounds one question to a health endpoint.
const healthTimeout = 3 * time.Second

// healthy asks a health endpoint on the loopback.
func healthy(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/healthz", port), nil)
	if err != nil {
		return err
	}

	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", req.URL, resp.Status)
	}

	return nil
}

// address returns the address from which this machine reaches host:port, with its network. Nothing is sent.
func address(hostport string) (netip.Prefix, error) {
	conn, err := net.Dial("udp4", hostport)
	if err != nil {
		return netip.Prefix{}, err
	}
	defer conn.Close()
	from, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return netip.Prefix{}, err
	}

	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Prefix{}, err
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap() == from.Addr() {
			return p, nil
		}
	}

	return netip.PrefixFrom(from.Addr(), from.Addr().BitLen()), nil
}

// interfaceTo returns the number of the interface whose network has an address.
func interfaceTo(neighbour netip.Addr) (int, error) {
	all, err := net.Interfaces()
	if err != nil {
		return 0, err
	}

	for i := range all {
		addresses, err := all[i].Addrs()
		if err != nil {
			return 0, err
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Contains(neighbour) {
				return all[i].Index, nil
			}
		}
	}

	return 0, fmt.Errorf("no network of this server has the address %s", neighbour)
}
