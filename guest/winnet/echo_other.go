//go:build !windows

package winnet

import (
	"errors"
	"net/netip"
)

// SendEcho fails, as Routes.
func SendEcho(netip.Addr, Ping) (Echo, error) { return Echo{}, errors.ErrUnsupported }
