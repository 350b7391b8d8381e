package server

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// maxHeld bounds the ports that are held at once: each takes two sockets.
const maxHeld = 16384

// session is one client's connection.
type session struct {
	remote string
	named  bool // its requests have names
	// then writes the answer, and has the connection from now on; nil: it goes on as one for calls.
	then func(ctx context.Context, c net.Conn, answer []byte)
}

// held is a reservation: what holds its ports, how many they are, and the client that asked for it.
type held struct {
	ports io.Closer
	count int
	owner *session
}

// reserve reserves a port or a range. The reservation ends with the connection, as a handle ends with its process.
func (s *Service) reserve(peer *session, r hns.Request) (hns.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var settings string
	if len(r.Text) > 0 {
		settings = r.Text[0]
	}

	var ports io.Closer
	res, err := s.model.Reserve(r.Object, settings, func(res hns.Reservation) error {
		var err error
		ports, err = s.hold(res)
		return err
	})
	if err != nil {
		return hns.Reply{}, err
	}

	s.held[res.ID] = held{
		ports: ports,
		count: portCount(res),
		owner: peer,
	}
	raw := binary.LittleEndian.AppendUint16(nil, res.First)
	return hns.Reply{Object: res.ID, Raw: binary.LittleEndian.AppendUint16(raw, res.Last)}, nil
}

func portCount(res hns.Reservation) int { return int(res.Last) - int(res.First) + 1 }

// hold keeps the host's programs from the ports of an exclusive reservation. A shared one leaves them to everybody.
func (s *Service) hold(res hns.Reservation) (io.Closer, error) {
	if res.Shared {
		return io.NopCloser(nil), nil
	}
	count := portCount(res)
	for _, h := range s.held {
		count += h.count
	}

	if count > maxHeld {
		return nil, errors.New("too many ports are reserved")
	}

	return s.cfg.DataPlane.HoldPorts(netplan.HeldPorts{
		First: res.First,
		Last:  res.Last,
		TCP:   res.TCP,
		UDP:   res.UDP,
	})
}

// release ends a reservation of the client.
func (s *Service) release(peer *session, handle string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.held {
		if h.owner == peer && sameGUID(id, handle) {
			return s.drop(id)
		}
	}
	return wire.Errorf(wire.EHandle, "reservation %s", handle)
}

func sameGUID(a, b string) bool { return string(encodeGUID(a)) == string(encodeGUID(b)) }

// drop ends a reservation.
func (s *Service) drop(id string) error {
	h := s.held[id]
	delete(s.held, id)
	s.model.Release(id)
	return h.ports.Close()
}

// releaseAll ends the reservations of a client that has disconnected.
func (s *Service) releaseAll(peer *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.held {
		if h.owner == peer {
			s.closed(s.drop(id))
		}
	}
}

// dropOrphans ends the reservations for guest network services that no longer exist.
func (s *Service) dropOrphans() {
	for _, id := range s.model.Orphans() {
		s.closed(s.drop(id))
	}
}

func (s *Service) closed(err error) {
	if err != nil {
		s.cfg.Log.Warn("give back reserved ports", "error", err)
	}
}

// listReserved returns the reservations as an array of HCN_PORT_RANGE_ENTRY (computenetwork.h, Windows SDK 10.0.26100).
// Fields whose values Microsoft does not document are 0.
func (s *Service) listReserved() hns.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()

	b := []byte{}
	for _, r := range s.model.Reservations() {
		var protocol, sharing uint32
		if r.TCP {
			protocol |= wire.PortTCP
		}
		if r.UDP {
			protocol |= wire.PortUDP
		}

		if r.Shared {
			sharing = 1
		}

		b = append(b, encodeGUID(r.Machine)...) // OwningPartitionId
		b = append(b, encodeGUID(r.Machine)...) // TargetPartitionId
		for _, n := range []uint32{
			protocol, 0 /* padding */, 0, 0 /* Priority */, 0 /* ReservationType */, sharing,
			0, /* DeliveryMode */
		} {
			b = binary.LittleEndian.AppendUint32(b, n)
		}

		b = binary.LittleEndian.AppendUint16(b, r.First)
		b = binary.LittleEndian.AppendUint16(b, r.Last)
	}

	return hns.Reply{Raw: b}
}
