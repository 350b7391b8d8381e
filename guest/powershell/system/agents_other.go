//go:build !windows

package system

import (
	"context"
	"errors"

	"mullion.dev/mullion/internal/windows/wire/hostdisk"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

func askForSMB(context.Context, smbmapping.Request) (smbmapping.Answer, error) {
	return smbmapping.Answer{}, errors.ErrUnsupported
}

func askForDisks(context.Context, hostdisk.Request) (hostdisk.Answer, error) {
	return hostdisk.Answer{}, errors.ErrUnsupported
}

func askForISCSI(context.Context, hostiscsi.Request) (hostiscsi.Answer, error) {
	return hostiscsi.Answer{}, errors.ErrUnsupported
}
