// Package hns is the model of the Host Networking Service of one Windows host: requests in the JSON that Windows programs
// send (HCN schema 2 and HNS version 1), answers and typed errors out, and the netplan.Plan that follows from its state.
// It is pure: it knows no kernel, no file and no clock. Who calls it keeps the state (Save, Load), applies the plan, and
// rolls a request back whose plan could not be applied.
package hns

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"mullion.dev/mullion/internal/hns/wire"
)

// Config is what the model must know of the host.
type Config struct {
	// Version is what GET /globals/version answers; it decides which features Windows programs see.
	Version wire.Version
	// Adapters are the names of the host's network adapters; the first carries networks that name none.
	Adapters []string
	// NewID makes a GUID; random ones when nil.
	NewID func() string
}

// Request is one call, with the arguments of the function that Windows programs call.
type Request struct {
	// Function is the export's name: HcnCreateNetwork … of computenetwork.dll, or HNSCall of vmcompute.dll.
	Function string
	// Object is the GUID of the object meant; for HcnCreateEndpoint that of the network.
	Object string
	// New is the wanted GUID of the object to make; empty or zero: the model chooses.
	New string
	// Text are the string arguments in their order: settings or query; for HNSCall method, path and body.
	Text []string
}

// text is the i-th string argument.
func (r Request) text(i int) string {
	if i < len(r.Text) {
		return r.Text[i]
	}
	return ""
}

// Reply is the answer to a call that succeeded.
type Reply struct {
	Object string // GUID of the object made or opened
	Text   string // JSON: properties, GUIDs, or HNSCall's response
}

// Model is the state of one host's HNS. It is not safe for concurrent use.
type Model struct {
	cfg           Config
	networks      map[string]*network
	endpoints     map[string]*endpoint
	namespaces    map[string]*namespace
	loadBalancers map[string]*wire.LoadBalancer
	routes        map[string]*wire.SdnRoute
	undo          []func()
}

// network, endpoint and namespace are what is stored: the wire object plus what the model adds. Stored objects are never
// changed in place: a change puts a new one.
type network struct {
	wire.Network
	// Adapter is the host's adapter that the network goes through.
	Adapter string
}

type endpoint struct {
	wire.Endpoint
	// Interface is the number of the interface inside the namespace (eth0 …) while attached.
	Interface int
}

type namespace struct {
	wire.Namespace
}

// New makes the model of a host that has no networks yet.
func New(cfg Config) *Model {
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
	m := &Model{
		cfg: cfg, networks: map[string]*network{}, endpoints: map[string]*endpoint{}, namespaces: map[string]*namespace{},
		loadBalancers: map[string]*wire.LoadBalancer{}, routes: map[string]*wire.SdnRoute{},
	}
	m.ensureHostNamespace()
	m.Commit()
	return m
}

// Call carries out one request. An error is always a *wire.Error, and then nothing has changed. After a change Changed
// is true until Commit or Rollback.
func (m *Model) Call(r Request) (Reply, error) {
	reply, err := m.call(r)
	if err != nil {
		m.Rollback()
	}
	return reply, err
}

func (m *Model) call(r Request) (Reply, error) {
	if r.Function == "HNSCall" {
		return m.v1(r.text(0), r.text(1), r.text(2))
	}
	verb, kind, err := m.split(r.Function)
	if err != nil {
		return Reply{}, err
	}
	switch verb {
	case "Enumerate":
		return m.enumerate(kind, r.text(0))
	case "Create":
		return m.create(kind, r)
	}
	id, err := canonical(r.Object)
	if err != nil {
		return Reply{}, err
	}
	if _, err := m.object(kind, id); err != nil {
		return Reply{}, err
	}
	switch verb {
	case "Open":
		return Reply{Object: id}, nil
	case "Close":
		return Reply{}, nil
	case "Query":
		return m.query(kind, id)
	case "Modify":
		return Reply{}, m.modify(kind, id, r.text(0))
	default: // Delete
		return Reply{}, m.delete(kind, id)
	}
}

// kind is a kind of object, as it stands in the functions' names.
type kind string

const (
	networks      kind = "Network"
	endpoints     kind = "Endpoint"
	namespaces    kind = "Namespace"
	loadBalancers kind = "LoadBalancer"
	sdnRoutes     kind = "SdnRoute"
)

// split takes a function's name apart: HcnQueryNetworkProperties is Query of a Network.
func (m *Model) split(function string) (verb string, k kind, err error) {
	for _, k := range []kind{networks, endpoints, namespaces, loadBalancers, sdnRoutes} {
		for _, verb := range []string{"Create", "Open", "Modify", "Delete", "Close"} {
			if function == "Hcn"+verb+string(k) {
				return verb, k, nil
			}
		}
		switch function {
		case "HcnEnumerate" + string(k) + "s":
			return "Enumerate", k, nil
		case "HcnQuery" + string(k) + "Properties":
			return "Query", k, nil
		}
	}
	return "", "", wire.Errorf(wire.ENotImpl, "function %q", function)
}

// object is the stored object, as it goes over the wire.
func (m *Model) object(k kind, id string) (any, error) {
	switch k {
	case networks:
		if n, ok := m.networks[id]; ok {
			return &n.Network, nil
		}
	case endpoints:
		if e, ok := m.endpoints[id]; ok {
			return m.shown(e), nil
		}
	case namespaces:
		if n, ok := m.namespaces[id]; ok {
			return &n.Namespace, nil
		}
	case loadBalancers:
		if l, ok := m.loadBalancers[id]; ok {
			return l, nil
		}
	case sdnRoutes:
		if r, ok := m.routes[id]; ok {
			return r, nil
		}
	}
	return nil, wire.Errorf(wire.ENotFound, "%s %s", k, id)
}

func (m *Model) create(k kind, r Request) (Reply, error) {
	id, err := m.newID(k, r.New)
	if err != nil {
		return Reply{}, err
	}
	settings := r.text(0)
	switch k {
	case networks:
		id, err = m.createNetwork(id, settings)
	case endpoints:
		var net string
		if net, err = canonical(r.Object); err == nil {
			id, err = m.createEndpoint(id, net, settings)
		}
	case namespaces:
		err = m.createNamespace(id, settings)
	case loadBalancers:
		err = m.createLoadBalancer(id, settings)
	case sdnRoutes:
		err = m.createRoute(id, settings)
	}
	return Reply{Object: id}, err
}

func (m *Model) modify(k kind, id, settings string) error {
	switch k {
	case networks:
		return m.modifyNetwork(id, settings)
	case endpoints:
		return m.modifyEndpoint(id, settings)
	case namespaces:
		return m.modifyNamespace(id, settings)
	case loadBalancers:
		return m.modifyLoadBalancer(id, settings)
	}
	return wire.Errorf(wire.ENotImpl, "modify of a route")
}

func (m *Model) delete(k kind, id string) error {
	switch k {
	case networks:
		return m.deleteNetwork(id)
	case endpoints:
		m.deleteEndpoint(id)
	case namespaces:
		return m.deleteNamespace(id)
	case loadBalancers:
		put(m, m.loadBalancers, id, nil)
	case sdnRoutes:
		put(m, m.routes, id, nil)
	}
	return nil
}

// Changed says that there is something to Commit or Rollback.
func (m *Model) Changed() bool { return len(m.undo) > 0 }

// Commit keeps what the last calls changed.
func (m *Model) Commit() { m.undo = nil }

// Rollback takes back everything since the last Commit.
func (m *Model) Rollback() {
	for _, undo := range slices.Backward(m.undo) {
		undo()
	}
	m.undo = nil
}

// put stores v under id, or removes what is there when v is nil, and remembers how to take that back.
func put[T any](m *Model, table map[string]*T, id string, v *T) {
	old := table[id]
	set := func(v *T) {
		if v == nil {
			delete(table, id)
		} else {
			table[id] = v
		}
	}
	set(v)
	m.undo = append(m.undo, func() { set(old) })
}

// canonical is the GUID as HNS writes it: upper case, no braces.
func canonical(id string) (string, error) {
	u, err := uuid.Parse(strings.TrimSpace(id))
	if err != nil || len(strings.Trim(id, "{} ")) != 36 {
		return "", wire.Errorf(wire.EInvalidArg, "%.64q is no GUID", id)
	}
	return strings.ToUpper(u.String()), nil
}

const zeroID = "00000000-0000-0000-0000-000000000000"

// newID is the GUID for an object to make: the wanted one if it is free.
func (m *Model) newID(k kind, want string) (string, error) {
	if want == "" || want == zeroID {
		return canonical(m.cfg.NewID())
	}
	id, err := canonical(want)
	if err != nil {
		return "", err
	}
	if _, err := m.object(k, id); err == nil {
		return "", wire.Errorf(wire.EInvalidArg, "%s %s already exists", k, id)
	}
	return id, nil
}

// pick is the ID that settings name, or the one at hand.
func (m *Model) pick(k kind, id, inSettings string) (string, error) {
	if inSettings == "" || strings.Trim(inSettings, "{}") == zeroID {
		return id, nil
	}
	return m.newID(k, inSettings)
}
