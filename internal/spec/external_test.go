package spec_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestExternalNodes(t *testing.T) {
	for _, tc := range []struct{ networking, want string }{
		{"{externalNodes: [192.0.2.7, 198.51.100.0/24]}", ""},
		{"{externalNodes: [server-1]}", `networking.externalNodes[0]: "server-1" is not an IPv4 address`},
		{`{externalNodes: ["2001:db8::7"]}`, "is not an IPv4 address"},
		{"{externalNodes: [0.0.0.0/0]}", "is not an IPv4 address"},
		{"{externalNodes: [127.0.0.1]}", "is not an IPv4 address"},
		{"{externalNodes: [10.213.0.200]}", "10.213.0.200/32 overlaps 10.213.0.0/24"},
		{"{externalNodes: [192.0.2.0/24, 192.0.2.7]}", "networking.externalNodes[1]: 192.0.2.7/32 overlaps 192.0.2.0/24"},
		{`{podSubnet: "10.244.0.0/16,fd00:10:244::/56", externalNodes: [192.0.2.7]}`, "have IPv4 alone"},
		{"{mode: overlay, externalNodes: [192.0.2.7]}", "only in mode l2bridge"},
	} {
		text := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nnodes: [{windowsVersion: ltsc2022}]\nnetworking: " +
			strings.Replace(tc.networking, "{", "{apiServerAddress: 0.0.0.0, ", 1) + "\n"
		c, err := spec.Load(strings.NewReader(text))
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.networking, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: error %v lacks %q", tc.networking, err, tc.want)
		case tc.want == "" && len(c.Networking.External()) != 2:
			t.Errorf("%s: %v", tc.networking, c.Networking.External())
		}
	}

	loopback := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nnodes: [{windowsVersion: ltsc2022}]\n" +
		"networking: {externalNodes: [192.0.2.7]}\n"
	if _, err := spec.Load(strings.NewReader(loopback)); err == nil ||
		!strings.Contains(err.Error(), "do not reach the API server at 127.0.0.1") {
		t.Errorf("an API server that they do not reach: %v", err)
	}
}
