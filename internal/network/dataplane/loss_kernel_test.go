//go:build kernel

package dataplane_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// anew is how long a client needs to send its first packet twice more: the kernel waits one second, then two.
const anew = 5 * time.Second

// lossBed returns a host without load balancers, and a namespace beyond it in which what it sends to virtual addresses
// ends in silence. Another host has a server at 10.244.2.5:80.
func lossBed(t *testing.T) (h host, plan netplan.Plan, outside string) {
	t.Helper()
	h, b, outside := fabric(t)
	run(t, outside, "ip route add blackhole 10.96.0.0/16")
	plan = dataplanetest.Plan("10.244.1")
	plan.LoadBalancers = nil
	h.apply(t, plan)
	netnstest.Serve(t, b.Pin(dataplanetest.NSA), "far", "10.244.2.5:80")
	return h, plan, outside
}

// begin opens a connection from a pod, and returns when the kernel tracks it. The result has what came of it.
func begin(t *testing.T, h host, vip string) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, _, err := netnstest.Ask(h.Pin(dataplanetest.NSA), "tcp", vip, anew)
		ended <- err
	}()

	to := netip.MustParseAddrPort(vip)
	tracked(t, h.ns, fmt.Sprintf("dst=%s sport=", to.Addr()))
	return ended
}

// tracked waits until the kernel tracks a connection whose line has the words.
func tracked(t *testing.T, ns, words string) {
	t.Helper()
	for end := time.Now().Add(3 * time.Second); !strings.Contains(run(t, ns, "cat /proc/net/nf_conntrack"), words); {
		if time.Now().After(end) {
			t.Fatalf("no connection with %s is tracked", words)
		}
	}
}

// A connection that was begun while its virtual address had no load balancer reaches a backend when there is one: the
// client sends its first packet anew.
func TestConnectionsBegunWithoutBalancer(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	for name, balancers := range map[string]int{"one": 1, "several": 8, "many": 40} {
		t.Run(name, func(t *testing.T) {
			h, plan, _ := lossBed(t)
			var lbs []netplan.LoadBalancer
			for i := range balancers {
				lbs = append(lbs, both(fmt.Sprint("x", i), fmt.Sprint("10.96.0.", 1+i), 80, nil, "10.244.2.5:80")...)
			}

			ended := begin(t, h, "10.96.0.1:80")
			h.change(t, &plan, netplan.Change{Set: netplan.Plan{LoadBalancers: lbs}})
			if err := <-ended; err != nil {
				t.Errorf("begun before there was a load balancer: %v", err)
			}
		})
	}

	t.Run("plan", func(t *testing.T) { // as after the agent was started again
		h, plan, _ := lossBed(t)
		ended := begin(t, h, "10.96.0.1:80")
		plan.LoadBalancers = both("x", "10.96.0.1", 80, nil, "10.244.2.5:80")
		plan.Normalize()
		h.apply(t, plan)
		if err := <-ended; err != nil {
			t.Errorf("begun before there was a load balancer: %v", err)
		}
	})
}

// A packet that finds no backend of its number, as between two states of the table, does not decide where its
// connection goes.
func TestConnectionsBegunWithoutBackend(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h, plan, _ := lossBed(t)
	one := both("x", "10.96.0.1", 80, nil, "10.244.2.5:80")
	h.change(t, &plan, netplan.Change{Set: netplan.Plan{LoadBalancers: one}})
	run(t, h.ns, "nft flush map inet hns vip_to")
	ended := make(chan error, 1)
	go func() {
		_, _, err := netnstest.Ask(h.Pin(dataplanetest.NSA), "tcp", "10.96.0.1:80", anew)
		ended <- err
	}()

	sent(t, h)
	element := "{ 10.96.0.1 . tcp . 80 . 0x00000000 : 10.244.2.5 . 80 }"
	run(t, h.ns, "nft add element inet hns vip_to '"+element+"'")
	if err := <-ended; err != nil {
		t.Errorf("begun while there was no backend: %v", err)
	}
}

// sent waits until a program of the pod waits for the answer to its first packet.
func sent(t *testing.T, h host) {
	t.Helper()
	const synSent = " 02 " // TCP_SYN_SENT in /proc/net/tcp
	for end := time.Now().Add(3 * time.Second); ; {
		if strings.Contains(run(t, h.Pin(dataplanetest.NSA), "cat /proc/thread-self/net/tcp"), synSent) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("no connection is begun")
		}
	}
}

// A connection to an address outside goes on when a load balancer takes that address.
func TestConnectionsBeforeTheirBalancer(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h, _, outside := fabric(t)
	plan := dataplanetest.Plan("10.244.1")
	var l net.Listener
	var c net.Conn
	if err := netns.Do(outside, func() (err error) {
		l, err = net.Listen("tcp4", "198.51.100.1:80")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })

	if err := netns.Do(h.Pin(dataplanetest.NSA), func() (err error) {
		c, err = net.DialTimeout("tcp4", "198.51.100.1:80", anew)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })

	h.change(t, &plan, netplan.Change{Set: netplan.Plan{
		LoadBalancers: both("x", "198.51.100.1", 80, nil, "10.244.2.5:80"),
	}})
	_ = far.SetDeadline(time.Now().Add(anew))
	if _, err := c.Write([]byte("still")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := far.Read(b); err != nil || string(b) != "still" {
		t.Errorf("read %q, %v", b, err)
	}
}

// Requests without pause while a load balancer changes again and again: none is lost, and no packet passes untranslated
// where one step leads from a balancer to the next.
func TestRequestsWhileBackendsChange(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h, _, outside := lossBed(t)
	var backends []string
	for i := range 4 {
		backends = append(backends, fmt.Sprint("10.244.1.6:", 8081+i))
		netnstest.Serve(t, h.Pin(dataplanetest.NSB), "near", backends[i])
	}

	run(t, outside, "nft 'add table ip seen; add chain ip seen in { type filter hook prerouting priority 0; }; "+
		"add counter ip seen untranslated; add rule ip seen in ip daddr 10.96.0.0/16 counter name untranslated'")

	change := func(removed string, set ...netplan.LoadBalancer) {
		t.Helper()
		c := netplan.Change{Set: netplan.Plan{LoadBalancers: set}}
		if removed != "" {
			c.Removed.LoadBalancers = []string{removed + "-6", removed + "-17"}
		}
		if err := h.ApplyChange(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		name string
		gaps bool
		step func(i int, want []string)
	}{
		{"replaced", false, func(_ int, want []string) {
			change("", both("x", "10.96.0.1", 80, nil, want...)...)
		}},
		{"renamed", false, func(i int, want []string) {
			names := [2]string{"x", "y"}
			change(names[i%2], both(names[(i+1)%2], "10.96.0.1", 80, nil, want...)...)
		}},
		{"removed-and-made", true, func(_ int, want []string) {
			change("x")
			change("", both("x", "10.96.0.1", 80, nil, want...)...)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			change("", both("x", "10.96.0.1", 80, nil, backends[:2]...)...)
			ctx, cancel := context.WithCancel(t.Context())
			done := callWithoutPause(ctx, t, h.Pin(dataplanetest.NSA), "10.96.0.1:80")
			steps := 0
			for end := time.Now().Add(6 * time.Second); steps < 2000 && time.Now().Before(end); steps++ {
				tt.step(steps, backends[:1+steps%4])
			}
			cancel()
			t.Logf("%d changes", steps)
			done()
			seen := run(t, outside, "nft reset counter ip seen untranslated")
			t.Log(strings.Join(strings.Fields(seen), " "))
			if clean := strings.Contains(seen, "packets 0 "); !clean && !tt.gaps {
				t.Errorf("packets that nobody translated: %s", seen)
			}
			change("y")
			change("x")
		})
	}
}

// callWithoutPause asks until the context ends, in four goroutines, and counts what is not answered in time. The result
// waits for their end.
func callWithoutPause(ctx context.Context, t *testing.T, ns, addr string) (wait func()) {
	t.Helper()
	var calls sync.WaitGroup
	took := make([][]time.Duration, 4)
	failed := make([][]error, 4)
	for i := range took {
		calls.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				if _, _, err := netnstest.Ask(ns, "tcp", addr, 3*anew); err != nil {
					failed[i] = append(failed[i], fmt.Errorf("at %s: %w", began.Format(time.StampMilli), err))
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}

	return func() {
		t.Helper()
		calls.Wait()
		all, errs := slices.Concat(took...), slices.Concat(failed...)
		t.Logf("%d requests, the longest %s", len(all), slices.Max(all))
		if len(errs) > 0 {
			t.Errorf("%d of %d requests failed; the first %v", len(errs), len(all), errs[0])
		}
	}
}
