// Package hcn calls a Host Networking Service as Windows programs do, in Go types: what hnslib's hcn is to them. It
// owns no connection; the service itself and server.Client are both callers.
package hcn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// Caller carries one request to HNS.
type Caller interface {
	Call(ctx context.Context, r hns.Request) (hns.Reply, error)
}

// Kind is a kind of object.
type Kind = hns.Kind

// The kinds.
const (
	Network      = hns.Networks
	Endpoint     = hns.Endpoints
	Namespace    = hns.Namespaces
	LoadBalancer = hns.LoadBalancers
	SdnRoute     = hns.SdnRoutes
)

// IDs returns the IDs of the objects of a kind whose properties match the filter; a nil filter matches all.
func IDs(ctx context.Context, c Caller, kind Kind, filter map[string]string) ([]string, error) {
	query := wire.Query{SchemaVersion: wire.SchemaVersion{Major: 2}}
	if len(filter) > 0 {
		text, err := json.Marshal(filter)
		if err != nil {
			return nil, err
		}
		query.Filter = string(text)
	}

	text, err := json.Marshal(query)
	if err != nil {
		return nil, err
	}
	reply, err := c.Call(ctx, hns.Request{Function: hns.Function(hns.Enumerate, kind), Text: []string{string(text)}})
	if err != nil {
		return nil, err
	}
	var ids []string
	return ids, json.Unmarshal([]byte(reply.Text), &ids)
}

// Find returns the ID of the object of that kind and name. It is empty if there is none.
func Find(ctx context.Context, c Caller, kind Kind, name string) (string, error) {
	ids, err := IDs(ctx, c, kind, map[string]string{"Name": name})
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// Query reads an object into v.
func Query(ctx context.Context, c Caller, kind Kind, id string, v any) error {
	reply, err := c.Call(ctx, hns.Request{Function: hns.Function(hns.Query, kind), Object: id})
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(reply.Text), v)
}

// List reads all objects of a kind. One that goes away meanwhile is left out.
func List[T any](ctx context.Context, c Caller, kind Kind) ([]T, error) {
	ids, err := IDs(ctx, c, kind, nil)
	if err != nil {
		return nil, fmt.Errorf("list HNS objects %s: %w", kind, err)
	}

	all := make([]T, 0, len(ids))
	for _, id := range ids {
		var v T
		err := Query(ctx, c, kind, id, &v)
		if errors.Is(err, &wire.Error{Code: wire.ENotFound}) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read HNS %s %s: %w", kind, id, err)
		}
		all = append(all, v)
	}

	return all, nil
}

// Create makes an object, below parent where its kind has one, and returns its ID.
func Create(ctx context.Context, c Caller, kind Kind, parent string, v any) (string, error) {
	settings, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	reply, err := c.Call(ctx, hns.Request{
		Function: hns.Function(hns.Create, kind),
		Object:   parent,
		Text:     []string{string(settings)},
	})
	return reply.Object, err
}

// Modify changes a part of an object: a resource of it (Policy, Endpoint, Container) is added, removed or updated.
//
//nolint:revive // the arguments are those of HcnModify…
func Modify(ctx context.Context, c Caller, kind Kind, id, request, resource string, settings any) error {
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}

	modify, err := json.Marshal(wire.Modify{
		ResourceType: resource,
		RequestType:  request,
		Settings:     text,
	})
	if err != nil {
		return err
	}

	_, err = c.Call(ctx, hns.Request{
		Function: hns.Function(hns.Modify, kind),
		Object:   id,
		Text:     []string{string(modify)},
	})

	return err
}

// Delete removes an object. It is no error if the object does not exist.
func Delete(ctx context.Context, c Caller, kind Kind, id string) error {
	_, err := c.Call(ctx, hns.Request{Function: hns.Function(hns.Delete, kind), Object: id})
	if errors.Is(err, &wire.Error{Code: wire.ENotFound}) {
		return nil
	}
	return err
}

// V1 makes a call of HNS version 1; body and out may be nil.
//
//nolint:revive // the arguments are those of HNSCall
func V1(ctx context.Context, c Caller, method, path string, body, out any) error {
	text := []byte{}
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}

	reply, err := c.Call(ctx, hns.Request{Function: "HNSCall", Text: []string{method, path, string(text)}})
	if err != nil {
		return err
	}

	var envelope wire.V1Reply
	if err := json.Unmarshal([]byte(reply.Text), &envelope); err != nil {
		return err
	}
	if !envelope.Success {
		return wire.Errorf(wire.HRESULT(envelope.ErrorCode), "%s %s: %s", method, path, envelope.Error)
	}

	if out == nil {
		return nil
	}

	return json.Unmarshal(envelope.Output, out)
}

// Policy returns a policy with that setting.
func Policy(kind string, setting any) (wire.Policy, error) {
	text, err := json.Marshal(setting)
	return wire.Policy{Type: kind, Settings: text}, err
}
