//go:build !windows

package system

import (
	"errors"
	"net/netip"
)

func echo(netip.Addr, Ping) (Echo, error) { return Echo{}, errors.ErrUnsupported }
