package kubenode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// Process is a part of a node that is a process. Its files are written before it starts.
type Process struct {
	*proc.Process
	// Complete, unless nil, is called when the process is ready; the start is over when it returns.
	Complete func(context.Context) error
	// Halted, unless nil, is asked by Probe first: its error says that somebody has stopped what the process keeps.
	Halted func() error
	// Kept, unless nil, returns the processes that the process keeps, which are paused with it.
	Kept func() ([]int, error)
	// Health, unless nil, is asked by Probe, beside whether the process is ready.
	Health func(context.Context) error

	logDir string
	write  func() error
}

// Process makes the node's part of that name. The ID, the marker and the log of the specification are filled in.
// write, unless nil, writes the files of the process before it starts.
func (c Config) Process(part string, s proc.Spec, write func() error) *Process {
	s.ID, s.Marker = c.Unit(part), c.Marker
	s.LogPath = filepath.Join(c.LogDir, part, c.Name+".log")
	return &Process{
		Process: proc.New(s),
		logDir:  filepath.Dir(s.LogPath),
		write:   write,
	}
}

// PrepareError says that a part of a node was not started, because its files were not written.
type PrepareError struct {
	Part component.ID
	Err  error
}

func (e *PrepareError) Error() string { return fmt.Sprintf("prepare %s: %v", e.Part, e.Err) }

// Unwrap gives the cause.
func (e *PrepareError) Unwrap() error { return e.Err }

// Start writes the files, starts the process and completes it.
func (p *Process) Start(ctx context.Context) error {
	if err := p.prepare(); err != nil {
		return &PrepareError{Part: p.ID(), Err: err}
	}
	if err := p.Process.Start(ctx); err != nil || p.Complete == nil {
		return err
	}
	if err := p.Complete(ctx); err != nil {
		return fmt.Errorf("complete %s: %w", p.ID(), err)
	}
	return nil
}

func (p *Process) prepare() error {
	if err := os.MkdirAll(p.logDir, 0o700); err != nil || p.write == nil {
		return err
	}
	return p.write()
}

// Pause makes the process, and those that it keeps, stand still; resume lets them go on. One that ends meanwhile is
// forgotten.
func (p *Process) Pause() (resume func() error, err error) {
	resume, err = p.Process.Pause()
	if err != nil || p.Kept == nil {
		return resume, err
	}
	pids, err := p.Kept()
	if err != nil {
		return nil, errors.Join(err, resume())
	}

	var kept []*os.Process
	for _, pid := range pids {
		if one, err := os.FindProcess(pid); err == nil && one.Signal(unix.SIGSTOP) == nil {
			kept = append(kept, one)
		}
	}

	return func() error {
		for _, one := range kept {
			_ = one.Signal(unix.SIGCONT) // it may have ended
		}
		return resume()
	}, nil
}

// Probe implements component.Prober.
func (p *Process) Probe(ctx context.Context) error {
	if p.Halted != nil {
		if err := p.Halted(); err != nil {
			return err
		}
	}
	if err := p.Process.Probe(ctx); err != nil || p.Health == nil {
		return err
	}
	return p.Health(ctx)
}
