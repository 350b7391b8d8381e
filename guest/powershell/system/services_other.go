//go:build !windows

package system

import (
	"context"
	"errors"
)

// services and the functions below work on Windows only; on other systems the package is only tested.
func services() ([]Service, error) { return nil, errors.ErrUnsupported }

func createService(ServiceChange) error { return errors.ErrUnsupported }

func changeService(ServiceChange) error { return errors.ErrUnsupported }

func control(context.Context, string, string, bool) error { return errors.ErrUnsupported }
