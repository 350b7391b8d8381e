//go:build kernel

package underlay_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/underlay"
)

// Two clusters on one machine have the same pods' addresses. The machine's routes stay those of the cluster that was
// first, neither takes them from the other, and the second gets them when the first has gone.
func TestSamePodsBesideAnother(t *testing.T) {
	testrun.Once(t, testrun.Race)
	e := newEnv(t)
	e.up(t)
	second, err := underlay.New(underlay.Config{
		RunDir:       t.TempDir(),
		MachineNetns: e.machine,
		Link:         "mullion1",
		Subnet:       netip.MustParsePrefix("10.214.0.0/24"),
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := second.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := second.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.AddHost(t.Context(), "win-c", netip.MustParseAddr("10.214.0.11")); err != nil {
		t.Fatal(err)
	}

	pods := netip.MustParsePrefix("10.244.1.0/24")
	own := netip.MustParsePrefix("10.244.7.0/24")
	for _, set := range []struct {
		u    *underlay.Underlay
		host string
		pods netip.Prefix
	}{{e.u, "10.213.0.11", pods}, {second, "10.214.0.11", pods}, {second, "10.214.0.12", own}} {
		if err := set.u.SetPodRoute(t.Context(), netip.MustParseAddr(set.host), set.pods); err != nil {
			t.Fatal(err)
		}
	}

	leads := func(to netip.Prefix, link string) {
		t.Helper()
		if got := run(t, e.machine, "ip", "route", "show", to.String()); !strings.Contains(got, "dev "+link) {
			t.Errorf("the machine's route to %s is %q, not by %s", to, got, link)
		}
	}
	leads(pods, "mullion0")
	leads(own, "mullion1")
	if got := run(t, second.FabricNetns(), "ip", "route", "show", pods.String()); !strings.Contains(got, "10.214.0.11") {
		t.Errorf("inside of the second its route is %q", got)
	}

	for name, u := range map[string]*underlay.Underlay{"first": e.u, "second": second} {
		said, err := u.Mend(t.Context())
		if err != nil || len(said) > 0 {
			t.Errorf("the %s mends %q, %v", name, said, err)
		}
		if note := u.Note(); (note != "") != (name == "second") {
			t.Errorf("the %s says %q", name, note)
		}
	}
	leads(pods, "mullion0")

	if err := e.u.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	said, err := second.Mend(t.Context())
	if err != nil || len(said) != 1 || !strings.Contains(said[0], pods.String()) {
		t.Errorf("when the first has gone it mends %q, %v", said, err)
	}
	leads(pods, "mullion1")
	if note := second.Note(); note != "" {
		t.Errorf("it still says %q", note)
	}
}
