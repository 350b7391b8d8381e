package winserver

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"

	"mullion.dev/mullion/internal/winserver/journal"
)

// routes makes the ways to the other nodes and to their pods, in a cluster of Mullion's: by way of the machine that the
// API server is on. A node of that machine's own needs none.
func (c change) routes(ctx context.Context, k cluster, address netip.Prefix) error {
	if !k.mullion || k.nodes.Contains(address.Addr()) {
		return nil
	}
	u, err := url.Parse(k.Server)
	if err != nil {
		return err
	}

	via, _ := netip.ParseAddr(u.Hostname()) // a name is no neighbour's address
	if !address.Masked().Contains(via) {
		c.say("%s is no neighbour of this server: the routers between have to lead to %s and %s by way of it", u.Hostname(),
			k.nodes, k.pods)
		return nil
	}

	for _, to := range []netip.Prefix{k.nodes, k.pods} {
		name := to.String() + " " + via.String()
		_, had := c.journal.Find(journal.Route, name)
		if err := c.journal.Add(journal.Entry{Kind: journal.Route, Name: name}); err != nil {
			return err
		}
		if err := c.Routes.Ensure(ctx, to, via); err != nil {
			return fmt.Errorf("make the route to %s by way of %s: %w", to, via, err)
		}

		if !had {
			c.say("made the route to %s by way of %s", to, via)
		}
	}

	return nil
}

// parseRoute reads the name of a route in the journal.
func parseRoute(name string) (to netip.Prefix, via netip.Addr, err error) {
	var texts [2]string
	if _, err := fmt.Sscan(name, &texts[0], &texts[1]); err != nil {
		return to, via, fmt.Errorf("%q is no route: %w", name, err)
	}
	if to, err = netip.ParsePrefix(texts[0]); err != nil {
		return to, via, err
	}
	via, err = netip.ParseAddr(texts[1])
	return to, via, err
}
