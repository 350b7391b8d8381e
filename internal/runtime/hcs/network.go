package hcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/runtime/cri"
)

// Network is a namespace of HNS.
type Network struct {
	// NetNS is the path of its network namespace.
	NetNS string
	// DNS is how names are resolved in it.
	DNS cri.DNS
}

// Networks are the namespaces of HNS.
type Networks interface {
	// Find finds a namespace.
	Find(ctx context.Context, namespace string) (Network, error)
	// Make makes a namespace, whose GUID the caller has chosen, for a compute system.
	Make(ctx context.Context, namespace, system string) error
	// Attach puts an endpoint into a namespace.
	Attach(ctx context.Context, namespace, endpoint string) error
	// Detach takes an endpoint out of a namespace.
	Detach(ctx context.Context, namespace, endpoint string) error
	// Remove removes a namespace, whose endpoints stay. One that is gone is no error.
	Remove(ctx context.Context, namespace string) error
}

// join gives a compute system its network: the namespace that its document names, that of another compute system, or
// one of its own with the endpoints that the document names. By version 1 it has one of its own also without endpoints:
// a CNI plugin adds one to it while it runs, and others share it (hcsshim v0.13.0, HotAttachEndpoint; dockershim's pods
// begin with the network "none"). By version 2 it has no network then.
func (c *computeSystem) join(ctx context.Context) (err error) {
	s, n := c.service, &c.doc.Container.Networking
	switch {
	case n.Namespace != "":
		if len(n.NetworkAdapters) > 0 {
			return refuse(NotSupported, "NetworkAdapters beside a Namespace are not supported")
		}

	case n.NetworkSharedContainerName != "":
		other, err := s.find(n.NetworkSharedContainerName)
		if err != nil {
			return err
		}

		n.Namespace = other.namespace()
		if n.Namespace == "" {
			return refuse(InvalidState, "compute system %q has no network to share", other.id)
		}

	case len(n.NetworkAdapters) > 0, c.doc.SchemaVersion.Major == 1:
		if err := c.makeNetwork(ctx, n.NetworkAdapters); err != nil {
			return err
		}
		n.Namespace = c.ownNamespace()
	default:
		return nil
	}

	c.network, err = s.cfg.Networks.Find(ctx, n.Namespace)
	return err
}

// findNetwork finds the network of a compute system of an earlier service, unless it is found or there is none.
func (c *computeSystem) findNetwork(ctx context.Context) (err error) {
	namespace := c.namespace()
	if namespace == "" || c.network.NetNS != "" {
		return nil
	}
	c.network, err = c.service.cfg.Networks.Find(ctx, namespace)
	return err
}

// makeNetwork makes the namespace of a compute system.
func (c *computeSystem) makeNetwork(ctx context.Context, endpoints []string) error {
	networks, own := c.service.cfg.Networks, c.ownNamespace()
	if err := networks.Make(ctx, own, c.id); err != nil {
		return fmt.Errorf("make namespace of compute system: %w", err)
	}
	for _, e := range endpoints {
		if err := networks.Attach(ctx, own, e); err != nil {
			err = fmt.Errorf("attach endpoint %q: %w", e, err)
			return errors.Join(err, networks.Remove(context.WithoutCancel(ctx), own))
		}
	}
	return nil
}

// ownNamespace returns the GUID of the namespace of a compute system that has one of its own: a later service knows it,
// too.
func (c *computeSystem) ownNamespace() string { return guidOf(c.engine) }

// namespace returns the namespace that a compute system is in; "": it is in none.
func (c *computeSystem) namespace() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doc.Container.Networking.Namespace
}

// leave removes the namespace of a compute system, if it is its own.
func (c *computeSystem) leave(ctx context.Context) error {
	if c.namespace() != c.ownNamespace() {
		return nil
	}
	return c.service.cfg.Networks.Remove(ctx, c.ownNamespace())
}

// modifyNetwork puts an endpoint into the namespace of a compute system, or takes it out of it.
func (c *computeSystem) modifyNetwork(ctx context.Context, m modification) error {
	var endpoint string
	if err := json.Unmarshal(m.Settings, &endpoint); err != nil || endpoint == "" {
		return refuse(InvalidJSON, "the network's settings are no endpoint")
	}
	namespace := c.namespace()
	if namespace == "" {
		return refuse(InvalidState, "compute system %q has no network", c.id)
	}

	switch strings.ToLower(m.RequestType) {
	case "add":
		return c.service.cfg.Networks.Attach(ctx, namespace, endpoint)
	case "remove":
		return c.service.cfg.Networks.Detach(ctx, namespace, endpoint)
	}

	return refuse(NotSupported, "the request %q of a network is not supported", m.RequestType)
}
