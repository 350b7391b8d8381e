//go:build !linux

package wine

import (
	"errors"
	"os/exec"
)

func lockFolder(string) (func(), error) { return nil, errors.ErrUnsupported }

func syncTree(string) error { return errors.ErrUnsupported }

func readable(string) error { return errors.ErrUnsupported }

func startWithRuntimeDir(*exec.Cmd, string) error { return errors.ErrUnsupported }
