//go:build !windows

package winnet

import "errors"

// Routes fails: only Windows has routes of Windows.
func Routes() ([]Route, error) { return nil, errors.ErrUnsupported }

// Sockets fails, as Routes.
func Sockets() ([]Socket, error) { return nil, errors.ErrUnsupported }

// Count fails, as Routes.
func Count() (Traffic, error) { return Traffic{}, errors.ErrUnsupported }

// CountProtocols fails, as Routes.
func CountProtocols(bool) (Protocols, error) { return Protocols{}, errors.ErrUnsupported }
