//go:build !windows

package powershell

import (
	"context"
	"errors"

	"mullion.dev/mullion/internal/windows/wire/hostdisk"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

// routes works on Windows only; on other systems the package is only tested.
func routes() ([]route, error) { return nil, errors.ErrUnsupported }

func addRoute(route) error { return errors.ErrUnsupported }

func removeRoute(route) error { return errors.ErrUnsupported }

func askForSMB(context.Context, smbmapping.Request) (smbmapping.Answer, error) {
	return smbmapping.Answer{}, errors.ErrUnsupported
}

func askForDisks(context.Context, hostdisk.Request) (hostdisk.Answer, error) {
	return hostdisk.Answer{}, errors.ErrUnsupported
}

func askForISCSI(context.Context, hostiscsi.Request) (hostiscsi.Answer, error) {
	return hostiscsi.Answer{}, errors.ErrUnsupported
}

func mountVolume(string, string) error { return errors.ErrUnsupported }

func unmountVolume(string) error { return errors.ErrUnsupported }

func forwards() (bool, error) { return false, errors.ErrUnsupported }
