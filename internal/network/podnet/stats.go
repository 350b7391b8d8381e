package podnet

import (
	"context"
	"errors"
	"fmt"

	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// InterfaceStats counts the traffic of one of a pod's interfaces since it was connected.
type InterfaceStats struct {
	// Name and Endpoint are the name and the GUID of the HNS endpoint.
	Name, Endpoint       string
	RxBytes, TxBytes     uint64
	RxDropped, TxDropped uint64
}

// Stats counts what went through a pod's interfaces, the default one first.
func (n *Network) Stats(ctx context.Context, pod Pod) ([]InterfaceStats, error) {
	endpoints, err := endpointsOf(ctx, n.cfg.HNS, namespaceOf(pod.ID))
	if err != nil {
		return nil, fmt.Errorf("count traffic of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}

	var all []InterfaceStats
	for _, id := range endpoints {
		var e wire.Endpoint
		var s wire.V1Stats
		err := hcn.Query(ctx, n.cfg.HNS, hcn.Endpoint, id, &e)
		if err == nil {
			err = hcn.V1(ctx, n.cfg.HNS, "GET", "/endpointstats/"+id, nil, &s)
		}
		if err != nil {
			return nil, fmt.Errorf("count traffic of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}

		all = append(all, InterfaceStats{
			Name:      e.Name,
			Endpoint:  id,
			RxBytes:   s.BytesReceived,
			TxBytes:   s.BytesSent,
			RxDropped: s.DroppedPacketsIncoming,
			TxDropped: s.DroppedPacketsOutgoing,
		})
	}

	return all, nil
}

// endpointsOf returns the IDs of the endpoints in a namespace.
func endpointsOf(ctx context.Context, h HNS, namespace string) ([]string, error) {
	var ns wire.Namespace
	if err := hcn.Query(ctx, h, hcn.Namespace, namespace, &ns); err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range ns.Resources {
		if r.Type == wire.ResourceEndpoint {
			ids = append(ids, r.Data.ID)
		}
	}
	return ids, nil
}

// Prune disconnects every pod whose sandbox ID is not in keep: pods that a crash left before they were recorded. It
// returns their IDs.
func (n *Network) Prune(ctx context.Context, keep map[string]bool) ([]string, error) {
	ids, err := hcn.IDs(ctx, n.cfg.HNS, hcn.Namespace, nil)
	if err != nil {
		return nil, err
	}

	var gone []string
	var errs []error
	for _, id := range ids {
		var ns wire.Namespace
		if err := hcn.Query(ctx, n.cfg.HNS, hcn.Namespace, id, &ns); err != nil {
			errs = append(errs, err)
			continue
		}

		for _, r := range ns.Resources {
			// Others' namespaces, whose GUID does not follow from the container's ID, are not touched.
			if r.Type != wire.ResourceContainer || keep[r.Data.ID] || namespaceOf(r.Data.ID) != id {
				continue
			}
			if err := n.Teardown(ctx, Pod{ID: r.Data.ID}); err != nil {
				errs = append(errs, err)
				continue
			}
			gone = append(gone, r.Data.ID)
		}
	}

	return gone, errors.Join(errs...)
}
