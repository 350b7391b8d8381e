package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/process/component"
)

// DockerPorts is the component that leads ports of the machine to those that the containers of Docker's engine publish
// on the engine's host. It asks the engine which ones there are, at first and whenever a container starts or ends.
type DockerPorts struct {
	// Node is the engine's host, Host the host's address on the underlay, which the machine reaches.
	Node string
	Host netip.Addr
	// At is the machine's address at which the ports are.
	At netip.Addr
	// Dial connects to the engine's API.
	Dial func(context.Context) (net.Conn, error)
	Log  *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup

	looking sync.Mutex // held while a list is asked for and carried out, so that no older one undoes a newer

	mu     sync.Mutex
	open   map[dockerPort]io.Closer
	failed map[dockerPort]error
}

// dockerPort is a port that a container publishes: the one that dockerd gave it on the engine's host.
type dockerPort struct {
	Type string // tcp or udp
	Port uint16
}

func (p dockerPort) String() string { return fmt.Sprintf("%d/%s", p.Port, p.Type) }

const (
	// mostDockerPorts bounds the ports that are open at a time.
	mostDockerPorts = 4096
	// dockerPause is the time between two attempts to reach the engine.
	dockerPause = time.Second
	// dockerRetry is the time between two attempts to open ports that other programs have.
	dockerRetry = 3 * time.Second
	// dockerPatience bounds the answer with the list of containers.
	dockerPatience = 30 * time.Second
)

// ID implements component.Component.
func (d *DockerPorts) ID() component.ID { return component.OfNode("ports", d.Node) }

// Start opens the ports that are published, and goes on to do so until Stop.
func (d *DockerPorts) Start(ctx context.Context) error {
	d.open, d.failed = map[dockerPort]io.Closer{}, map[dockerPort]error{}
	if err := d.look(ctx); err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel = cancel
	d.done.Go(func() { d.follow(run) })
	d.done.Go(func() { d.retry(run) })
	return nil
}

// Stop closes all ports.
func (d *DockerPorts) Stop(ctx context.Context) error {
	if d.cancel == nil {
		return nil
	}
	d.cancel()
	d.cancel = nil
	d.done.Wait()
	d.settle(ctx, nil)
	return nil
}

// Describe implements component.Describer: it says which ports are open, and which could not be opened.
func (d *DockerPorts) Describe() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var open, failed []string
	for _, p := range slices.SortedFunc(maps.Keys(d.open), compareDockerPorts) {
		open = append(open, p.String())
	}
	for _, p := range slices.SortedFunc(maps.Keys(d.failed), compareDockerPorts) {
		failed = append(failed, fmt.Sprintf("not %s: %v", p, d.failed[p]))
	}
	if len(open)+len(failed) == 0 {
		return ""
	}
	return fmt.Sprintf("published at %s: %s", d.At, strings.Join(append(open, failed...), ", "))
}

func compareDockerPorts(a, b dockerPort) int {
	if a.Port != b.Port {
		return int(a.Port) - int(b.Port)
	}
	return strings.Compare(a.Type, b.Type)
}

// follow keeps the ports as the containers publish them. While the engine does not answer they stay.
func (d *DockerPorts) follow(ctx context.Context) {
	for told := ""; ctx.Err() == nil; {
		err := d.watch(ctx)
		if err != nil && err.Error() != told && ctx.Err() == nil {
			told = err.Error()
			d.Log.Warn("ask Docker's engine for published ports", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(dockerPause):
		}
	}
}

// retry looks again while there are ports that could not be opened: no event tells that another program has ended.
func (d *DockerPorts) retry(ctx context.Context) {
	again := time.NewTicker(dockerRetry)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}

		d.mu.Lock()
		failed := len(d.failed)
		d.mu.Unlock()
		if failed == 0 {
			continue
		}
		if err := d.look(ctx); err != nil {
			d.Log.Debug("ask Docker's engine for ports that are not open", "error", err)
		}
	}
}

// watch looks whenever the engine tells that a container has started or ended, until the engine tells no more.
func (d *DockerPorts) watch(ctx context.Context) error {
	filters := `{"type":["container"],"event":["start","die","restart","rename","destroy"]}`
	answer, err := d.client().Open(ctx, http.MethodGet, "/events?filters="+url.QueryEscape(filters))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := d.look(ctx); err != nil { // what came before the first event
		return err
	}

	events := json.NewDecoder(answer.Body)
	for {
		var event struct{} // any says: look
		if err := events.Decode(&event); err != nil {
			return err
		}
		if err := d.look(ctx); err != nil {
			return err
		}
	}
}

// look opens and closes ports as the containers that run publish them.
func (d *DockerPorts) look(ctx context.Context) error {
	d.looking.Lock()
	defer d.looking.Unlock()

	var containers []struct {
		Ports []struct {
			PublicPort uint16
			Type       string
		}
	}
	if err := d.client().Call(ctx, http.MethodGet, "/containers/json", &containers); err != nil {
		return err
	}

	want := map[dockerPort]bool{}
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.PublicPort != 0 && (p.Type == "tcp" || p.Type == "udp") && len(want) < mostDockerPorts {
				want[dockerPort{p.Type, p.PublicPort}] = true
			}
		}
	}

	d.settle(ctx, want)
	return nil
}

// client speaks to the engine.
func (d *DockerPorts) client() *unixsocket.Client {
	return unixsocket.NewClientBy(d.Dial, dockerPatience)
}

// settle has the wanted ports open, and no other. One that another program has is tried again at the next look, which
// is soon (retry).
func (d *DockerPorts) settle(ctx context.Context, want map[dockerPort]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p, opened := range d.open {
		if !want[p] {
			_ = opened.Close() // its port is free again whatever it says
			delete(d.open, p)
		}
	}

	before := d.failed
	d.failed = map[dockerPort]error{}
	for p := range want {
		if d.open[p] != nil {
			continue
		}
		opened, err := d.publish(ctx, p)
		if err == nil {
			d.open[p] = opened
			continue
		}

		d.failed[p] = err
		if before[p] == nil {
			d.Log.Warn("a port that a container publishes is not open on this machine", "port", p.String(), "error", err)
		}
	}
}

// publish opens a port of the machine that leads to the same one of the host.
func (d *DockerPorts) publish(ctx context.Context, p dockerPort) (io.Closer, error) {
	at, to := netip.AddrPortFrom(d.At, p.Port), netip.AddrPortFrom(d.Host, p.Port)
	if p.Type == "udp" {
		return startDatagrams(ctx, at, to, d.Log)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.String())
	if err != nil {
		return nil, inUse(err)
	}
	return closer(startRelay(ctx, l, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{Timeout: dockerPatience}).DialContext(ctx, "tcp", to.String())
	}, d.Log).close), nil
}

// inUse says in few words that another program has a port.
func inUse(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return errors.New("another program of this machine has it")
	}
	return err
}

// closer is a function that closes something.
type closer func() error

// Close calls it.
func (c closer) Close() error { return c() }
