//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// poll repeats check until it returns no error, or ends the test.
func poll(t *testing.T, within time.Duration, check func(ctx context.Context) error) {
	t.Helper()
	if err := awaited(t.Context(), within, check); err != nil {
		t.Fatal(err)
	}
}

// until does what poll does for a check whose commands have a context of their own.
func until(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	poll(t, within, func(context.Context) error { return check() })
}

// awaited repeats check until it returns no error. After that time, longer by patience, it returns check's last one.
func awaited(ctx context.Context, within time.Duration, check func(ctx context.Context) error) error {
	within *= patience()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()

	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", within, last)
		case <-tick.C:
		}
	}
}

// healthy waits until mullion status finds no problem.
func (c cluster) healthy(t *testing.T) {
	t.Helper()
	poll(t, settle, func(ctx context.Context) error {
		if p := c.status(ctx, t); p.State != "healthy" {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
}

// ended waits until a process is gone.
func (c cluster) ended(t *testing.T, pid int) {
	t.Helper()
	until(t, settle, func() error {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return nil
		}
		return errors.New("the process is still there")
	})
}
