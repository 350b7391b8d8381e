package network

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
)

func TestGetmac(t *testing.T) {
	w := &fake{adapters: []program.Adapter{
		{Name: "Ethernet", Description: "An Adapter", Up: true, Hardware: net.HardwareAddr{0, 0x15, 0x5d, 1, 2, 0xab}}, {Loopback: true},
	}}

	for args, want := range map[string]string{
		"":            "\nPhysical Address    Transport Name\n=================== ==========================================================\n00-15-5D-01-02-AB   \\Device\\Tcpip_Ethernet\n",
		"/nh /fo csv": "\"00-15-5D-01-02-AB\",\"\\Device\\Tcpip_Ethernet\"\n",
		"/v /fo list": "\nConnection Name: Ethernet\nNetwork Adapter: An Adapter\nPhysical Address: 00-15-5D-01-02-AB\nTransport Name: \\Device\\Tcpip_Ethernet\n",
	} {
		got := run(t, w, "", append([]string{"getmac"}, strings.Fields(args)...)...)
		if diff := cmp.Diff(result{Out: want}, got); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}

	if got := run(t, w, "", "getmac", "/s", "other"); got.Code != 1 || !strings.HasPrefix(got.Err, "ERROR: Invalid argument/option - '/s'.") {
		t.Errorf("%+v", got)
	}
}
