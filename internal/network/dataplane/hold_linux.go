package dataplane

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/network/netplan"
)

// sockets are the file descriptors of sockets that are bound to held ports.
type sockets []int

// HoldPorts binds the ports on every address of the host, so that no program of the host can bind them or gets one of
// them as the source port of a connection. Nothing listens: a connection is refused, and a datagram dropped.
func (p *Plane) HoldPorts(ports netplan.HeldPorts) (io.Closer, error) {
	var held sockets
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return nil, err
	}

	err := p.host.inHost(func() error {
		for port := int(ports.First); port <= int(ports.Last); port++ {
			for kind, wanted := range map[int]bool{unix.SOCK_STREAM: ports.TCP, unix.SOCK_DGRAM: ports.UDP} {
				if !wanted {
					continue
				}
				fd, err := bindEverywhere(kind, port)
				if err != nil {
					return fmt.Errorf("bind port %d: %w", port, err)
				}
				held = append(held, fd)

				// the kernel gives the lowest free descriptor, so half of them are left to the rest of the process
				if uint64(fd) > files.Cur/2 {
					return fmt.Errorf("hold port %d: %w", port, unix.EMFILE)
				}
			}
		}

		return nil
	})
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}

	return held, nil
}

// bindEverywhere binds a port of both families, or of IPv4 where the machine has no IPv6.
func bindEverywhere(kind, port int) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_INET6, kind|unix.SOCK_CLOEXEC, 0)
	var addr unix.Sockaddr = &unix.SockaddrInet6{Port: port}
	switch {
	case err == nil:
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
	case errors.Is(err, unix.EAFNOSUPPORT):
		addr = &unix.SockaddrInet4{Port: port}
		fd, err = unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
	}

	if err != nil {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
		return -1, err
	}
	if kind == unix.SOCK_DGRAM {
		err = dropAll(fd)
	}

	if err == nil {
		err = unix.Bind(fd, addr)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}

	return fd, nil
}

// dropAll makes a socket drop all that it receives, because nobody reads from it.
func dropAll(fd int) error {
	filter := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{
		Len:    1,
		Filter: &filter,
	})
}

// Close gives the ports back.
func (s sockets) Close() error {
	var err error
	for _, fd := range s {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}
