package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/process/component"
)

// AddressTaken is the reason of the event of a Service that had an address before the machine, or the cluster, got it.
const AddressTaken = "AddressTaken"

// protectOwnAddresses adds what keeps Services from taking the addresses of this machine, whatever network they are of,
// and of those that have joined.
func (c *composer) protectOwnAddresses() {
	c.ownAddresses = &parts.OwnAddresses{
		Interfaces: machineAddresses,
		Watch:      c.underlay.Watch,
		Protect: func(ctx context.Context, all []netip.Addr) error {
			client, err := c.access.client()
			if err != nil {
				return err
			}

			control := c.control
			control.MachineAddresses = slices.Concat(c.advertised(), prefixesOf(all))
			own := control.OwnAddresses()
			if err := bootstrap.ProtectAddresses(ctx, client, own); err != nil {
				return err
			}

			return tellTaken(ctx, client, own)
		},
		Log: c.log,
	}
	c.add(c.ownAddresses, component.Sole(controlplane.Bootstrap), parts.APIForwarder())
}

// advertised returns the address by which other machines reach this one, which may be another's that forwards.
func (c *composer) advertised() []netip.Prefix {
	if !c.Spec.SeveralMachines() {
		return nil
	}
	return prefixesOf([]netip.Addr{c.Spec.Address()})
}

// prefixesOf returns the networks of single addresses.
func prefixesOf(all []netip.Addr) []netip.Prefix {
	var networks []netip.Prefix
	for _, a := range all {
		networks = append(networks, netip.PrefixFrom(a, a.BitLen()))
	}
	return networks
}

// tellTaken makes an event of each Service that has an address which it could not take now: the policy looks at those
// that are made or changed.
func tellTaken(ctx context.Context, client kubeclient.Interface, own bootstrap.OwnAddresses) error {
	services, err := client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list services: %w", err)
	}

	var errs []error
	for i := range services.Items {
		service := &services.Items[i]
		at := slices.IndexFunc(service.Spec.ExternalIPs, own.Has)
		if at < 0 {
			continue
		}

		errs = append(errs, kubeclient.Record(ctx, client, service, kubeclient.Event{
			Component: "mullion",
			Type:      corev1.EventTypeWarning,
			Reason:    AddressTaken,
			Message: fmt.Sprintf("externalIPs has %s, which the cluster or its machine has got since: pods that ask for it "+
				"come to this Service; take it out", service.Spec.ExternalIPs[at]),
		}))
	}

	return errors.Join(errs...)
}
