//go:build !windows

package powershell

import "errors"

// readACL works on Windows only; on other systems the package is only tested.
func readACL(string) (acl, error) { return acl{}, errors.ErrUnsupported }

// parseACL fails, as readACL.
func parseACL(string) (acl, error) { return acl{}, errors.ErrUnsupported }
