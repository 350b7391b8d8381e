package hns

import (
	"maps"
	"slices"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// guestStates returns those that a guest network service can be in
// (https://github.com/microsoft/WSL/blob/2.5.9/src/shared/inc/hns_schema.h).
func guestStates() []string {
	return []string{
		"None", wire.GuestCreated, "Bootstrapping", "Synchronized", "Paused", "Desynchronized", "Rehydrating",
		"Degraded", wire.GuestDestroyed,
	}
}

func (m *Model) createGuest(id string, r Request) (string, error) {
	var g wire.GuestNetworkService
	if err := decode(r.text(0), &g); err != nil {
		return "", err
	}
	id, err := m.guests.pick(id, g.ID)
	if err != nil {
		return "", err
	}

	if g.VirtualMachineId == "" {
		g.VirtualMachineId = id
	}
	if g.VirtualMachineId, err = canonical(g.VirtualMachineId); err != nil {
		return "", err
	}

	g.ID = id
	g.State = wire.GuestCreated
	g.SchemaVersion = schema2
	m.guests.put(id, &g)
	return id, nil
}

func (m *Model) modifyGuest(id, settings string) error {
	var req wire.Modify
	if err := decode(settings, &req); err != nil {
		return err
	}
	if req.ResourceType != "State" || req.RequestType != "Update" {
		return wire.Errorf(wire.RequestUnsupported, "%.64q of a guest network service's %.64q", req.RequestType,
			req.ResourceType)
	}

	var wanted wire.GuestState
	if err := decode(string(req.Settings), &wanted); err != nil {
		return err
	}
	if !slices.Contains(guestStates(), wanted.State) {
		return wire.Errorf(wire.EInvalidArg, "state %.64q", wanted.State)
	}

	g := *m.guests.objects[id]
	g.State = wanted.State
	m.guests.put(id, &g)
	return nil
}

// Reservation is a port of the host, or a range of ports, that is kept for a guest network service. It is not saved
// with the state: it exists as long as the program that asked for it.
type Reservation struct {
	ID       string
	Service  string
	Machine  string // the virtual machine of the service
	TCP, UDP bool
	Shared   bool
	First    uint16
	Last     uint16
}

// dynamicFirst is where Windows' dynamic ports begin; they end with the last port
// (https://learn.microsoft.com/troubleshoot/windows-server/networking/default-dynamic-port-range-tcpip-chang).
const dynamicFirst = 49152

const lastPort = 65535

// Reserve chooses ports for what is asked for and calls try with the reservation. If try refuses a range, the next free
// range is tried. Release ends the reservation.
func (m *Model) Reserve(service, settings string, try func(Reservation) error) (Reservation, error) {
	id, err := canonical(service)
	if err != nil {
		return Reservation{}, err
	}
	g, ok := m.guests.objects[id]
	if !ok {
		return Reservation{}, wire.Errorf(wire.ENotFound, "%s %s", GuestNetworkServices, id)
	}

	var want wire.ReservePort
	if err := decode(settings, &want); err != nil {
		return Reservation{}, err
	}
	res := Reservation{Service: id, Machine: g.VirtualMachineId}
	if res.ID, err = canonical(m.cfg.NewID()); err != nil {
		return Reservation{}, err
	}

	if want.PortCount > 0 {
		return m.reserveRange(res, want.PortCount, try)
	}

	return m.reservePort(res, want, try)
}

func (m *Model) reservePort(res Reservation, want wire.ReservePort, try func(Reservation) error) (Reservation, error) {
	const both = wire.PortTCP | wire.PortUDP
	if want.Protocol == 0 || want.Protocol&^both != 0 ||
		(want.Access != wire.PortExclusive && want.Access != wire.PortShared) || want.Port == 0 {
		return res, wire.Errorf(wire.EInvalidArg, "port %d of protocols %d, access %d", want.Port, want.Protocol,
			want.Access)
	}

	res.TCP = want.Protocol&wire.PortTCP != 0
	res.UDP = want.Protocol&wire.PortUDP != 0
	res.Shared = want.Access == wire.PortShared
	res.First, res.Last = want.Port, want.Port
	if port, by := m.inTheWay(res); port != 0 {
		return res, wire.Errorf(wire.PortAlreadyExists, "port %d: %s has it", port, by)
	}

	if err := try(res); err != nil {
		return res, wire.Errorf(wire.PortAlreadyExists, "port %d: %v", want.Port, err)
	}
	m.reserved[res.ID] = res
	return res, nil
}

// reserveRange takes the first dynamic ports that are free, for both protocols and exclusively. The range's last port
// is its first plus the count, as WSL relies on
// (https://github.com/microsoft/WSL/blob/2.5.9/src/windows/service/exe/WslCoreGuestNetworkService.cpp,
// AllocateEphemeralPortRange).
func (m *Model) reserveRange(res Reservation, count uint16, try func(Reservation) error) (Reservation, error) {
	res.TCP, res.UDP = true, true
	for first := dynamicFirst; first+int(count) <= lastPort; {
		res.First, res.Last = uint16(first), uint16(first+int(count))
		if port, _ := m.inTheWay(res); port != 0 {
			first = int(port) + 1
			continue
		}
		if err := try(res); err == nil {
			m.reserved[res.ID] = res
			return res, nil
		}

		first += int(count) + 1
	}

	return res, wire.Errorf(wire.PortAlreadyExists, "no %d ports from %d on are free together", int(count)+1,
		dynamicFirst)
}

// inTheWay returns a port of the reservation that is not free, and who has it; 0 if all are free.
func (m *Model) inTheWay(res Reservation) (uint16, string) {
	for _, other := range m.Reservations() {
		if res.meets(other) {
			return min(res.Last, other.Last), "reservation " + other.ID
		}
	}

	if res.Shared {
		return 0, ""
	}

	for port := int(res.Last); port >= int(res.First); port-- {
		if owner := m.listening(res, uint16(port)); owner != "" {
			return uint16(port), owner
		}
	}

	return 0, ""
}

// listening returns what in HNS uses a port on the host's addresses.
func (m *Model) listening(res Reservation, port uint16) string {
	f := front{port: port}
	for protocol, wanted := range map[netplan.Protocol]bool{netplan.TCP: res.TCP, netplan.UDP: res.UDP} {
		if !wanted {
			continue
		}

		f.protocol = uint32(protocol)
		for _, addr := range append(slices.Clip(m.cfg.Addresses), f.addr) {
			for _, ipv6 := range []bool{false, true} {
				if owner, ok := m.fronts[front{
					addr:     addr,
					ipv6:     ipv6,
					protocol: f.protocol,
					port:     port,
				}]; ok {
					return owner
				}
			}
		}
	}

	return ""
}

// meets reports whether two reservations exclude each other.
func (r Reservation) meets(other Reservation) bool {
	return ((r.TCP && other.TCP) || (r.UDP && other.UDP)) && (!r.Shared || !other.Shared) && r.First <= other.Last &&
		other.First <= r.Last
}

// reservedFor returns the reservation that keeps a load balancer or port mapping from using a port of the host.
func (m *Model) reservedFor(f front) string {
	if f.addr.IsValid() && !slices.Contains(m.cfg.Addresses, f.addr) {
		return ""
	}
	want := Reservation{
		TCP:   f.protocol == uint32(netplan.TCP),
		UDP:   f.protocol == uint32(netplan.UDP),
		First: f.port,
		Last:  f.port,
	}

	for _, r := range m.reserved {
		if !r.Shared && want.meets(r) {
			return r.ID
		}
	}

	return ""
}

// Release ends a reservation.
func (m *Model) Release(id string) { delete(m.reserved, id) }

// Reservations returns all reservations, in the order of their ports.
func (m *Model) Reservations() []Reservation {
	return slices.SortedFunc(maps.Values(m.reserved), func(a, b Reservation) int {
		return int(a.First) - int(b.First)
	})
}

// Orphans returns the reservations whose guest network service no longer exists.
func (m *Model) Orphans() []string {
	var ids []string
	for id, r := range m.reserved {
		if !m.guests.has(r.Service) {
			ids = append(ids, id)
		}
	}
	return ids
}

// TakeOver takes over the reservations of another model.
func (m *Model) TakeOver(from *Model) { m.reserved = from.reserved }
