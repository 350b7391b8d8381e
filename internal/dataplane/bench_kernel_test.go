//go:build kernel

package dataplane_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/dataplane"
	"mullion.dev/mullion/internal/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/netns"
	"mullion.dev/mullion/internal/netplan"
)

// The ways that the benchmarks compare; the program at both ends is the same. vip is that of the first of so many services.
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
		if err := h.ApplyChange(b.Context(), netplan.Change{Set: netplan.Plan{LoadBalancers: []netplan.LoadBalancer{one}}}); err != nil {
			b.Fatal(err)
		}
		all[fmt.Sprintf("clusterip-of-%d", n)] = way{from, to, "10.96.1.0:80", "10.244.1.6:8080"}
	}
	return all
}

// way is from a namespace to a server in another that listens on listen and is called at dial.
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
	command(b, w.from, fmt.Sprintf("exec 3<%s; ip link add eth0 type veth peer name eth0 netns /proc/$$/fd/3; ip link set eth0 up; ip addr add 10.1.0.1/24 dev eth0", w.to))
	command(b, w.to, "ip link set eth0 up; ip addr add 10.1.0.2/24 dev eth0")
	return w
}

func (w way) server(b *testing.B, each func(net.Conn)) {
	b.Helper()
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
	if err := netns.Do(w.from, func() (err error) { c, err = net.DialTimeout("tcp4", w.dial, 5*time.Second); return err }); err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkThroughput sends by one TCP connection.
func BenchmarkThroughput(b *testing.B) {
	all := ways(b)
	for _, name := range order {
		b.Run(name, func(b *testing.B) {
			w := all[name]
			done := make(chan int64, 1)
			w.server(b, func(c net.Conn) { n, _ := io.Copy(io.Discard, c); done <- n })
			c := w.call(b)
			block := make([]byte, 1<<20)
			b.SetBytes(int64(len(block)))
			before := processor(b)
			for b.Loop() {
				if _, err := c.Write(block); err != nil {
					b.Fatal(err)
				}
			}
			_ = c.Close()
			b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(<-done)*(1<<20), "cpu-µs/MiB")
		})
	}
}

// processor is the time that this process took of all processors: the kernel's work for a veth pair is done on it, so it
// says what a byte costs also where other programs run.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkConnect opens connections one after another; a connection counts when the server has answered on it.
func BenchmarkConnect(b *testing.B) {
	all := ways(b)
	for _, name := range order {
		b.Run(name, func(b *testing.B) {
			w := all[name]
			w.server(b, func(c net.Conn) { _, _ = c.Write([]byte{1}); _ = c.Close() })
			var took []time.Duration
			err := netns.Do(w.from, func() error { // one thread that stays inside
				one := make([]byte, 1)
				for b.Loop() {
					start := time.Now()
					c, err := net.DialTimeout("tcp4", w.dial, 5*time.Second)
					if err != nil {
						return err
					}
					if _, err := c.Read(one); err != nil {
						return err
					}
					took = append(took, time.Since(start))
					_ = c.Close()
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(median(took).Nanoseconds())/1000, "median-µs")
		})
	}
}

// BenchmarkChange changes one load balancer among so many.
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
				if err := p.ApplyChange(b.Context(), netplan.Change{Set: netplan.Plan{LoadBalancers: []netplan.LoadBalancer{lb}}}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
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
