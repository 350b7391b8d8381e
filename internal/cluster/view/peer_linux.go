package view

import (
	"errors"
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostGroups is how many groups a user may have (NGROUPS_MAX of Linux).
const mostGroups = 65536

// peerOf asks the kernel who connected. The answer is of the moment of the connection, and no peer can change it.
func peerOf(conn net.Conn) (peer, error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return peer{}, errors.New("ask who connected: it is no Unix socket")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return peer{}, err
	}

	var p peer
	var asked error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); asked != nil {
			return
		}
		p = peer{uid: cred.Uid, gid: cred.Gid}
		p.groups, asked = peerGroups(fd)
	})

	if err = errors.Join(err, asked); err != nil {
		return peer{}, fmt.Errorf("ask who connected: %w", err)
	}
	return p, nil
}

// peerGroups returns the supplementary groups of the peer (SO_PEERGROUPS, since Linux 4.13), for which x/sys has no
// function: https://man7.org/linux/man-pages/man7/unix.7.html
func peerGroups(fd uintptr) ([]uint32, error) {
	groups := make([]uint32, 64)
	for {
		size := uint32(len(groups)) * 4
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == 0:
			return groups[:size/4], nil
		case errno == unix.ERANGE && size/4 > uint32(len(groups)) && size/4 <= mostGroups:
			groups = make([]uint32, size/4)
		default:
			return nil, errno
		}
	}
}
