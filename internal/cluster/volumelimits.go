package cluster

import (
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/runtime/emptydirs"
	"mullion.dev/mullion/internal/runtime/volumelimits"
	"mullion.dev/mullion/internal/windows/wine"
)

// volumeLimits adds what holds the emptyDirs on the machine's Windows nodes to their limits. A machine that joined has
// the rights of its nodes.
func (c *composer) volumeLimits() error {
	var nodes []volumelimits.Node
	for _, h := range c.Hosts {
		client := c.access.client
		if c.Spec.Join != nil {
			client = func() (kubeclient.Interface, error) { return c.access.nodes.Client(h.Name) }
		}
		nodes = append(nodes, volumelimits.Node{
			Name:   h.Name,
			Drive:  wine.Drive(HostPrefix(c.Paths, h.Name)),
			Client: client,
		})
	}
	if len(nodes) > 0 {
		c.addOfNodes(limitsUnit{&volumelimits.Limits{
			Nodes:    nodes,
			Bound:    emptydirs.DefaultBound(),
			Patience: volumelimits.DefaultPatience,
			Log:      c.log,
		}}, c.access.machine...)
	}

	return nil
}

// limitsUnit is a unit: the runtime does not know what a unit is.
type limitsUnit struct{ *volumelimits.Limits }

// ID implements component.Component.
func (limitsUnit) ID() component.ID { return component.Sole(volumelimits.Unit) }
