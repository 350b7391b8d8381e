package winnode

import (
	"context"
	"sync/atomic"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/windows/wine"
)

// SystemLayer is the component that prepares the Wine system layer which all hosts and containers share.
type SystemLayer struct {
	options wine.Options
	system  atomic.Pointer[wine.System]
}

// NewSystemLayer returns the component; nothing happens until Start.
func NewSystemLayer(o wine.Options) *SystemLayer { return &SystemLayer{options: o} }

// ID implements component.Component.
func (s *SystemLayer) ID() component.ID { return component.Sole("wine") }

// Start prepares the layer, or finds the one that is there.
func (s *SystemLayer) Start(ctx context.Context) error {
	system, err := wine.Prepare(ctx, s.options)
	if err != nil {
		return err
	}
	s.system.Store(system)
	return nil
}

// Stop does nothing: the layer is files.
func (s *SystemLayer) Stop(context.Context) error { return nil }

// System returns the layer, nil before Start.
func (s *SystemLayer) System() *wine.System { return s.system.Load() }
