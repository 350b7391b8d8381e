//go:build !windows

package powershell

import "errors"

// routes works on Windows only; on other systems the package is only tested.
func routes() ([]route, error) { return nil, errors.ErrUnsupported }

func addRoute(route) error { return errors.ErrUnsupported }

func removeRoute(route) error { return errors.ErrUnsupported }

func forwards() (bool, error) { return false, errors.ErrUnsupported }
