package nat

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// UserID is the id of the user and of the group that mullion-nat runs as; no account has it.
const UserID = 65531

// Bounds of mullion-nat: what it takes beyond them it does without, or is started again. A container alone does not
// take so much memory. What waits in its sockets of the machine Linux counts as memory of the cgroup, which has both
// bounds together, or apart (cgroup v1).
const (
	mostMemory  = wire.Memory
	mostSockets = 256 << 20
	mostFiles   = 1 << 16
)

// mostProcessors returns how many processors the gateway may keep busy, as containers decide how busy it is: half of
// them.
func mostProcessors() int { return max(1, runtime.NumCPU()/2) }

// askPatience bounds the wait for an answer, which takes no time unless the machine is loaded.
const askPatience = 20 * time.Second

// endPatience is how long mullion-nat may take to end when its engine is gone.
const endPatience = 5 * time.Second

// process is a mullion-nat that runs.
type process struct {
	conn  *wire.Conn
	cmd   *exec.Cmd
	began time.Time
	ended chan struct{} // closed when it has ended, of err
	err   error
}

// start starts mullion-nat: as a user without rights, in the machine's network, where its sockets are.
func start(cfg Config) (*process, error) {
	// Its user may not be able to walk to the program.
	program, err := os.Open(cfg.Program)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	conn, other, err := wire.Pair()
	if err != nil {
		return nil, err
	}

	defer other.Close()

	p := &process{
		conn:  conn,
		began: time.Now(),
		ended: make(chan struct{}),
	}

	p.cmd = exec.Command("/proc/self/fd/4") // the second of ExtraFiles
	p.cmd.Args = []string{"mullion-nat"}
	p.cmd.Env = []string{}
	p.cmd.Dir = "/"
	p.cmd.ExtraFiles = []*os.File{other, program}
	if cfg.Output != nil {
		p.cmd.Stdout, p.cmd.Stderr = cfg.Output, cfg.Output
	}

	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: UserID, Gid: UserID},
		Cloneflags: unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  unix.SIGKILL,
	}

	started := make(chan error, 1)
	go func() {
		defer close(p.ended)
		// The thread that starts a process has to outlive it: its end is the signal.
		p.err = netns.OnThread(func() error {
			err := p.begin(cfg)
			started <- err
			if err != nil {
				return err
			}
			return p.cmd.Wait()
		})
	}()

	if err := <-started; err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return p, nil
}

// begin starts the process in its cgroup, with its limits, on a thread that ends with it.
func (p *process) begin(cfg Config) error {
	if cfg.Cgroup != "" {
		if err := limit(cfg); err != nil {
			return err
		}
		file, err := cgroup.Place(p.cmd, cfg.Cgroup)
		if err != nil {
			return err
		}

		if file != nil {
			defer file.Close()
		}
	}

	// This affects the calling thread, which serves only this child.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	// With fewer it works too.
	_ = unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: mostFiles, Max: mostFiles}, nil)

	return nil
}

// limit makes the cgroup with its limits. A machine that lacks one of them has the others, and the log says so.
func limit(cfg Config) error {
	if err := cgroup.Make(cfg.Cgroup); err != nil {
		return err
	}

	for _, err := range []error{
		cgroup.LimitMemory(cfg.Cgroup, mostMemory+mostSockets),
		cgroup.LimitSockets(cfg.Cgroup, mostSockets),
		cgroup.LimitCPU(cfg.Cgroup, int64(mostProcessors())*100_000),
	} {
		if err != nil && !errors.Is(err, cgroup.ErrNoController) {
			return err
		}
		if err != nil {
			cfg.Log.Warn("the gateway of the network runs without a limit that it should have", "error", err)
		}
	}

	return nil
}

// runs reports whether the process has not ended.
func (p *process) runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// end ends the process: its engine is gone.
func (p *process) end() error {
	err := p.conn.Close()
	select {
	case <-p.ended:
	case <-time.After(endPatience):
		err = errors.Join(err, p.cmd.Process.Kill())
		<-p.ended
	}
	return err
}

// ask sends a request, and waits until it is carried out. A process that does not take it or does not answer is killed:
// an answer that comes later would be taken for that to the next request. Whoever watches it starts another.
func (p *process) ask(r wire.Request, file syscall.Conn) error {
	var a wire.Answer
	err := p.exchange(r, file, &a)
	switch {
	case errors.Is(err, wire.ErrTooLong): // nothing was sent
		return fmt.Errorf("ask the gateway: %w", err)
	case err != nil:
		_ = p.cmd.Process.Kill() // else it has ended
		<-p.ended
		return fmt.Errorf("ask the gateway: %w", err)
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}

func (p *process) exchange(r wire.Request, file syscall.Conn, a *wire.Answer) error {
	if err := p.conn.SetDeadline(time.Now().Add(askPatience)); err != nil {
		return err
	}
	if err := p.conn.Send(r, file); err != nil {
		return err
	}
	_, err := p.conn.Receive(a)
	return err
}

// attach tells of a member, with its ports.
func (p *process) attach(m *Member) error {
	err := p.ask(wire.Request{Attach: &wire.Attach{
		ID:    m.ID,
		Addr:  m.Addr,
		MAC:   macOf(m.Addr).String(),
		MTU:   mtu,
		Names: m.Names,
	}}, m.tap)

	for i, s := range m.sockets {
		if err != nil {
			break
		}
		port := m.Ports[i]
		err = p.ask(wire.Request{Publish: &wire.Publish{
			ID:       m.ID,
			Protocol: port.Protocol,
			Port:     port.Container,
		}}, s)
	}

	return err
}
