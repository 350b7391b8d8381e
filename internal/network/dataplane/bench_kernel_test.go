//go:build kernel

package dataplane_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// The ways that the benchmarks compare; the program at both ends is the same. The way vip goes through the first of
// many services.
func ways(b *testing.B) map[string]way {
	b.Helper()
	all := map[string]way{"veth": bare(b)}
	for _, n := range []int{10, 1000, 5000} {
		h := benchHost(b)
		if err := h.Apply(b.Context(), services(n)); err != nil {
			b.Fatal(err)
		}
		from, to := h.Pin(dataplanetest.NSA), h.Pin(dataplanetest.NSB)
		if n == 10 {
			all["pod"] = way{from, to, "10.244.1.6:8080", "10.244.1.6:8080"}
		}

		one := service(0)
		one.Backends = one.Backends[:1]
		if err := h.ApplyChange(b.Context(),
			netplan.Change{Set: netplan.Plan{LoadBalancers: []netplan.LoadBalancer{one}}}); err != nil {
			b.Fatal(err)
		}

		through := way{from, to, "10.96.1.0:80", "10.244.1.6:8080"}
		if n == 10 {
			through.listen = "" // the server is pod's
		}
		all[fmt.Sprintf("clusterip-of-%d", n)] = through
	}

	return all
}

// way leads from a namespace to a server in another, which listens on listen and is called at dial. If listen is empty,
// another way's server is used.
type way struct{ from, to, dial, listen string }

var order = []string{"veth", "pod", "clusterip-of-10", "clusterip-of-1000", "clusterip-of-5000"}

// benchHost is newHost for a benchmark.
func benchHost(b *testing.B) *dataplane.Plane {
	b.Helper()
	dir := b.TempDir()
	ns, pins := filepath.Join(dir, "host"), filepath.Join(dir, "pods")
	if _, err := netns.Ensure(ns); err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() {
		entries, _ := os.ReadDir(pins)
		for _, e := range entries {
			_ = netns.Remove(filepath.Join(pins, e.Name()))
		}
		_ = netns.Remove(ns)
	})

	p, err := dataplane.New(dataplane.Config{Netns: ns, PinDir: pins})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// bare is two namespaces with a veth pair and nothing else.
func bare(b *testing.B) way {
	b.Helper()
	dir := b.TempDir()
	w := way{filepath.Join(dir, "a"), filepath.Join(dir, "b"), "10.1.0.2:8080", "10.1.0.2:8080"}
	for _, ns := range []string{w.from, w.to} {
		if _, err := netns.Ensure(ns); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = netns.Remove(ns) })
	}

	command(
		b, w.from, fmt.Sprintf(
			"exec 3<%s; ip link add eth0 type veth peer name eth0 netns /proc/$$/fd/3; ip link set eth0 up; ip addr add 10.1.0.1/24 dev eth0", w.to))
	command(b, w.to, "ip link set eth0 up; ip addr add 10.1.0.2/24 dev eth0")
	return w
}

func (w way) server(b *testing.B, each func(net.Conn)) {
	b.Helper()
	if w.listen == "" {
		return
	}
	var l net.Listener
	if err := netns.Do(w.to, func() (err error) { l, err = net.Listen("tcp4", w.listen); return err }); err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go each(c)
		}
	}()
}

func (w way) call(b *testing.B) net.Conn {
	b.Helper()
	var c net.Conn
	if err := netns.Do(w.from, func() (err error) {
		c,
			err = net.DialTimeout("tcp4", w.dial, 5*time.Second)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	return c
}

// portion is how many bytes are sent at once, some 10 ms of a processor's work.
const portion = 32 << 20

// BenchmarkThroughput sends a portion over a TCP connection of each way in turn. The load of other programs on the
// machine changes from moment to moment, so ways are compared within a round, and the result is the median of all
// rounds. Each round has connections of its own: one may cost a third more than another of the same way, for as long as
// it lasts.
func BenchmarkThroughput(b *testing.B) {
	all, sends := ways(b), map[string]func() (took, cost float64){}
	for _, name := range order {
		sends[name] = all[name].sender(b)
	}

	took, cost := map[string][]float64{}, map[string][]float64{}
	for i := 0; b.Loop(); i++ {
		for _, name := range rotated(i) {
			t, c := sends[name]()
			took[name], cost[name] = append(took[name], t), append(cost[name], c)
		}
	}

	for _, name := range order {
		b.ReportMetric(portion/1e6/median(took[name]), name+"-MB/s")
		b.ReportMetric(median(cost[name])/portion*(1<<20)*1e6, name+"-cpu-µs/MiB")
		if base := comparedWith(name); base != "" {
			b.ReportMetric(median(ratios(took[base], took[name])), name+"-speed")
			b.ReportMetric(median(ratios(cost[name], cost[base])), name+"-cpu")
		}
	}
}

// comparedWith returns the way with which another one is compared.
func comparedWith(name string) string {
	switch {
	case name == "pod":
		return "veth"
	case strings.HasPrefix(name, "clusterip"):
		return "pod"
	}
	return ""
}

// rotated returns the ways, beginning with another one in each round, so that no way always follows the slowest.
func rotated(i int) []string {
	n := i % len(order)
	return append(slices.Clone(order[n:]), order[:n]...)
}

func ratios(over, under []float64) []float64 {
	all := make([]float64, len(over))
	for i := range over {
		all[i] = over[i] / under[i]
	}
	return all
}

func median[T float64 | time.Duration](list []T) T {
	s := slices.Sorted(slices.Values(list))
	return s[(len(s)-1)/2]
}

// sender returns a function that sends a portion over a new connection and waits until the other side has all of it. It
// returns the seconds that this took, and the seconds of this process's processor time. A portion sent before, which
// brings the connection up to speed, does not count.
func (w way) sender(b *testing.B) func() (took, cost float64) {
	b.Helper()
	w.server(b, func(c net.Conn) {
		defer func() { _ = c.Close() }()
		for {
			if _, err := io.CopyN(io.Discard, c, portion); err != nil {
				return
			}
			if _, err := c.Write([]byte{1}); err != nil {
				return
			}
		}
	})

	block := make([]byte, 1<<20)
	return func() (took, cost float64) {
		c := w.call(b)
		defer func() { _ = c.Close() }()
		for range 2 {
			took, cost = send(b, c, block)
		}
		return took, cost
	}
}

// send sends a portion and waits for the other side's answer.
func send(b *testing.B, c net.Conn, block []byte) (took, cost float64) {
	b.Helper()
	started, before := time.Now(), processor(b)
	for range portion / len(block) {
		if _, err := c.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	return time.Since(started).Seconds(), (processor(b) - before).Seconds()
}

// processor returns the time that this process took of all processors: the kernel's work for a veth pair is done on it,
// so it says what a byte costs also where other programs run.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkConnect opens a connection of each way in turn; the time ends with the server's answer. The cost of a way is
// the median of the differences within the rounds.
func BenchmarkConnect(b *testing.B) {
	all, connects := ways(b), map[string]func() float64{}
	for _, name := range order {
		connects[name] = all[name].connecter(b)
	}

	took, added := map[string][]float64{}, map[string][]float64{}
	for i := 0; b.Loop(); i++ {
		for _, name := range rotated(i) {
			took[name] = append(took[name], connects[name]())
		}
		for _, name := range order {
			if base := comparedWith(name); base != "" {
				added[name] = append(added[name], took[name][i]-took[base][i])
			}
		}
	}

	for _, name := range order {
		b.ReportMetric(median(took[name]), name+"-median-µs")
		if len(added[name]) > 0 {
			b.ReportMetric(median(added[name]), name+"-added-µs")
		}
	}
}

// connecter returns a function that opens a connection and returns how many microseconds that took. One thread stays in
// the network namespace for it.
func (w way) connecter(b *testing.B) func() float64 {
	b.Helper()
	w.server(b, func(c net.Conn) { _, _ = c.Write([]byte{1}); _ = c.Close() })
	begin := make(chan struct{})
	done := make(chan float64)
	failed := make(chan error, 1)
	b.Cleanup(func() { close(begin) })

	go func() {
		failed <- netns.Do(w.from, func() error {
			one := make([]byte, 1)
			for range begin {
				start := time.Now()
				c, err := net.DialTimeout("tcp4", w.dial, 5*time.Second)
				if err != nil {
					return err
				}
				if _, err := c.Read(one); err != nil {
					return err
				}

				done <- float64(time.Since(start).Nanoseconds()) / 1000
				_ = c.Close()
			}

			return nil
		})
	}()

	return func() float64 {
		begin <- struct{}{}
		select {
		case took := <-done:
			return took
		case err := <-failed:
			b.Fatal(err)
			return 0
		}
	}
}

// BenchmarkChange changes one load balancer among 10 to 5000.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{10, 1000, 5000} {
		b.Run(fmt.Sprintf("of-%d", n), func(b *testing.B) {
			p := benchHost(b)
			if err := p.Apply(b.Context(), services(n)); err != nil {
				b.Fatal(err)
			}

			var took []time.Duration
			for b.Loop() {
				lb := service(len(took) % 10)
				lb.Backends = lb.Backends[:1+len(took)%4]
				start := time.Now()
				if err := p.ApplyChange(b.Context(),
					netplan.Change{Set: netplan.Plan{LoadBalancers: []netplan.LoadBalancer{lb}}}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}

			b.ReportMetric(float64(median(took).Nanoseconds())/1000, "median-µs")
		})
	}
}

// BenchmarkNew makes load balancers among 1000, as many in one step as kube-proxy's first synchronisation has, and
// removes them.
func BenchmarkNew(b *testing.B) {
	for _, n := range []int{1, 16} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			p := benchHost(b)
			if err := p.Apply(b.Context(), services(1000)); err != nil {
				b.Fatal(err)
			}

			var took []time.Duration
			for b.Loop() {
				var made netplan.Plan
				var ids []string
				for i := range n {
					lb := service(2000 + i)
					made.LoadBalancers, ids = append(made.LoadBalancers, lb), append(ids, lb.ID)
				}

				start := time.Now()
				if err := p.ApplyChange(b.Context(), netplan.Change{Set: made}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
				var gone netplan.Change
				gone.Removed.LoadBalancers = ids
				if err := p.ApplyChange(b.Context(), gone); err != nil {
					b.Fatal(err)
				}
			}

			b.ReportMetric(float64(median(took).Nanoseconds())/1000, "median-µs")
		})
	}
}

// BenchmarkDifferences looks for differences where nobody changed anything, as the service does every few seconds.
func BenchmarkDifferences(b *testing.B) {
	p, plan := benchHost(b), services(5000)
	if err := p.Apply(b.Context(), plan); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if found, err := p.Differences(b.Context(), plan); err != nil || len(found) > 0 {
			b.Fatal(found, err)
		}
	}
}
