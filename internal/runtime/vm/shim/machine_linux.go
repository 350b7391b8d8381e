package shim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/ttrpc"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/vm"
	"mullion.dev/mullion/internal/runtime/vm/link"
	"mullion.dev/mullion/internal/runtime/vm/qemu"
	"mullion.dev/mullion/internal/runtime/vm/vmnet"
)

// machine is a machine that runs, or has run.
type machine struct {
	id   string
	spec vm.Spec
	qemu *qemu.Machine
	host *link.Host
	// tasks is the task API of the guest.
	tasks taskapi.TTRPCTaskService
	ports net.Listener
	began time.Time

	mu      sync.Mutex
	endedAt time.Time
	numbers int
}

// bootTimeout is how long a guest may take until its agent answers. With KVM it takes a second or two, emulated on a
// busy machine a minute.
const bootTimeout = 3 * time.Minute

// boot starts a machine and returns when its guest can run containers. If it returns an error, nothing is left.
func boot(ctx context.Context, id string, spec vm.Spec) (*machine, error) {
	var undo cleanup.Stack
	defer func() { _ = undo.Clean() }()
	undo.Add(func() error { return removeMachine(spec) })
	if err := setOOMScore(spec.OOMScore); err != nil {
		return nil, err
	}
	if err := makeDirs(spec); err != nil {
		return nil, fmt.Errorf("make the machine's folder: %w", err)
	}

	taps, interfaces, err := vmnet.Attach(spec.NetNS)
	if err != nil {
		return nil, err
	}
	var macs []string
	for _, i := range interfaces {
		macs = append(macs, i.MAC)
	}

	m := &machine{
		id:    id,
		spec:  spec,
		began: time.Now(),
	}
	m.qemu, err = qemu.Start(qemu.Options{
		Parts: spec.Parts, Accelerator: spec.Accelerator, User: spec.User, Initrd: spec.Initrd, Dir: spec.Dir,
		Share: spec.Share(), CPUs: spec.CPUs, Memory: spec.Memory, Taps: taps, MACs: macs,
	})

	for _, tap := range taps {
		err = errors.Join(err, tap.Close())
	}

	if m.qemu != nil {
		undo.Add(func() error { m.qemu.Kill(); return nil })
	}

	if err != nil {
		return nil, err
	}
	if m.host, err = link.NewHost(m.qemu.Channel); err != nil {
		return nil, err
	}

	undo.Add(m.host.Close)
	if err := m.greet(ctx, &link.Config{Hostname: spec.Hostname, Interfaces: interfaces}); err != nil {
		return nil, fmt.Errorf("%w; its console: %s", err, m.qemu.Log())
	}
	if m.ports, err = m.servePorts(); err != nil {
		return nil, err
	}

	go m.watch()
	undo.Release()
	return m, nil
}

// setOOMScore sets how soon Linux kills this process, and the machine's that it starts, when there is no memory left.
// Otherwise they had containerd's score, which keeps them to the last.
func setOOMScore(score int) error {
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(score)), 0); err != nil {
		return fmt.Errorf("set when the machine is killed for lack of memory: %w", err)
	}
	return nil
}

// greet waits for the guest's agent, configures the guest and connects to its task API.
func (m *machine) greet(ctx context.Context, c *link.Config) error {
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, m.qemu.Kill)() // which ends the link
	configured, err := m.host.OpenWithin(link.Request{Kind: link.Configure, Config: c}, bootTimeout)
	if err != nil {
		return fmt.Errorf("boot the guest: %w", errors.Join(err, ctx.Err()))
	}

	_ = configured.Close()
	tasks, err := m.host.Open(link.Request{Kind: link.Tasks})
	if err != nil {
		return err
	}
	m.tasks = taskapi.NewTTRPCTaskClient(ttrpc.NewClient(tasks))
	return nil
}

// watch notes when the machine ends.
func (m *machine) watch() {
	<-m.qemu.Ended
	m.mu.Lock()
	m.endedAt = time.Now()
	m.mu.Unlock()
	_, _ = m.host.Close(), m.ports.Close() // which end whatever waits for the guest
}

// ended returns when the machine ended; the zero time if it runs.
func (m *machine) ended() time.Time {
	select {
	case <-m.qemu.Ended:
	default:
		return time.Time{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.endedAt.IsZero() { // watch is about to note it
		m.endedAt = time.Now()
	}
	return m.endedAt
}

// number returns another number for each call.
func (m *machine) number() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.numbers++
	return m.numbers
}

// remove ends the machine and removes its folder.
func (m *machine) remove() error {
	m.qemu.Kill()
	return removeMachine(m.spec)
}

// servePorts lets others connect to ports of the guest.
func (m *machine) servePorts() (net.Listener, error) {
	l, err := net.Listen("unix", m.spec.PortSocket()) // watch closes it.
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(m.spec.PortSocket(), 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}

	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go m.servePort(conn)
		}
	}()

	return l, nil
}

func (m *machine) servePort(conn net.Conn) {
	defer conn.Close()
	r, err := link.ReadRequest(conn)
	if err != nil {
		return
	}
	stream, err := m.host.Open(link.Request{Kind: link.Dial, Port: r.Port})
	if link.Reply(conn, err) != nil || err != nil {
		return
	}
	link.Join(conn, stream)
}
