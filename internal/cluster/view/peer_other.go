//go:build !linux

package view

import (
	"errors"
	"net"
)

// peerOf needs Linux.
func peerOf(net.Conn) (peer, error) { return peer{}, errors.ErrUnsupported }
