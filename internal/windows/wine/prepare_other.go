//go:build !linux

package wine

import "errors"

func lockFolder(string) (func(), error) { return nil, errors.ErrUnsupported }

func syncTree(string) error { return errors.ErrUnsupported }

func readable(string) error { return errors.ErrUnsupported }
