package cluster

import (
	"net/netip"
	"testing"
)

// Others find a Linux node's router by the address that its interface has, in HNS' spelling.
func TestOverlayEndOfLinuxNode(t *testing.T) {
	at := netip.MustParseAddr("10.213.0.11")
	end := overlayEnd{subnet: netip.MustParsePrefix("10.244.3.0/24"), address: at, router: linuxRouter(at)}
	got := end.setting()
	if got.DestinationPrefix != "10.244.3.0/24" || got.ProviderAddress != "10.213.0.11" || got.IsolationId != 4096 || got.DistributedRouterMacAddress != "0A-58-0A-D5-00-0B" {
		t.Errorf("RemoteSubnetRoute %+v", got)
	}
	if got := linuxRouter(at).String(); got != "0a:58:0a:d5:00:0b" {
		t.Errorf("the interface's address is %s", got)
	}
	same := got
	same.DistributedRouterMacAddress = "0a-58-0a-d5-00-0b"
	if !sameRoute(got, same) {
		t.Error("a route that differs by the spelling of its address would be replaced")
	}
}
