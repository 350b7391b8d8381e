//go:build windows

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// told is what a callback was called with.
type told struct {
	event uint32
	data  string
}

// watched collects what callbacks of this program are told.
type watched struct {
	events   chan told
	callback uintptr
}

// newWatched collects up to so many events; the callback then waits for someone to take one.
func newWatched(room int) *watched {
	w := &watched{events: make(chan told, room)}
	w.callback = syscall.NewCallback(func(event, context, status uintptr, data *uint16) uintptr {
		text := ""
		if data != nil {
			text = utf16At(uintptr(unsafe.Pointer(data)), 1<<16)
		}
		if context != 42 || status != 0 {
			text = fmt.Sprintf("context %d, status %x", context, status)
		}
		w.events <- told{uint32(event), text}
		return 0
	})
	return w
}

// expect waits for an event; with about its data must name that object.
func (w *watched) expect(event uint32, about string) error {
	want := told{event, ""}
	if about != "" {
		want.data = `{"ID":"` + about + `","Flags":0}`
	}
	select {
	case got := <-w.events:
		if got != want {
			return fmt.Errorf("told %x %s, want %x %s", got.event, got.data, want.event, want.data)
		}
		return nil
	case <-time.After(20 * time.Second):
		return fmt.Errorf("not told of %x %s", want.event, want.data)
	}
}

func (w *watched) register(c *caller, function string, of ...uintptr) (handle uintptr, err error) {
	args := append(of, w.callback, 42, uintptr(unsafe.Pointer(&handle)))
	return handle, c.call(function, args...)
}

// makeGuest makes a guest network service and returns its handle and GUID.
func makeGuest(c *caller) (handle uintptr, id string, err error) {
	var wanted guid
	settings := `{"MirrorHostNetworking":true,"Flags":3,"SchemaVersion":{"Major":2,"Minor":0}}`
	if err := c.call("HcnCreateGuestNetworkService", uintptr(unsafe.Pointer(&wanted)), uintptr(text(settings)),
		uintptr(unsafe.Pointer(&handle))); err != nil {
		return 0, "", err
	}
	var properties uintptr
	if err := c.call("HcnQueryGuestNetworkServiceProperties", handle, uintptr(text("{}")),
		uintptr(unsafe.Pointer(&properties))); err != nil {
		return 0, "", err
	}
	return handle, utf16At(properties, 1<<16)[7:43], nil
}

func reserve(c *caller, service uintptr, port int) (handle uintptr, err error) {
	return handle, c.call("HcnReserveGuestNetworkServicePort", service, 1, 1, uintptr(port),
		uintptr(unsafe.Pointer(&handle)))
}

func listenable(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// ports reserves ports and looks at what others see of it.
func ports(c *caller, service uintptr) error {
	handle, err := reserve(c, service, 8080)
	if err != nil {
		return err
	}
	if listenable(8080) {
		return errors.New("a program binds a reserved port")
	}

	if _, err := reserve(c, service, 8080); err == nil ||
		err.Error() != "HcnReserveGuestNetworkServicePort: 0x803b0013" {
		return fmt.Errorf("the same port again: %v", err)
	}

	var of struct{ first, last uint16 }
	var held uintptr
	if err := c.call("HcnReserveGuestNetworkServicePortRange", service, 63, uintptr(unsafe.Pointer(&of)),
		uintptr(unsafe.Pointer(&held))); err != nil {
		return err
	}
	if of.first != 49152 || of.last != 49152+63 || listenable(int(of.last)) {
		return fmt.Errorf("range %d to %d", of.first, of.last)
	}

	var count uint32
	var entries uintptr
	if err := c.call("HcnEnumerateGuestNetworkPortReservations", uintptr(unsafe.Pointer(&count)),
		uintptr(unsafe.Pointer(&entries))); err != nil {
		return err
	}
	if count != 2 {
		return fmt.Errorf("%d reservations, want 2", count)
	}

	second := unsafe.Slice((*uint16)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&entries)), 64)), 32)
	if second[16] != 3 || second[30] != of.first || second[31] != of.last {
		return fmt.Errorf("entry % x", second)
	}

	_, _, _ = c.dll.MustFindProc("HcnFreeGuestNetworkPortReservations").Call(entries)
	for _, h := range []uintptr{handle, held} {
		if err := c.call("HcnReleaseGuestNetworkServicePortReservationHandle", h); err != nil {
			return err
		}
	}

	if !listenable(8080) || !listenable(int(of.last)) {
		return errors.New("a port that was given back cannot be bound")
	}
	if _, err := reserve(c, service, 8090); err != nil { // ends with the program
		return fmt.Errorf("the port that the program before left: %w", err)
	}
	return nil
}

// namespace makes a namespace and deletes it again.
func namespace(c *caller) (string, error) {
	id, err := c.make("Namespace", "{}", 0)
	if err != nil {
		return "", err
	}
	g, err := parseGUID(id)
	if err != nil {
		return "", err
	}
	return id, c.call("HcnDeleteNamespace", uintptr(unsafe.Pointer(&g)))
}

// slow is a program that takes its time with each event: the others wait in the connection meanwhile.
func slow(c *caller) error {
	w := newWatched(0)
	handle, err := w.register(c, "HcnRegisterServiceCallback")
	if err != nil {
		return err
	}

	var made []string
	for range 5 {
		ns, err := namespace(c)
		if err != nil {
			return err
		}
		made = append(made, ns)
	}

	for _, ns := range made {
		if err := errors.Join(w.expect(0x5, ns), w.expect(0x6, ns)); err != nil {
			return err
		}
	}

	return c.call("HcnUnregisterServiceCallback", handle)
}

// guest goes through what programs for guests do: callbacks and reserved ports.
func guest(c *caller) error {
	if err := slow(c); err != nil {
		return err
	}
	all, some := newWatched(100), newWatched(100)
	service, err := all.register(c, "HcnRegisterServiceCallback")
	if err != nil {
		return err
	}

	handle, id, err := makeGuest(c)
	if err != nil {
		return err
	}
	mine, err := some.register(c, "HcnRegisterGuestNetworkServiceCallback", handle)
	if err != nil {
		return err
	}

	state := `{"ResourceType":"State","RequestType":"Update","Settings":{"State":"Bootstrapping"}}`
	if err := c.call("HcnModifyGuestNetworkService", handle, uintptr(text(state))); err != nil {
		return err
	}
	ns, err := namespace(c)
	if err := errors.Join(err, all.expect(0x7, id), some.expect(0x11, id), all.expect(0x5, ns),
		all.expect(0x6, ns)); err != nil {
		return err
	}

	if err := ports(c, handle); err != nil {
		return err
	}
	if err := c.call("HcnUnregisterGuestNetworkServiceCallback", mine); err != nil {
		return err
	}
	if err := c.call("HcnUnregisterGuestNetworkServiceCallback", 0); err == nil {
		return errors.New("no handle at all is unregistered")
	}

	return restarted(c, all, service, some, id)
}

// restarted waits for the service to restart, and registers anew.
func restarted(c *caller, all *watched, service uintptr, none *watched, id string) error {
	if err := os.WriteFile(`C:\waiting.txt`, nil, 0o600); err != nil {
		return err
	}
	if err := errors.Join(all.expect(0x01000000, ""), c.call("HcnUnregisterServiceCallback", service)); err != nil {
		return err
	}

	service, err := all.register(c, "HcnRegisterServiceCallback")
	if err != nil {
		return err
	}
	g, err := parseGUID(id)
	if err != nil {
		return err
	}

	if err := errors.Join(c.call("HcnDeleteGuestNetworkService", uintptr(unsafe.Pointer(&g))),
		all.expect(0x8, id)); err != nil {
		return err
	}
	if err := c.call("HcnUnregisterServiceCallback", service); err != nil {
		return err
	}

	if _, err := namespace(c); err != nil {
		return err
	}

	select {
	case e := <-all.events:
		return fmt.Errorf("told %+v after the end", e)
	case e := <-none.events:
		return fmt.Errorf("told %+v after the end", e)
	case <-time.After(300 * time.Millisecond):
	}

	return nil
}
