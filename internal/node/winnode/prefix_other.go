//go:build !linux

package winnode

import (
	"context"
	"errors"
)

type prefix struct{ Config }

// Name is the component's name.
func (p *prefix) Name() string { return p.Unit("prefix") }

// Start needs Linux.
func (p *prefix) Start(context.Context) error { return errors.ErrUnsupported }

// Stop needs Linux.
func (p *prefix) Stop(context.Context) error { return errors.ErrUnsupported }
