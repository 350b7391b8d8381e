//go:build !windows

package powershell

import (
	"context"
	"errors"
)

// services and control work on Windows only; on other systems the package is only tested.
func services() ([]service, error) { return nil, errors.ErrUnsupported }

func control(context.Context, string, string, bool) error { return errors.ErrUnsupported }
