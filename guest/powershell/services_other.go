//go:build !windows

package powershell

import (
	"context"
	"errors"
)

// services and the functions below work on Windows only; on other systems the package is only tested.
func services() ([]service, error) { return nil, errors.ErrUnsupported }

func createService(serviceChange) error { return errors.ErrUnsupported }

func changeService(serviceChange) error { return errors.ErrUnsupported }

func control(context.Context, string, string, bool) error { return errors.ErrUnsupported }
