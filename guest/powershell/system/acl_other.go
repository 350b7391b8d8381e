//go:build !windows

package system

import "errors"

// readACL works on Windows only; on other systems the package is only tested.
func readACL(string) (ACL, error) { return ACL{}, errors.ErrUnsupported }

// parseACL fails, as readACL.
func parseACL(string) (ACL, error) { return ACL{}, errors.ErrUnsupported }
