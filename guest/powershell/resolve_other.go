//go:build !windows

package powershell

import "errors"

// resolve works on Windows only; on other systems the package is only tested.
func resolve(string, uint16) ([]dnsRecord, error) { return nil, errors.ErrUnsupported }
