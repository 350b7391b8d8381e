package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// The functions of reservations and of events.
const (
	reservePort      = "HcnReserveGuestNetworkServicePort"
	reservePortRange = "HcnReserveGuestNetworkServicePortRange"
	releasePort      = "HcnReleaseGuestNetworkServicePortReservationHandle"
	listPorts        = "HcnEnumerateGuestNetworkPortReservations"
	watchService     = "HcnRegisterServiceCallback"
	watchGuest       = "HcnRegisterGuestNetworkServiceCallback"
)

// served is a service on a loopback port, with its parts.
type served struct {
	*Service
	fake *dataplane.Fake
	addr string
}

func serveOpen(t *testing.T) served {
	t.Helper()
	s, fake := open(t, filepath.Join(t.TempDir(), "state.json"))
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(ctx, l, "secret"); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })

	return served{s, fake, l.Addr().String()}
}

func (s served) guest(t *testing.T) string {
	t.Helper()
	made, err := s.Call(t.Context(), hns.Request{
		Function: "HcnCreateGuestNetworkService",
		Text:     []string{`{"VirtualMachineId":"` + id + `"}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Object
}

// raw returns a response's code, GUID and the bytes of its text.
func raw(t *testing.T, c net.Conn, frame []byte) (wire.HRESULT, []byte, []byte) {
	t.Helper()
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
	return next(t, c)
}

func next(t *testing.T, c net.Conn) (wire.HRESULT, []byte, []byte) {
	t.Helper()
	fields, err := readFrame(c, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return wire.HRESULT(binary.LittleEndian.Uint32(fields[0])), fields[1], fields[2]
}

func TestReservationsEndWithTheClient(t *testing.T) {
	s := serveOpen(t)
	service := encodeGUID(s.guest(t))
	one, other := dial(t, s.addr, "secret"), dial(t, s.addr, "secret")
	port := frameOf(reservePort, service, nil, `{"Protocol":1,"Access":1,"Port":8080}`)
	code, handle, ports := raw(t, one, port)
	if code != wire.OK || !bytes.Equal(ports, []byte{0x90, 0x1f, 0x90, 0x1f}) || !s.fake.Holds(8080) {
		t.Fatalf("0x%08x, ports % x", uint32(code), ports)
	}

	if code, _, _ := raw(t, other, port); code != wire.PortAlreadyExists {
		t.Errorf("the same port again: 0x%08x", uint32(code))
	}
	if code, _, _ := raw(t, other, frameOf(releasePort, handle, nil)); code != wire.EHandle {
		t.Errorf("another client gives it back: 0x%08x", uint32(code))
	}
	if code, _, _ := raw(t, other, frameOf(reservePortRange, service, nil, `{"PortCount":63}`)); code != wire.OK {
		t.Errorf("range: 0x%08x", uint32(code))
	}

	if err := s.Restart(t.Context()); err != nil { // reservations outlive a restart
		t.Fatal(err)
	}

	_, _, entries := raw(t, other, frameOf(listPorts, nil, nil))
	want := append(encodeGUID(id), encodeGUID(id)...)
	want = append(want, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x90, 0x1f,
		0x90, 0x1f)
	if len(entries) != 128 || !bytes.Equal(entries[:64], want) {
		t.Errorf("entries % x, want first % x", entries, want)
	}

	_ = one.Close()
	until(t, func() bool { return !s.fake.Holds(8080) })
	if code, _, _ := raw(t, other, port); code != wire.OK {
		t.Errorf("the port of a client that is gone: 0x%08x", uint32(code))
	}

	if _, err := s.Call(t.Context(), hns.Request{
		Function: "HcnDeleteGuestNetworkService",
		Object:   swapGUID([16]byte(service)).String(),
	}); err != nil {
		t.Fatal(err)
	}

	if s.fake.Holds(8080) || s.fake.Holds(49152) {
		t.Error("ports are held for a service that is gone")
	}
	if code, _, _ := raw(t, other, frameOf(reservePort, service, nil, `{}`)); code != wire.ENotFound {
		t.Errorf("service that is gone: 0x%08x", uint32(code))
	}
}

func TestTooManyReserved(t *testing.T) {
	s := serveOpen(t)
	c, service := dial(t, s.addr, "secret"), encodeGUID(s.guest(t))
	if code, _, _ := raw(t, c, frameOf(reservePortRange, service, nil, `{"PortCount":16383}`)); code != wire.OK {
		t.Fatalf("all dynamic ports: 0x%08x", uint32(code))
	}
	if code, _, _ := raw(t, c, frameOf(reservePort, service, nil,
		`{"Protocol":1,"Access":1,"Port":80}`)); code != wire.PortAlreadyExists {
		t.Errorf("one more: 0x%08x", uint32(code))
	}
}

func TestWatch(t *testing.T) {
	s := serveOpen(t)
	all, some := dial(t, s.addr, "secret"), dial(t, s.addr, "secret")
	if code, _, _ := raw(t, all, frameOf(watchService, nil, nil)); code != wire.OK {
		t.Fatalf("0x%08x", uint32(code))
	}

	guest := s.guest(t)
	if code, _, _ := raw(t, some, frameOf(watchGuest, encodeGUID(id), nil)); code != wire.ENotFound {
		t.Errorf("watch what is not there: 0x%08x", uint32(code))
	}
	if code, _, _ := raw(t, some, frameOf(watchGuest, encodeGUID(guest), nil)); code != wire.OK {
		t.Errorf("0x%08x", uint32(code))
	}

	modify := hns.Request{
		Function: "HcnModifyGuestNetworkService",
		Object:   guest,
		Text: []string{
			`{"ResourceType":"State","RequestType":"Update","Settings":{"State":"Synchronized"}}`,
		},
	}

	if _, err := s.Call(t.Context(), modify); err != nil {
		t.Fatal(err)
	}

	for c, want := range map[net.Conn]hns.EventType{all: hns.GuestCreate, some: hns.GuestStateChanged} {
		code, object, data := next(t, c)
		text, err := decodeText(data)
		if err != nil || hns.EventType(code) != want || !bytes.Equal(object, encodeGUID(guest)) ||
			text != `{"ID":"`+guest+`","Flags":0}` {
			t.Errorf("told %x of % x: %s %v, want %x", uint32(code), object, text, err, uint32(want))
		}
	}

	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, c := range []net.Conn{all, some} {
		if _, err := c.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("after a restart: %v, want the connection's end", err)
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if len(s.watchers) != 0 {
		t.Errorf("%d watch still", len(s.watchers))
	}
}

// A program that takes no events costs memory up to a bound, and delays nobody.
func TestDeafWatcher(t *testing.T) {
	s := serveOpen(t)
	w, err := s.watch("", "")
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	for range maxWaiting + 1 {
		s.tell([]hns.Event{{Type: hns.NetworkCreate}})
	}

	left := len(s.watchers)
	s.mu.Unlock()
	if left != 0 {
		t.Error("it is told for ever")
	}
	for range maxWaiting {
		<-w.events
	}

	if _, more := <-w.events; more {
		t.Error("the channel is open")
	}
	s.forget(w)
}
