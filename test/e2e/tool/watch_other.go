//go:build !windows

package main

import "errors"

func watch([]string) error { return errors.ErrUnsupported }
