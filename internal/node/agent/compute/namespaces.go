package compute

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/runtime/hcs"
)

// Namespaces are those of HNS, for compute systems that programs of the host make.
type Namespaces struct {
	HNS *server.Service
	// Pins is the folder with the network namespaces.
	Pins string
}

// Find finds a namespace, and how names are resolved in it: as its endpoints say.
func (n Namespaces) Find(ctx context.Context, namespace string) (hcs.Network, error) {
	id, err := uuid.Parse(namespace)
	if err != nil {
		return hcs.Network{}, wire.Errorf(wire.EInvalidArg, "%q is no namespace", namespace)
	}
	var found wire.Namespace
	if err := n.query(ctx, "HcnQueryNamespaceProperties", id.String(), &found); err != nil {
		return hcs.Network{}, err
	}

	network := hcs.Network{NetNS: filepath.Join(n.Pins, found.ID)}
	for _, r := range found.Resources {
		if r.Type != "Endpoint" {
			continue
		}
		var endpoint struct{ Dns *wire.Dns } //nolint:revive // HNS' word
		if err := n.query(ctx, "HcnQueryEndpointProperties", strings.ToLower(r.Data.ID), &endpoint); err != nil {
			return hcs.Network{}, err
		}

		if endpoint.Dns == nil {
			continue
		}
		network.DNS.Servers = append(network.DNS.Servers, endpoint.Dns.ServerList...)
		network.DNS.Searches = append(network.DNS.Searches, endpoint.Dns.Search...)
		if domain := endpoint.Dns.Domain; domain != "" {
			network.DNS.Searches = append(network.DNS.Searches, domain)
		}
	}

	return network, nil
}

// query reads an object of HNS.
func (n Namespaces) query(ctx context.Context, function, object string, into any) error {
	reply, err := n.HNS.Call(ctx, hns.Request{
		Function: function,
		Object:   object,
		Text:     []string{"{}"},
	})
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(reply.Text), into)
}

// Make makes a namespace that a compute system is in; one that is left of a former one goes.
func (n Namespaces) Make(ctx context.Context, namespace, system string) error {
	if err := n.Remove(ctx, namespace); err != nil {
		return err
	}
	_, err := n.HNS.Call(ctx, hns.Request{
		Function: "HcnCreateNamespace",
		New:      namespace,
		Text:     []string{"{}"},
	})
	if err != nil {
		return err
	}
	return n.modify(ctx, namespace, "Container", "Add", wire.NamespaceModify{ContainerId: system})
}

// Attach puts an endpoint into a namespace.
func (n Namespaces) Attach(ctx context.Context, namespace, endpoint string) error {
	return n.modify(ctx, namespace, "Endpoint", "Add", wire.NamespaceModify{EndpointId: endpoint})
}

// Detach takes an endpoint out of a namespace.
func (n Namespaces) Detach(ctx context.Context, namespace, endpoint string) error {
	return n.modify(ctx, namespace, "Endpoint", "Remove", wire.NamespaceModify{EndpointId: endpoint})
}

// Remove removes a namespace. One that is gone is no error.
func (n Namespaces) Remove(ctx context.Context, namespace string) error {
	_, err := n.HNS.Call(ctx, hns.Request{Function: "HcnDeleteNamespace", Object: namespace})
	if errors.Is(err, &wire.Error{Code: wire.ENotFound}) {
		return nil
	}
	return err
}

// modify changes what is in a namespace.
func (n Namespaces) modify(ctx context.Context, namespace, kind, request string, what wire.NamespaceModify) error {
	settings, err := json.Marshal(what)
	if err != nil {
		return err
	}

	text, err := json.Marshal(wire.Modify{
		ResourceType: kind,
		RequestType:  request,
		Settings:     settings,
	})
	if err != nil {
		return err
	}

	_, err = n.HNS.Call(ctx, hns.Request{
		Function: "HcnModifyNamespace",
		Object:   namespace,
		Text:     []string{string(text)},
	})

	return err
}
