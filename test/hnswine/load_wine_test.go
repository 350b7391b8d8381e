//go:build wine

package hnswine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// poll waits for a condition.
func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 2 minutes: %s", what)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// buildLoad makes C:\hnsload.exe.
func buildLoad(t *testing.T, h *host) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(h.prefix, "drive_c", "hnsload.exe"),
		"./prog")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build hnsload: %v\n%s", err, out)
	}
}

// TestGuest has a Windows program look at containers, then reserve ports of the host and be told of events, while the
// service restarts. What it leaves reserved ends with it: it does the same twice.
func TestGuest(t *testing.T) {
	c := newCluster(t)
	h := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	buildLoad(t, h)
	// First, what the Host Compute Service shows.
	out, err := h.wine(t.Context(), nil, nil, `C:\hnsload.exe`, "containers")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	if want := "c1 Running 4711\nunknown: 0xc037010e\n"; strings.ReplaceAll(string(out), "\r", "") != want {
		t.Errorf("containers: got %q, want %q", out, want)
	}

	waiting := filepath.Join(h.prefix, "drive_c", "waiting.txt")
	for range 2 {
		done := make(chan error, 1)
		go func() {
			_, err := h.wine(t.Context(), nil, nil, `C:\hnsload.exe`, "guest")
			done <- err
		}()
		poll(t, "the program, or its end", func() bool {
			_, err := os.Stat(waiting)
			return err == nil || len(done) > 0
		})

		if len(done) == 0 {
			if err := h.service.Restart(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}

		if err := os.Remove(waiting); err != nil {
			t.Error(err)
		}
	}
}

// TestLoad fills HNS from Windows, call by call, and restarts the service meanwhile: nothing is lost, and the kernel
// follows.
func TestLoad(t *testing.T) {
	const services, each = 400, 4
	c := newCluster(t)
	h := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	buildLoad(t, h)
	network := h.service.Plan().Bridges[0].ID
	type result struct {
		out []byte
		err error
	}

	done := make(chan result, 1)
	go func() {
		out, err := h.wine(t.Context(), nil, nil, `C:\hnsload.exe`, network, fmt.Sprint(services), fmt.Sprint(each))
		done <- result{out, err}
	}()
	poll(t, "a quarter of the load balancers", func() bool { return len(h.service.Plan().LoadBalancers) >= services/4 })
	if err := h.service.Restart(t.Context()); err != nil {
		t.Error(err)
	}

	poll(t, "half of the load balancers", func() bool { return len(h.service.Plan().LoadBalancers) >= services/2 })
	h.stop() // the process that serves goes away, and comes back
	h.start(t)
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}

	t.Log(strings.TrimSpace(string(r.out)))
	h.service.Flush(t.Context())
	plan := h.service.Plan()
	if len(plan.LoadBalancers) != services {
		t.Errorf("%d load balancers, want %d", len(plan.LoadBalancers), services)
	}

	for _, lb := range plan.LoadBalancers {
		if len(lb.Backends) != each {
			t.Errorf("load balancer %s has %d backends, want %d", lb.ID, len(lb.Backends), each)
		}
	}

	if found, err := h.plane.Differences(t.Context(), plan); err != nil || len(found) > 0 {
		t.Errorf("the kernel is not as planned: %q, %v", found, err)
	}
	before := h.reads.Load()
	out, err := h.wine(t.Context(), nil, nil, `C:\hnsload.exe`, "list")
	if err != nil {
		t.Fatal(err)
	}

	t.Log(strings.TrimSpace(string(out)))
	if reads := h.reads.Load() - before; reads > 50 { // of the thousands of objects, none is asked for by itself
		t.Errorf("the server read %d times from the program", reads)
	}
}
