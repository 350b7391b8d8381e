package main

import (
	"encoding/binary"
	"runtime"
)

// What follows is of the kernel, not of a container's memory: it is counted for a user, for the machine or not at all,
// unless somebody sets a limit.

// unbounded is for what only the memory of the container bounds.
const unbounded = 1 << 30

const (
	fSetfl, fSetPipeSize, fOfdSetlk = 4, 1031, 37
	solSocket, soSndbuf             = 1, 7
	eagain, enobufs                 = -11, -105
)

// filler fills what pair makes, whose first end is never read: a mebibyte each time, by as many pairs as that takes.
func filler(pair func() (write int)) func(int) int {
	content := make([]byte, 1<<16)
	to := -1
	return func(int) int {
		for left := chunk; left > 0; {
			n := eagain
			if to >= 0 {
				n = call(sysWrite, to, content, min(left, len(content)))
			}
			if n == eagain {
				if to = pair(); to < 0 {
					return to
				}
				if n = call(sysWrite, to, content, min(left, len(content))); n < 0 {
					return n
				}
			}
			if n < 0 {
				return n
			}

			left -= n
		}

		return 0
	}
}

// loopback returns an address of the family of internet, with a port.
func loopback(port uint16) []byte {
	return append([]byte{afInet, 0, byte(port >> 8), byte(port), 127, 0, 0, 1}, make([]byte, 8)...)
}

// bound makes a socket with a port of the loopback.
func bound(kind int) (fd int, address []byte) {
	fd = call(sysSocket, afInet, kind, 0)
	if fd < 0 {
		return fd, nil
	}
	address = loopback(0)
	if code := call(sysBind, fd, address, len(address)); code < 0 {
		return code, nil
	}
	call(sysGetsockname, fd, address, words(uint32(len(address))))
	return fd, address
}

func tcpPair() int {
	server, address := bound(sockStream)
	if server < 0 {
		return server
	}
	defer call(sysClose, server)
	if code := call(sysListen, server, 1); code < 0 {
		return code
	}

	client := call(sysSocket, afInet, sockStream, 0)
	if client < 0 {
		return client
	}
	call(sysSetsockopt, client, solSocket, soSndbuf, words(1<<30), 4)
	if code := call(sysConnect, client, address, len(address)); code < 0 {
		return code
	}

	if code := call(sysAccept, server, 0, 0); code < 0 {
		return code
	}
	call(sysFcntl, client, fSetfl, oNonblock)
	return client
}

// second returns the second of the descriptors that a call of the kind of pipe(2) wrote.
func second(b []byte) int { return int(binary.LittleEndian.Uint32(b[4:])) }

func unixPair() int {
	ends := make([]byte, 8)
	if code := call(sysSocketpair, afUnix, sockStream|oNonblock, 0, ends); code < 0 {
		return code
	}
	return second(ends)
}

func bigPipe() int {
	ends := make([]byte, 8)
	if code := call(sysPipe2, ends, oNonblock); code < 0 {
		return code
	}
	write := second(ends)
	call(sysFcntl, write, fSetPipeSize, chunk)
	return write
}

// fullReceiver returns a socket of UDP with as many datagrams as it takes.
func fullReceiver() int {
	fd, address := bound(sockDgram)
	if fd < 0 {
		return fd
	}
	datagram := make([]byte, 32<<10)
	for range 8 {
		if code := call(sysSendto, fd, datagram, len(datagram), 0, address, len(address)); code < 0 {
			return code
		}
	}
	return 0
}

// fullNetlink returns a socket of netlink with as many answers as it takes.
func fullNetlink() int {
	fd := call(sysSocket, afNetlink, sockRaw, 0)
	if fd < 0 {
		return fd
	}
	request := binary.LittleEndian.AppendUint32(nil, 16)

	// of a kind that there is not: an error is the answer
	request = append(request, 0xff, 0, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0)
	for range 4096 {
		code := call(sysSendto, fd, request, len(request), oNonblock>>5, 0, 0) // MSG_DONTWAIT
		if code == eagain || code == enobufs {
			return 0
		}
		if code < 0 {
			return code
		}
	}

	return 0
}

// fullPing returns a socket of ping with as many answers as it takes, from itself.
func fullPing() int {
	fd := call(sysSocket, afInet, sockDgram, 1) // IPPROTO_ICMP
	if fd < 0 {
		return fd
	}
	request := append([]byte{8, 0}, make([]byte, 32<<10)...) // ICMP_ECHO
	for range 8 {
		if code := call(sysSendto, fd, request, len(request), 0, loopback(0), 16); code < 0 {
			return code
		}
	}
	return 0
}

// watcher has pollers watch events, each of them all events.
func watcher() func(int) int {
	const events = 4096
	var all []int
	poller := -1
	return func(n int) int {
		if len(all) < events {
			fd := call(sysEventfd2, 0, 0)
			if fd < 0 {
				return fd
			}
			all = append(all, fd)
		}

		if n%events == 0 {
			if poller = call(sysEpollCreate1, 0); poller < 0 {
				return poller
			}
		}

		return call(sysEpollCtl, poller, 1, all[n%events], make([]byte, 12)) // EPOLL_CTL_ADD
	}
}

// sender sends descriptors that nobody takes, so many at a time as a message may have.
func sender() func(int) int {
	const most = 253
	control := binary.LittleEndian.AppendUint64(nil, 16+4*most)
	control = append(control, words(solSocket, 1)...) // SCM_RIGHTS
	for range most {
		control = append(control, words(2)...)
	}

	control = append(control, words(0)...)
	content := []byte("x")
	vector := binary.LittleEndian.AppendUint64(nil, uint64(pointer(content)))
	vector = binary.LittleEndian.AppendUint64(vector, 1)
	var message []byte
	for _, v := range []uint64{0, 0, uint64(pointer(vector)), 1, uint64(pointer(control)), uint64(len(control)), 0} {
		message = binary.LittleEndian.AppendUint64(message, v)
	}

	to := -1
	return func(int) int {
		if to >= 0 {
			if code := call(sysSendmsg, to, message, 0); code != eagain {
				return code
			}
		}
		if to = unixPair(); to < 0 {
			return to
		}

		return call(sysSendmsg, to, message, 0)
	}
}

// memoryFile returns a file of a mebibyte that is in memory alone.
func memoryFile(int) int {
	fd := call(sysMemfdCreate, "attack", 0)
	if fd < 0 {
		return fd
	}
	return call(sysWrite, fd, make([]byte, chunk), chunk)
}

// messenger sends messages that nobody takes, with a queue for each.
func messenger() func(int) int {
	message := append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 8192)...)
	return func(int) int {
		queue := call(sysMsgget, 0, 0o1600) // IPC_PRIVATE
		if queue < 0 {
			return queue
		}
		return min(call(sysMsgsnd, queue, message, 8192, 0o4000), 0) // IPC_NOWAIT
	}
}

// mapped maps memory that nothing else is mapped beside.
func mapped(size, protection int) int {
	const privateAnonymous = 0x22
	return min(call(sysMmap, 0, size, protection, privateAnonymous, -1, 0), 0)
}

// locker locks every second byte of a file.
func locker() func(int) int {
	fd := -1
	return func(n int) int {
		if fd < 0 {
			if fd = call(sysOpen, "/tmp/locked", oRDWR|0o100, 0o600); fd < 0 {
				return fd
			}
		}
		lock := words(1, 0) // F_WRLCK, SEEK_SET
		lock = binary.LittleEndian.AppendUint64(lock, uint64(unbounded-2*n))
		lock = binary.LittleEndian.AppendUint64(lock, 1)
		return call(sysFcntl, fd, fOfdSetlk, append(lock, make([]byte, 8)...))
	}
}

// queuer queues signals for its own thread, which does not take them.
func queuer() func(int) int {
	const number = 50
	info := append(words(number, 0, 0xffffffff), make([]byte, 128)...) // SI_QUEUE
	thread := 0
	return func(int) int {
		if thread == 0 {
			runtime.LockOSThread()
			mask := binary.LittleEndian.AppendUint64(nil, 1<<(number-1))
			call(sysSigprocmask, 0, mask, 0, 8)
			thread = call(sysGettid)
		}
		return call(sysTgsigqueueinfo, call(sysGetpid), thread, number, info)
	}
}
