//go:build windows

// Command hnsload fills HNS as kube-proxy does at its first synchronisation: for each Service some remote endpoints and
// a load balancer, call by call. It prints how many calls that were and how long they took.
//
//	hnsload <network> <services> <endpoints per service>
//
// With list it reads all endpoints and load balancers as kube-proxy does at each synchronisation, deletes one load
// balancer, and reads again.
//
//	hnsload list
//
// With guest it makes a guest network service, reserves ports for it, and is told of events; it leaves a port reserved.
//
//	hnsload guest
//
// With containers it lists the containers that vmcompute.dll shows, with the memory they use.
//
//	hnsload containers
//
// With systems it makes a compute system by vmcompute.dll on a scratch's volume above a layer, and runs two programs.
//
//	hnsload systems <volume> <layer>
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

type guid [16]byte

type caller struct {
	dll   *syscall.DLL
	calls int
}

// call calls a function of computenetwork.dll; the last argument is where an error's record goes. Pointers among the
// arguments have to be converted in the call itself: then what they point to stays where it is until the call is over.
//
//go:uintptrescapes
func (c *caller) call(name string, args ...uintptr) error {
	var record *uint16
	c.calls++
	result, _, _ := c.dll.MustFindProc(name).Call(append(args, uintptr(unsafe.Pointer(&record)))...)
	if int32(result) < 0 {
		return fmt.Errorf("%s: 0x%08x", name, uint32(result))
	}
	return nil
}

func text(s string) unsafe.Pointer {
	p, err := syscall.UTF16PtrFromString(s)
	if err != nil {
		panic(err)
	}
	return unsafe.Pointer(p)
}

// make makes an object, reads it back as hnslib does, and returns its GUID's text.
func (c *caller) make(kind, settings string, network uintptr) (string, error) {
	var handle, properties uintptr
	var wanted guid
	var err error
	if network != 0 {
		err = c.call("HcnCreate"+kind, network, uintptr(unsafe.Pointer(&wanted)), uintptr(text(settings)),
			uintptr(unsafe.Pointer(&handle)))
	} else {
		err = c.call("HcnCreate"+kind, uintptr(unsafe.Pointer(&wanted)), uintptr(text(settings)),
			uintptr(unsafe.Pointer(&handle)))
	}
	if err != nil {
		return "", err
	}

	if err := c.call("HcnQuery"+kind+"Properties", handle, uintptr(text("{}")),
		uintptr(unsafe.Pointer(&properties))); err != nil {
		return "", err
	}
	id := utf16At(properties, len(`{"ID":"00000000-0000-0000-0000-000000000000"`))[7:43]
	_, _, _ = c.dll.MustFindProc("HcnClose" + kind).Call(handle)
	return id, nil
}

func utf16At(p uintptr, n int) string {
	first := (*uint16)(*(*unsafe.Pointer)(unsafe.Pointer(&p)))
	length := 0
	for length < n && *(*uint16)(unsafe.Add(unsafe.Pointer(first), 2*length)) != 0 {
		length++
	}
	return syscall.UTF16ToString(unsafe.Slice(first, length))
}

// list reads all objects of a kind as hnslib does: their GUIDs, and then one after another.
func (c *caller) list(kind string) ([]guid, error) {
	var found uintptr
	if err := c.call("HcnEnumerate"+kind+"s", uintptr(text("{}")), uintptr(unsafe.Pointer(&found))); err != nil {
		return nil, err
	}
	var ids []string
	if err := json.Unmarshal([]byte(utf16At(found, 1<<24)), &ids); err != nil {
		return nil, err
	}

	var all []guid
	for _, id := range ids {
		g, err := parseGUID(id)
		if err != nil {
			return nil, err
		}
		properties, err := c.read(kind, g)
		if err != nil {
			return nil, err
		}

		var object struct{ ID string }
		if err := json.Unmarshal([]byte(properties), &object); err != nil || object.ID != id {
			return nil, fmt.Errorf("%s %s has the properties %.200s: %w", kind, id, properties, err)
		}
		all = append(all, g)
	}

	return all, nil
}

func (c *caller) read(kind string, id guid) (string, error) {
	var handle, properties uintptr
	if err := c.call("HcnOpen"+kind, uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&handle))); err != nil {
		return "", err
	}
	defer func() { _, _, _ = c.dll.MustFindProc("HcnClose" + kind).Call(handle) }()
	if err := c.call("HcnQuery"+kind+"Properties", handle, uintptr(text("{}")),
		uintptr(unsafe.Pointer(&properties))); err != nil {
		return "", err
	}
	return utf16At(properties, 1<<20), nil
}

func (c *caller) listAll() error {
	start := time.Now()
	endpoints, err := c.list("Endpoint")
	if err != nil {
		return err
	}
	balancers, err := c.list("LoadBalancer")
	if err != nil {
		return err
	}

	fmt.Printf("%d endpoints and %d load balancers read in %.0f ms\n", len(endpoints), len(balancers),
		time.Since(start).Seconds()*1000)
	if len(balancers) == 0 {
		return errors.New("no load balancers")
	}
	if err := c.call("HcnDeleteLoadBalancer", uintptr(unsafe.Pointer(&balancers[0]))); err != nil {
		return err
	}

	if properties, err := c.read("LoadBalancer", balancers[0]); err == nil {
		return fmt.Errorf("a load balancer that is gone has the properties %s", properties)
	}
	rest, err := c.list("LoadBalancer")
	if err == nil && len(rest) != len(balancers)-1 {
		err = fmt.Errorf("%d load balancers after one of %d was deleted", len(rest), len(balancers))
	}
	return err
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "containers" {
		return containers()
	}
	if len(args) == 3 && args[0] == "systems" {
		return systems(args[1], args[2])
	}

	if len(args) == 1 {
		dll, err := syscall.LoadDLL("computenetwork.dll")
		if err != nil {
			return err
		}

		c := &caller{dll: dll}
		switch args[0] {
		case "list":
			return c.listAll()
		case "guest":
			return guest(c)
		}
	}

	if len(args) != 3 {
		return errors.New("usage: hnsload <network> <services> <endpoints per service>")
	}

	id, err := parseGUID(args[0])
	services, err2 := strconv.Atoi(args[1])
	each, err3 := strconv.Atoi(args[2])
	dll, err4 := syscall.LoadDLL("computenetwork.dll")
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}

	c := &caller{dll: dll}
	start := time.Now()
	for i := range services {
		backends := ""
		for j := range each {
			var network uintptr
			if err := c.call("HcnOpenNetwork", uintptr(unsafe.Pointer(&id)),
				uintptr(unsafe.Pointer(&network))); err != nil {
				return err
			}

			n := i*each + j
			ep, err := c.make("Endpoint",
				fmt.Sprintf(`{"Flags":1,"IpConfigurations":[{"IpAddress":"10.%d.%d.%d"}]}`, 64+n>>16, n>>8&255, n&255),
				network)
			if err != nil {
				return err
			}

			if backends != "" {
				backends += ","
			}
			backends += strconv.Quote(ep)
		}

		_, err := c.make("LoadBalancer", fmt.Sprintf(`{"HostComputeEndpoints":[%s],"FrontendVIPs":["10.96.%d.%d"],"Flags":1,
			"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80}]}`, backends, i>>8, i&255), 0)
		if err != nil {
			return err
		}
	}

	fmt.Printf("%d calls in %.1f s\n", c.calls, time.Since(start).Seconds())
	return nil
}

// parseGUID reads a GUID as it lies in memory: its first three parts are little endian.
func parseGUID(s string) (guid, error) {
	var g guid
	order := []int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}
	digits := ""
	for _, r := range s {
		if r != '-' {
			digits += string(r)
		}
	}

	if len(digits) != 32 {
		return g, fmt.Errorf("read GUID %q", s)
	}

	for i, at := range order {
		b, err := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
		if err != nil {
			return g, fmt.Errorf("read GUID %q: %w", s, err)
		}
		g[at] = byte(b)
	}

	return g, nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
