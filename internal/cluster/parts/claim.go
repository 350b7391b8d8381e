package parts

import (
	"context"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/process/component"
)

// Claim is the component that makes the machine's nodes the owners of its part of the underlay, so that the part is
// given back with the last node.
type Claim struct {
	Client func() (kubeclient.Interface, error)
	// Part is the machine's number, Nodes the names of its nodes.
	Part  int
	Nodes []string
}

// ID implements component.Component.
func (*Claim) ID() component.ID { return component.Sole("claim") }

// Start makes the nodes owners of the claim.
func (c *Claim) Start(ctx context.Context) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	return machines.Own(ctx, client, c.Part, c.Nodes)
}

// Stop does nothing.
func (*Claim) Stop(context.Context) error { return nil }
