//go:build windows

// Command hnsload fills HNS as kube-proxy does at its first synchronisation: for each Service some remote endpoints and a
// load balancer, call by call. It prints how many calls that were and how long they took.
//
//	hnsload <network> <services> <endpoints per service>
package main

import (
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

// call calls a function of computenetwork.dll; the last argument is where an error's record goes.
func (c *caller) call(name string, args ...uintptr) error {
	var record *uint16
	c.calls++
	result, _, _ := c.dll.MustFindProc(name).Call(append(args, uintptr(unsafe.Pointer(&record)))...)
	if int32(result) < 0 {
		return fmt.Errorf("%s: 0x%08x", name, uint32(result))
	}
	return nil
}

func text(s string) uintptr {
	p, err := syscall.UTF16PtrFromString(s)
	if err != nil {
		panic(err)
	}
	return uintptr(unsafe.Pointer(p))
}

// make makes an object, reads it back as hnslib does, and returns its GUID's text.
func (c *caller) make(kind, settings string, network uintptr) (string, error) {
	var handle, properties uintptr
	var wanted guid
	args := []uintptr{uintptr(unsafe.Pointer(&wanted)), text(settings), uintptr(unsafe.Pointer(&handle))}
	if network != 0 {
		args = append([]uintptr{network}, args...)
	}
	if err := c.call("HcnCreate"+kind, args...); err != nil {
		return "", err
	}
	if err := c.call("HcnQuery"+kind+"Properties", handle, text("{}"), uintptr(unsafe.Pointer(&properties))); err != nil {
		return "", err
	}
	id := utf16At(properties, len(`{"ID":"00000000-0000-0000-0000-000000000000"`))[7:43]
	_, _, _ = c.dll.MustFindProc("HcnClose" + kind).Call(handle)
	return id, nil
}

func utf16At(p uintptr, n int) string {
	return syscall.UTF16ToString(unsafe.Slice((*uint16)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n))
}

func run(args []string) error {
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
			if err := c.call("HcnOpenNetwork", uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&network))); err != nil {
				return err
			}
			n := i*each + j
			ep, err := c.make("Endpoint", fmt.Sprintf(`{"Flags":1,"IpConfigurations":[{"IpAddress":"10.%d.%d.%d"}]}`, 64+n>>16, n>>8&255, n&255), network)
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
