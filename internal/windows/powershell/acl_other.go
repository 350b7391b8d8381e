//go:build !windows

package powershell

import "errors"

// readACL asks Windows; elsewhere the package is only tested.
func readACL(string) (acl, error) { return acl{}, errors.ErrUnsupported }
