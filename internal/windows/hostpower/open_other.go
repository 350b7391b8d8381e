//go:build !linux

package hostpower

import "os"

func open(file string) (*os.File, error) { return os.Open(file) }
