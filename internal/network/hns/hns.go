// Package hns is the model of the Host Networking Service of one Windows host: requests in the JSON that Windows
// programs send (HCN schema 2 and HNS version 1) go in, answers and typed errors come out, and so does the netplan.Plan
// that follows from its state. It is pure: it knows no kernel, no file and no clock. After a call that changed
// something, the caller asks for the change (Change of the plan, Records of the state), carries it out, and ends with
// Commit, or with Rollback if it failed.
//
// Calls that change something do not go through all objects: lookups find objects by what they have in common, and an
// object's part of the plan is made anew only when the object, or what it depends on, changes. Lists go through all
// objects of their kind, unless there is a lookup for their filter.
package hns

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// Config is what the model must know of the host.
type Config struct {
	// Version is the answer to GET /globals/version; the features follow from it. Zero: the build does not answer.
	Version wire.Version
	// Profile says whether the limits of that version are kept; Faithful when empty.
	Profile Profile
	// Adapters are the names of the host's network adapters; the first carries networks that name none.
	Adapters []string
	// Addresses are the host's own on its first adapter. The first is where an overlay's packets come from, and
	// ManagementIP in HNS version 1.
	Addresses []netip.Addr
	// NameServers are the host's at the time; none when nil. An endpoint with an internal DNS is made with them behind
	// its gateway.
	NameServers func() []netip.Addr
	// OwnPorts are the TCP ports of programs of the host that others have to reach: the kubelet's, for the control
	// plane. No load balancer and no port mapping takes what comes to them at the host's own addresses.
	OwnPorts []uint16
	// Listening returns what programs of the host listen on; none do when nil. A nat network maps no such port, as on
	// Windows.
	Listening func() ([]netplan.Listener, error)
	// NewID makes a GUID; random ones when nil.
	NewID func() string
}

// Request is one call, with the arguments of the function that Windows programs call.
type Request struct {
	// Name is the request's own, which it keeps when it is sent again; empty: it is not.
	Name string
	// Function is the name of a Call.
	Function string
	// Object is the GUID of the object meant; for HcnCreateEndpoint that of the network.
	Object string
	// New is the wanted GUID of the object to make; empty or zero: the model chooses.
	New string
	// Text are the string arguments in their order: settings or query; for HNSCall method, path and body.
	Text []string
}

// text returns the i-th string argument.
func (r Request) text(i int) string {
	if i < len(r.Text) {
		return r.Text[i]
	}
	return ""
}

// Reply is the reply to a call that succeeded.
type Reply struct {
	Object string // GUID of the object made or opened
	Text   string // JSON: properties, GUIDs, or HNSCall's response
	// Raw is the answer of a function that returns a structure and not a text, as it lies in memory on Windows.
	Raw []byte
	// Listed are the GUIDs that an enumeration found; valid until the next call.
	Listed []string
}

// Model is the state of one host's HNS. It is not safe for concurrent use.
type Model struct {
	cfg           Config
	calls         map[string]Call
	paths         map[string]path
	kinds         []Kind // in the order in which the state is saved
	tables        map[Kind]collection
	features      map[feature][]span
	policies      map[string]endpointPolicy
	networks      *table[network]
	endpoints     *table[endpoint]
	namespaces    *table[namespace]
	loadBalancers *table[wire.LoadBalancer]
	routes        *table[wire.SdnRoute]
	guests        *table[wire.GuestNetworkService]
	reserved      map[string]Reservation
	host          string // ID of the namespace that is the host itself
	lookups
	answers map[ref]answer
	// answered has the answers to requests that may be sent again.
	answered remembered

	// What the calls since the last Commit changed: how to undo it, which objects, and which objects' parts of the plan
	// may change.
	undo    []func()
	touched map[ref]any // with the object before; nil: there was none
	dirty   map[ref]bool
	parts   map[ref]netplan.Plan // what each object is in the plan, as of the last Commit
}

// network and endpoint are stored: the wire object with what the model adds.
type network struct {
	wire.Network
	// Adapter is the host's adapter that the network goes through; empty: none.
	Adapter string
	// Apart is the number of the namespace that an overlay has for itself, because another network of the host has its
	// subnet too; 0: none.
	Apart uint16 `json:",omitempty"`
}

type endpoint struct {
	wire.Endpoint
	// Interface is the number of the interface inside the namespace (eth0 …) while attached.
	Interface int
	// InternalDNS says that a program of the host answers DNS at the gateway, which its maker asked for.
	InternalDNS bool `json:",omitempty"`
}

type namespace = wire.Namespace

// New makes the model of a host that has no networks yet.
func New(cfg Config) *Model {
	m := empty(cfg)
	m.ensureHostNamespace()
	m.Commit()
	return m
}

func empty(cfg Config) *Model {
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}

	m := &Model{
		cfg:      cfg,
		calls:    Calls(),
		paths:    pathsByName(),
		tables:   map[Kind]collection{},
		features: features(),
		policies: endpointPolicies(),
		lookups:  newLookups(),
		answers:  map[ref]answer{},
		reserved: map[string]Reservation{},
		touched:  map[ref]any{},
		dirty:    map[ref]bool{},
		parts:    map[ref]netplan.Plan{},
	}

	m.makeTables()
	return m
}

// Call carries out one request. An error is always a *wire.Error; then the call has changed nothing. After a change
// Changed is true until Commit or Rollback. A request that is sent again is answered as it was, and changes nothing.
func (m *Model) Call(r Request) (Reply, error) {
	if reply, known := m.answered.find(r.Name); known {
		return reply, nil
	}
	reply, err := m.call(r)
	if err != nil {
		m.Rollback()
		return reply, err
	}
	if r.Name != "" && m.Changed() {
		m.answered.pending = &Answered{
			Name:   r.Name,
			Object: reply.Object,
			Text:   reply.Text,
		}
	}
	return reply, nil
}

func (m *Model) call(r Request) (Reply, error) {
	c := m.calls[r.Function]
	switch c.Operation {
	case Version1:
		return m.v1(r.text(0), r.text(1), r.text(2))
	case Enumerate:
		return m.enumerate(c.Kind, r.text(0))
	case Create:
		return m.create(c.Kind, r)
	case Open, Query, Modify, Delete, Close:
		return m.callOf(c, r)
	}

	return Reply{}, wire.Errorf(wire.ENotImpl, "function %.64q", r.Function)
}

// callOf carries out a call about an existing object.
func (m *Model) callOf(c Call, r Request) (Reply, error) {
	id, err := m.Find(c.Kind, r.Object)
	if err != nil {
		return Reply{}, err
	}

	switch c.Operation {
	case Open:
		return Reply{Object: id}, nil
	case Query:
		return m.query(c.Kind, id)
	case Modify:
		return Reply{}, m.tables[c.Kind].modify(id, r.text(0))
	case Delete:
		return Reply{}, m.tables[c.Kind].remove(id)
	}

	return Reply{}, nil // Close
}

// Find returns the GUID of an existing object, as HNS writes it.
func (m *Model) Find(k Kind, object string) (string, error) {
	id, err := canonical(object)
	if err != nil {
		return "", err
	}
	if !m.tables[k].has(id) {
		return "", wire.Errorf(wire.ENotFound, "%s %s", k, id)
	}
	return id, nil
}

// create makes an object of a kind.
func (m *Model) create(k Kind, r Request) (Reply, error) {
	t := m.tables[k]
	id, err := t.newID(r.New)
	if err != nil {
		return Reply{}, err
	}
	id, err = t.create(id, r)
	return Reply{Object: id}, err
}

// Changed reports whether there is something to Commit or Rollback.
func (m *Model) Changed() bool { return len(m.undo) > 0 }

// Rollback undoes everything since the last Commit.
func (m *Model) Rollback() {
	for _, undo := range slices.Backward(m.undo) {
		undo()
	}
	m.settle()
}

func (m *Model) settle() {
	m.undo = nil
	m.answered.pending = nil
	clear(m.touched)
	clear(m.dirty)
}

// canonical returns the GUID as HNS writes it: upper case, no braces.
func canonical(id string) (string, error) {
	u, err := uuid.Parse(strings.TrimSpace(id))
	if err != nil || len(strings.Trim(id, "{} ")) != 36 {
		return "", wire.Errorf(wire.EInvalidArg, "%.64q is no GUID", id)
	}
	return strings.ToUpper(u.String()), nil
}

const zeroID = "00000000-0000-0000-0000-000000000000"
