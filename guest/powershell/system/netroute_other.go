//go:build !windows

package system

import (
	"errors"
)

// routes works on Windows only; on other systems the package is only tested.
func routes() ([]Route, error) { return nil, errors.ErrUnsupported }

func addRoute(Route) error { return errors.ErrUnsupported }

func removeRoute(Route) error { return errors.ErrUnsupported }

func forwards() (bool, error) { return false, errors.ErrUnsupported }
