//go:build !windows

package token

import "errors"

// Current fails: only Windows has access tokens.
func Current() (Identity, error) { return Identity{}, errors.ErrUnsupported }
