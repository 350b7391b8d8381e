//go:build !windows

package system

import "errors"

// resolve works on Windows only; on other systems the package is only tested.
func resolve(string, uint16) ([]DNSRecord, error) { return nil, errors.ErrUnsupported }
