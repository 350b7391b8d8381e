package errtext_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"mullion.dev/mullion/internal/base/errtext"
)

func TestCauses(t *testing.T) {
	told := func(cause error) error { return errors.New("write it: " + cause.Error()) }
	for _, tt := range []struct {
		name string
		of   func(error) bool
		yes  []error
		no   []error
	}{
		{
			name: "disk full",
			of:   errtext.DiskFull,
			yes:  []error{fmt.Errorf("write it: %w", syscall.ENOSPC), told(syscall.ENOSPC)},
			no:   []error{nil, syscall.EIO, told(syscall.ENOENT)},
		},
		{
			name: "not there",
			of:   errtext.NotThere,
			yes:  []error{fmt.Errorf("receive: %w", syscall.ENOENT), told(syscall.ENOENT)},
			no:   []error{nil, syscall.EPERM, told(syscall.ENOSPC)},
		},
		{
			name: "too late",
			of:   errtext.TooLate,
			yes:  []error{errors.New("client rate limiter: rate: Wait(n=1) would exceed context deadline")},
			no:   []error{nil, context.DeadlineExceeded},
		},
	} {
		for _, err := range tt.yes {
			if !tt.of(err) {
				t.Errorf("%s: not of %v", tt.name, err)
			}
		}

		for _, err := range tt.no {
			if tt.of(err) {
				t.Errorf("%s: of %v", tt.name, err)
			}
		}
	}
}
