//go:build !windows

package local

import (
	"context"

	"mullion.dev/mullion/internal/winserver"
	"mullion.dev/mullion/internal/winserver/preflight"
)

// Host is none on this system.
func Host() (winserver.Host, error) { return winserver.Host{}, ErrSystem }

// Facts are none on this system.
func Facts(context.Context, Asked) (preflight.Facts, error) { return preflight.Facts{}, ErrSystem }
