package critest

import (
	"context"
	"fmt"
	"net"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/engine"
)

// MachinesReady says that there are virtual machines; Fail makes it say why not.
func (e *Engine) MachinesReady(context.Context) error {
	return e.calls.do("MachinesReady", "", "", nothing)
}

// StartMachine makes a machine, a container that runs at once.
func (e *Engine) StartMachine(ctx context.Context, m engine.Machine) error {
	c := engine.Container{
		ID:       m.ID,
		Labels:   m.Labels,
		Hostname: m.Hostname,
		NetNS:    m.NetNS,
	}
	return e.calls.do("StartMachine", "", m.ID, func() error {
		e.mu.Lock()
		e.containers[m.ID] = &container{Container: c}
		e.mu.Unlock()
		_, err := e.startTask(m.ID, engine.IO{})
		return err
	})
}

// DialMachine is not there: nothing listens in a fake.
func (e *Engine) DialMachine(_ context.Context, id string, port uint16) (conn net.Conn, err error) {
	err = e.calls.do("DialMachine", "", id, func() error {
		return fmt.Errorf("connect to port %d: %w", port, errdefs.ErrUnavailable)
	})
	return conn, err
}

func nothing() error { return nil }
