package parts

import (
	"context"
	"fmt"

	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
)

// IdentityUnit returns the unit that is ready when the node's kubelet has its certificate.
func IdentityUnit(node string) component.ID { return component.OfNode("identity", node) }

// Identity is the component that waits for a kubelet's certificate.
type Identity struct {
	kubenode.Identity
	Node string
}

// ID implements component.Component.
func (i *Identity) ID() component.ID { return IdentityUnit(i.Node) }

// Start waits for the certificate, which the control plane signs when it has seen the kubelet's token.
func (i *Identity) Start(ctx context.Context) error {
	if err := i.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the certificate of node %q: %w", i.Node, err)
	}
	return nil
}

// Stop does nothing.
func (i *Identity) Stop(context.Context) error { return nil }
