//go:build !linux

package winhost

import (
	"context"
	"errors"
	"os/exec"
)

// PID needs Linux.
func (h Host) PID() (int, error) { return 0, errors.ErrUnsupported }

// Ready needs Linux.
func (h Host) Ready(context.Context) error { return errors.ErrUnsupported }

// StartInit needs Linux.
func (h Host) StartInit(context.Context, *exec.Cmd) error { return errors.ErrUnsupported }

// Init needs Linux.
func Init(Host) error { return errors.ErrUnsupported }

// Start needs Linux.
func (h Host) Start(context.Context, *exec.Cmd) error { return errors.ErrUnsupported }

// StartCommand needs Linux.
func (h Host) StartCommand(context.Context, *exec.Cmd) error { return errors.ErrUnsupported }

// Run needs Linux.
func (h Host) Run(context.Context, *exec.Cmd) error { return errors.ErrUnsupported }

// Output needs Linux.
func (h Host) Output(context.Context, []byte, []string, string, ...string) ([]byte, error) {
	return nil, errors.ErrUnsupported
}

// Command needs Linux.
func (h Host) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, program, args...)
}
