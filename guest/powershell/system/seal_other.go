//go:build !windows

package system

import "errors"

func protect([]byte) ([]byte, error) { return nil, errors.ErrUnsupported }

func unprotect([]byte) ([]byte, error) { return nil, errors.ErrUnsupported }
