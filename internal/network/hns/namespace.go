package hns

import (
	"slices"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// defaultCompartment is the number of the host's own compartment.
const defaultCompartment = 1

// ensureHostNamespace makes the namespace that is the host itself, unless it was loaded.
func (m *Model) ensureHostNamespace() {
	for _, id := range m.namespaces.ids {
		if m.hosts[id] {
			m.host = id
			return
		}
	}

	id, err := canonical(m.cfg.NewID())
	if err != nil {
		return
	}

	m.host = id
	m.namespaces.put(id, &namespace{
		ID:            id,
		NamespaceId:   defaultCompartment,
		Type:          wire.NamespaceHostDefault,
		SchemaVersion: schema2,
	})
}

// createNamespace makes a namespace. One of type HostDefault is another name for the host's own compartment, as on
// Windows. One of a guest's types, which on Windows belongs to a virtual machine, is a namespace like any other.
func (m *Model) createNamespace(id string, r Request) (string, error) {
	var n namespace
	if err := decode(r.text(0), &n); err != nil {
		return "", err
	}
	id, err := m.namespaces.pick(id, n.ID)
	if err != nil {
		return "", err
	}

	switch n.Type {
	case "":
		n.Type = wire.NamespaceHost
	case wire.NamespaceHost, wire.NamespaceGuest, wire.NamespaceHostDefault, wire.NamespaceGuestDefault:
	default:
		return "", wire.Errorf(wire.EInvalidArg, "namespace type %.64q", n.Type)
	}

	n.ID = id
	n.Resources = nil
	n.SchemaVersion = schema2
	n.NamespaceId = defaultCompartment
	if n.Type != wire.NamespaceHostDefault {
		n.NamespaceId = m.freeCompartment()
	}
	m.namespaces.put(id, &n)
	return id, nil
}

func (m *Model) freeCompartment() uint32 {
	used := map[uint32]bool{}
	for _, other := range m.namespaces.objects {
		used[other.NamespaceId] = true
	}
	id := uint32(defaultCompartment + 1)
	for used[id] {
		id++
	}
	return id
}

func (m *Model) modifyNamespace(id, settings string) error {
	var req wire.Modify
	if err := decode(settings, &req); err != nil {
		return err
	}

	var what wire.NamespaceModify
	if len(req.Settings) > 0 {
		if err := decode(string(req.Settings), &what); err != nil {
			return err
		}
	}

	switch req.ResourceType + "/" + req.RequestType {
	case "Endpoint/Add":
		return m.withEndpoint(what.EndpointId, func(eid string) error { return m.attach(id, eid) })
	case "Endpoint/Remove":
		return m.withEndpoint(what.EndpointId, func(eid string) error {
			if m.endpoints.objects[eid].HostComputeNamespace != id {
				return wire.Errorf(wire.ENotFound, "endpoint %s is not in namespace %s", eid, id)
			}
			m.detach(eid)
			return nil
		})

	case "Container/Add":
		return m.share(id, what.ContainerId, true)
	case "Container/Remove":
		return m.share(id, what.ContainerId, false)
	case "Endpoint/Refresh", "Container/Refresh":
		return nil
	}

	return wire.Errorf(wire.EInvalidArg, "%.64q of %.64q", req.RequestType, req.ResourceType)
}

func (m *Model) withEndpoint(id string, f func(id string) error) error {
	eid, err := canonical(id)
	if err != nil {
		return err
	}
	if !m.endpoints.has(eid) {
		return wire.Errorf(wire.ENotFound, "endpoint %s", eid)
	}
	return f(eid)
}

// attach puts an endpoint into a namespace. An endpoint can be in one namespace only; attaching it there again is no
// error.
func (m *Model) attach(nsID, eid string) error {
	e := *m.endpoints.objects[eid]
	switch {
	case e.HostComputeNamespace == nsID:
		return nil
	case e.HostComputeNamespace != "":
		return wire.Errorf(wire.EndpointAttached, "endpoint %s is in namespace %s", eid, e.HostComputeNamespace)
	case e.remote():
		return wire.Errorf(wire.InvalidRemoteOperation, "endpoint %s", eid)
	}

	e.Interface = m.freeInterface(nsID)
	e.HostComputeNamespace = nsID
	m.endpoints.put(eid, &e)
	ns := *m.namespaces.objects[nsID]
	ns.Resources = append(slices.Clone(ns.Resources), resource(wire.ResourceEndpoint, eid))
	m.namespaces.put(nsID, &ns)

	return nil
}

func resource(kind, id string) wire.NamespaceResource {
	return wire.NamespaceResource{Type: kind, Data: wire.ResourceData{ID: id}}
}

// freeInterface returns the lowest interface number that no endpoint of the namespace has.
func (m *Model) freeInterface(nsID string) int {
	used := map[int]bool{}
	for eid := range m.inSpace[nsID] {
		used[m.endpoints.objects[eid].Interface] = true
	}
	i := 0
	for used[i] {
		i++
	}
	return i
}

// detach takes an endpoint out of its namespace, if it is in one.
func (m *Model) detach(eid string) {
	e := *m.endpoints.objects[eid]
	nsID := e.HostComputeNamespace
	if nsID == "" {
		return
	}

	e.HostComputeNamespace, e.Interface = "", 0
	m.endpoints.put(eid, &e)
	if old, ok := m.namespaces.objects[nsID]; ok {
		ns := *old
		ns.Resources = without(ns.Resources, wire.ResourceEndpoint, eid)
		m.namespaces.put(nsID, &ns)
	}
}

func without(list []wire.NamespaceResource, kind, id string) []wire.NamespaceResource {
	return slices.DeleteFunc(slices.Clone(list), func(r wire.NamespaceResource) bool {
		return r.Type == kind && r.Data.ID == id
	})
}

// share records that a container uses the namespace, or no longer does.
func (m *Model) share(nsID, container string, add bool) error {
	if container == "" || len(container) > 256 {
		return wire.Errorf(wire.EInvalidArg, "container %.64q", container)
	}
	ns := *m.namespaces.objects[nsID]
	ns.Resources = without(ns.Resources, wire.ResourceContainer, container)
	if add {
		ns.Resources = append(ns.Resources, resource(wire.ResourceContainer, container))
	}
	m.namespaces.put(nsID, &ns)
	return nil
}

// deleteNamespace removes the namespace; its endpoints stay, detached.
func (m *Model) deleteNamespace(id string) error {
	if id == m.host {
		return wire.Errorf(wire.EAccessDenied, "the host's own namespace stays")
	}
	for _, eid := range m.inSpace.sorted(id) {
		m.detach(eid)
	}
	m.namespaces.put(id, nil)
	return nil
}
