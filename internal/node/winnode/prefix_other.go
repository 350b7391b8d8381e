//go:build !linux

package winnode

import (
	"context"
	"errors"

	"mullion.dev/mullion/internal/process/component"
)

type prefix struct{ Config }

// ID implements component.Component.
func (p *prefix) ID() component.ID { return p.Unit("prefix") }

// Start needs Linux.
func (p *prefix) Start(context.Context) error { return errors.ErrUnsupported }

// Stop needs Linux.
func (p *prefix) Stop(context.Context) error { return errors.ErrUnsupported }
