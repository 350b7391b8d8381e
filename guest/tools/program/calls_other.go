//go:build !windows

package program

import "errors"

// HostName returns the computer's name in DNS, of which only Windows is asked: the programs are Windows programs.
func HostName() string { return "" }

// ComputerName returns the computer's name, of which only Windows is asked.
func ComputerName() string { return "" }

// Count returns 0: only Windows is asked.
func Count(Processors) int { return 0 }

// Adapters returns an error: only Windows is asked.
func Adapters() ([]Adapter, error) { return nil, errors.ErrUnsupported }

// RunOfWine returns an error: only Windows has programs of Wine.
func RunOfWine(Env, string, []string) (int, error) { return 0, errors.ErrUnsupported }
