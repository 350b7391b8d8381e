//go:build !windows

package main

import "errors"

func space([]string) error { return errors.ErrUnsupported }
