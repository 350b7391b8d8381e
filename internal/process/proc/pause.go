package proc

import (
	"errors"
	"fmt"
	"os"
)

// ErrNotRunning is Pause's error if there is no child.
var ErrNotRunning = errors.New("it does not run")

// Pause makes the child stand still; resume lets it go on. If the child has ended meanwhile, resume does nothing and
// returns no error; a child that was started in its place was not paused. Call resume before Stop: a paused child takes
// no signal but SIGKILL.
func (p *Process) Pause() (resume func() error, err error) {
	p.mu.Lock()
	child := p.child
	p.mu.Unlock()
	if child == nil {
		return nil, fmt.Errorf("pause process %q: %w", p.spec.ID, ErrNotRunning)
	}
	if err := signalPause(child.cmd.Process); err != nil {
		return nil, fmt.Errorf("pause process %q: %w", p.spec.ID, err)
	}

	return func() error {
		if err := signalResume(child.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("let process %q go on: %w", p.spec.ID, err)
		}
		return nil
	}, nil
}
