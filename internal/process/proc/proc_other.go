//go:build !linux

package proc

import (
	"context"
	"errors"
	"net"
)

func (p *Process) spawn(context.Context, *output) (*child, error) {
	return nil, NoRestart(errors.ErrUnsupported)
}

// InNetns is for Linux only.
func InNetns(string, func() error) error { return errors.ErrUnsupported }

// DialIn is for Linux only.
func DialIn(string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errors.ErrUnsupported }
}

// Labelled is for Linux only.
func Labelled(string) ([]Leftover, error) { return nil, errors.ErrUnsupported }

// Leftovers is for Linux only.
func Leftovers(Mark) ([]Leftover, error) { return nil, errors.ErrUnsupported }

// KillLeftovers is for Linux only.
func KillLeftovers(context.Context, Mark, func(Leftover) bool) ([]Leftover, error) {
	return nil, errors.ErrUnsupported
}

func usageOf(int) usage { return usage{} }
