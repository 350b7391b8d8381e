package dataplane_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
)

func TestFake(t *testing.T) {
	dataplanetest.Suite(t, func(*testing.T) dataplanetest.Plane { return &dataplane.Fake{} })
}

func TestDump(t *testing.T) {
	got := dataplane.Dump(dataplanetest.Plan("10.244.1"))
	for _, want := range []string{
		"bridge " + dataplanetest.Net + " L2Bridge [10.244.1.2/24]",
		"port " + dataplanetest.EpA + " " + dataplanetest.NSA + "/eth0 on " + dataplanetest.Net,
		"0.0.0.0/0->10.244.1.2 nat(except [10.244.0.0/16] only [])",
		"[10.96.0.10] proto 6 port 80 -> [10.244.1.5:8080 10.244.1.6:8080]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("dump lacks %q:\n%s", want, got)
		}
	}
}
