package main

import (
	"bytes"
	"net/netip"
	"os"
)

// kinds returns those of sockets that a container has.
func kinds() []struct {
	name                   string
	family, kind, protocol int
} {
	return []struct {
		name                   string
		family, kind, protocol int
	}{
		{"unix-stream", afUnix, sockStream, 0},
		{"unix-datagram", afUnix, sockDgram, 0},
		{"unix-packets", afUnix, sockSeqpacket, 0},
		{"tcp", afInet, sockStream, 0},
		{"tcp6", afInet6, sockStream, 0},
		{"udp", afInet, sockDgram, 0},
		{"udp6", afInet6, sockDgram, 0},
		{"netlink", afNetlink, sockRaw, 0},
	}
}

// socketWays are sockets, and what the kernel has to know of each.
func socketWays() []starver {
	var all []starver
	for _, k := range kinds() {
		all = append(all, starver{"sockets/" + k.name, many, byMemory, 200, every(sysSocket, k.family, k.kind, k.protocol)})
	}

	return append(all,
		starver{"sockets/ping", many, byMemory, 0, every(sysSocket, afInet, sockDgram, 1)},
		starver{"sockets/unix-named", many, byMemory, 100, each(func(n int) int {
			return boundTo(afUnix, append([]byte{afUnix, 0}, ("/tmp/socket"+itoa(n)+"\x00")...))
		})},
		starver{"sockets/unix-abstract", many, byMemory, 100, each(func(n int) int {
			return boundTo(afUnix, append([]byte{afUnix, 0, 0}, ("attack"+itoa(n))...))
		})},
		starver{"sockets/udp-bound", 1 << 17, byMemory, 100, each(func(int) int { fd, _ := bound(sockDgram); return fd })},
		starver{"sockets/tcp-bound", 4000, 4000, 100, each(func(int) int { fd, _ := bound(sockStream); return fd })},
		starver{"sockets/listening", 4000, 4000, 100, each(func(int) int {
			fd, _ := bound(sockStream)
			return call(sysListen, fd, 4096)
		})},
		starver{"sockets/connected", 1 << 17, byMemory, 100, each(func(int) int { return tcpPair() })},
		starver{"sockets/half-closed", 1 << 17, byMemory, 100, each(func(int) int {
			return call(sysShutdown, tcpPair(), 1)
		})},
		starver{"sockets/udp-connected", 1 << 17, byMemory, 100, each(func(int) int {
			fd, address := bound(sockDgram)
			return call(sysConnect, fd, address, len(address))
		})},
		starver{"sockets/unix-pairs", many, byMemory, 100, each(func(int) int { return pairOf(sockSeqpacket) })},
		starver{"sockets/unix-listening", many, byMemory, 100, each(func(n int) int {
			fd, address := call(sysSocket, afUnix, sockStream, 0), append([]byte{afUnix, 0, 0}, ("waits"+itoa(n))...)
			if code := call(sysBind, fd, address, len(address)); code < 0 {
				return code
			}
			return call(sysListen, fd, 4096)
		})},
		starver{"sockets/not-accepted", 1 << 17, byMemory, 100, notAccepted},
		starver{"sockets/orphans", 1 << 17, byMemory, 50, each(orphan)},
		starver{"sockets/without-answer", 1 << 17, byMemory, 0, each(func(n int) int { // to addresses for documents
			fd := call(sysSocket, afInet, sockStream|oNonblock, 0)
			to := append([]byte{afInet, 0, 0, 80, 203, 0, 113, byte(n)}, make([]byte, 8)...)
			if code := call(sysConnect, fd, to, len(to)); code != -115 { // EINPROGRESS
				return min(code, -1)
			}
			return 0
		})},
	)
}

func boundTo(family int, address []byte) int {
	fd := call(sysSocket, family, sockStream, 0)
	if fd < 0 {
		return fd
	}
	return call(sysBind, fd, address, len(address))
}

// notAccepted connects to sockets that accept nothing.
func notAccepted() func(int) int {
	var address []byte
	return func(n int) int {
		if n%100 == 0 {
			var fd int
			if fd, address = bound(sockStream); fd < 0 {
				return fd
			}
			if code := call(sysListen, fd, 4096); code < 0 {
				return code
			}
		}

		client := call(sysSocket, afInet, sockStream, 0)
		if client < 0 {
			return client
		}
		return call(sysConnect, client, address, len(address))
	}
}

// orphan returns a connection that is closed before its other end has read what it was sent.
func orphan(int) int {
	client := tcpPair()
	if client < 0 {
		return client
	}
	content := make([]byte, 1<<16)
	for range 8 {
		if code := call(sysWrite, client, content, len(content)); code < 0 {
			break
		}
	}
	return call(sysClose, client)
}

// unreadWays are bytes that nobody takes: a mebibyte each, unless the name says otherwise.
func unreadWays() []starver {
	var all []starver
	for _, w := range []struct {
		way  string
		pair func() int
	}{
		{"unix-stream", unixPair},
		{"unix-datagram", func() int { return pairOf(sockDgram) }},
		{"unix-packets", func() int { return pairOf(sockSeqpacket) }},
		{"pipe", func() int { return smallPipe(0) }},
		{"packet-pipe", func() int { return smallPipe(oDirect) }},
		{"big-pipe", bigPipe},
		{"terminal", func() int { return call(sysOpen, "/dev/ptmx", oRDWR|0o400|oNonblock, 0) }},
	} {
		all = append(all, starver{"unread/" + w.way, 2000, byMemory, 1, func() func(int) int { return filler(w.pair) }})
	}

	return append(all,
		starver{"unread/tcp", 1500, 480, 100, func() func(int) int { return filler(tcpPair) }},
		starver{"unread/udp-receivers", 6000, 6000, 100, each(func(int) int { return fullReceiver() })},
		starver{"unread/netlink-answers", 50000, byMemory, 300, each(func(int) int { return fullNetlink() })},
		starver{"unread/ping-answers", 50000, byMemory, 300, each(func(int) int { return fullPing() })},
		starver{"unread/descriptors", 1000, underWay, 20, sender},
		starver{"unread/corked-datagrams", 20000, byMemory, 50, each(corked)},
		starver{"unread/errors", 6000, byMemory, 50, each(errorQueue)},
		starver{"unread/memory-in-pipes", 20000, byMemory, 50, splicer},
	)
}

func pairOf(kind int) int {
	ends := make([]byte, 8)
	if code := call(sysSocketpair, afUnix, kind|oNonblock, 0, ends); code < 0 {
		return code
	}
	return second(ends)
}

func smallPipe(flags int) int {
	ends := make([]byte, 8)
	if code := call(sysPipe2, ends, oNonblock|flags); code < 0 {
		return code
	}
	return second(ends)
}

// corked returns a datagram of 60 KiB that waits for its rest.
func corked(int) int {
	fd, address := bound(sockDgram)
	if fd < 0 {
		return fd
	}
	content := make([]byte, 60<<10)
	return call(sysSendto, fd, content, len(content), 0x8000, address, len(address)) // MSG_MORE
}

// errorQueue returns a socket with errors that nobody reads.
func errorQueue(int) int {
	fd := call(sysSocket, afInet, sockDgram, 0)
	if fd < 0 {
		return fd
	}
	call(sysSetsockopt, fd, 0, 11, words(1), 4) // IP_RECVERR
	to, content := loopback(1), make([]byte, 1024)
	for range 64 {
		call(sysSendto, fd, content, len(content), oNonblock>>5, to, len(to))
	}
	return fd
}

// splicer gives pipes pages of its own memory, which stay as long as they are in the pipe.
func splicer() func(int) int {
	return func(int) int {
		write := smallPipe(0)
		if write < 0 {
			return write
		}
		at := call(sysMmap, 0, 1<<16, 3, 0x22, -1, 0)
		if at < 0 {
			return at
		}

		call(sysMadvise, at, 1<<16, 23) // MADV_POPULATE_WRITE
		vector := append(offset(at), offset(1<<16)...)
		if code := call(sysVmsplice, write, vector, 1, 0); code < 0 {
			return code
		}

		return min(call(sysMunmap, at, 1<<16), 0)
	}
}

// optionWays returns what options of sockets have the kernel keep.
func optionWays() []starver {
	option := func(family, level, name int, value func(n int) []byte) func() func(int) int {
		return each(func(n int) int {
			fd := call(sysSocket, family, sockDgram, 0)
			if fd < 0 {
				return fd
			}
			v := value(n)
			return call(sysSetsockopt, fd, level, name, v, len(v))
		})
	}

	filter := func(int) []byte { _, header := filterProgram(4096); return header }
	return []starver{
		{"options/filter", 20000, refused, 50, option(afInet, 1, 26, filter)}, // SO_ATTACH_FILTER
		{"options/filter-unix", 20000, refused, 50, option(afUnix, 1, 26, filter)},
		{"options/filter-of-reuse", 20000, refused, 0, option(afInet, 1, 51, filter)},
		{"options/extended-filter", 8, refused, 0, option(afInet, 1, 50, func(int) []byte { return words(0) })},
		{"options/flow-labels", 8000, refused, 100, option(afInet6, 41, 32, func(int) []byte {
			request := append(make([]byte, 15), 1)                          // ::1
			request = append(request, 0, 0, 0, 0, 0, 255, 1, 0, 0, 0, 0, 0) // get, any, create
			return append(request, make([]byte, 4)...)
		})},
		{"options/groups", 20000, byMemory, 50, option(afInet, 0, 35, func(n int) []byte { // IP_ADD_MEMBERSHIP
			return []byte{239, byte(n >> 16), byte(n >> 8), byte(n), 0, 0, 0, 0, 1, 0, 0, 0}
		})},
		{"options/groups-6", 20000, byMemory, 50, option(afInet6, 41, 20, func(n int) []byte {
			group := append([]byte{0xff, 0x12}, make([]byte, 11)...)
			return append(append(group, byte(n>>16), byte(n>>8), byte(n)), words(1)...)
		})},
		{"options/buffers-over-the-limit", 8, refused, 8, option(afInet, 1, 33, func(int) []byte {
			return words(1 << 30) // SO_RCVBUFFORCE
		})},
		{"options/of-packets", 20000, byMemory, 50, option(afInet, 0, 4, func(int) []byte {
			return bytes.Repeat([]byte{1}, 40) // IP_OPTIONS, of those that do nothing
		})},
		{"options/groups-of-sources", 20000, byMemory, 50, option(afInet, 0, 39, func(n int) []byte {
			// IP_ADD_SOURCE_MEMBERSHIP: group, interface, source
			return []byte{239, 1, byte(n >> 8), byte(n), 127, 0, 0, 1, 192, 0, 2, 1}
		})},
		{"options/time-stamps", many, byMemory, 50, option(afInet, 1, 29, func(int) []byte { return words(1) })},
		{"options/send-buffers-over-the-limit", 8, refused, 8, option(afInet, 1, 32, func(int) []byte {
			return words(1 << 30) // SO_SNDBUFFORCE
		})},
		{"options/priority", 8, refused, 8, option(afInet, 1, 12, func(int) []byte { return words(7) })},
		{"options/mark", 8, refused, 8, option(afInet, 1, 36, func(int) []byte { return words(1) })},
		// A container's own processor time; Linux refused it to others than root once.
		{"options/busy-poll", 8, 8, 0, option(afInet, 1, 46, func(int) []byte { return words(1 << 20) })},
		{"options/others-addresses", 8, refused, 8, option(afInet, 0, 19, func(int) []byte {
			return words(1) // IP_TRANSPARENT
		})},
		{"options/pinned-addresses", 20000, byMemory, 0, option(afInet6, 41, 2, func(int) []byte {
			return append(append(make([]byte, 15), 1), words(1)...) // IPV6_2292PKTINFO
		})},
	}
}

// refusedFamilies are sockets that a container does not get.
func refusedFamilies() []starver {
	var all []starver
	for _, k := range []struct {
		way                    string
		family, kind, protocol int
		root                   int
	}{
		{"packet", afPacket, sockRaw, 0x0300, 8},
		{"raw", afInet, sockRaw, 255, 8},
		{"raw6", afInet6, sockRaw, 58, 8},
		{"key", afKey, sockRaw, 2, 0},
		{"vsock", afVsock, sockStream, 0, 0},
		{"algorithms", afALG, sockSeqpacket, 0, 0},
		{"xdp", afXDP, sockRaw, 0, 0},
		{"tipc", afTIPC, sockSeqpacket, 0, 0},
		{"rds", afRDS, sockSeqpacket, 0, 0},
		{"bluetooth", afBluetooth, sockRaw, 1, 0},
		{"can", 29, sockRaw, 1, 0},
		{"kcm", 41, sockSeqpacket, 0, 0},
		{"smc", 43, sockStream, 0, 0},
		{"mctp", 45, sockDgram, 0, 0},
		{"routes-of-qualcomm", 42, sockDgram, 0, 0},
		{"sctp", afInet, sockStream, 132, 0},
		{"dccp", afInet, 6, 33, 0},
		{"multipath-tcp", afInet, sockStream, 262, 0},
		{"udp-lite", afInet, sockDgram, 136, 0},
		{"netlink-generic", afNetlink, sockRaw, 16, 8},
		{"netlink-netfilter", afNetlink, sockRaw, 12, 8},
		{"netlink-diagnosis", afNetlink, sockRaw, 4, 8},
		{"netlink-audit", afNetlink, sockRaw, 9, 0},
		{"netlink-transforms", afNetlink, sockRaw, 6, 0},
		{"netlink-devices", afNetlink, sockRaw, 15, 8},
		{"netlink-connector", afNetlink, sockRaw, 11, 0},
		{"netlink-cryptography", afNetlink, sockRaw, 21, 0},
	} {
		all = append(all, starver{"families/" + k.way, 8, refused, k.root, every(sysSocket, k.family, k.kind, k.protocol)})
	}

	return append(all,
		starver{"routes/new", 8, refused, 8, each(func(n int) int {
			return netlink(0, 24, 0x600, append([]byte{2, 32, 0, 0, 254, 4, 254, 1, 0, 0, 0, 0},
				append(attribute(1, []byte{192, 0, 2, byte(n)}), attribute(4, words(1))...)...))
		})},
		starver{"routes/addresses", 8, refused, 8, each(func(n int) int {
			return netlink(0, 20, 0x600, append(append([]byte{2, 32, 0, 0}, words(1)...),
				attribute(2, []byte{127, 9, 9, byte(n)})...))
		})},
		starver{"routes/links", 8, refused, 0, each(func(n int) int {
			dummy := attribute(18, attribute(1, []byte("dummy\x00\x00\x00")))
			return netlink(0, 16, 0x600, append(words(0, 0, 0, 0), dummy...))
		})},
		starver{"neighbours/permanent", 8, refused, 8, each(func(n int) int {
			return netlink(0, 28, 0x600, append(append([]byte{2, 0, 0, 0}, words(1)...), append([]byte{0x80, 0, 0, 0},
				attribute(1, []byte{127, 9, 9, byte(n)})...)...))
		})},
		starver{"neighbours/asked-for", 5000, open, 0, each(func(n int) int { // those of its own network
			return knock(append([]byte{afInet, 0, 0, 9}, podNetwork(n)...))
		})},
		starver{"neighbours/asked-for-6", 5000, open, 0, each(func(n int) int {
			to := append([]byte{afInet6, 0, 0, 9, 0, 0, 0, 0, 0xfe, 0x80}, make([]byte, 11)...)
			return knock(append(append(to, byte(n>>16), byte(n>>8), byte(n)), words(2)...))
		})},
		starver{"connections/to-the-kubelet", 200, 64, 0, each(func(int) int {
			node, err := netip.ParseAddr(os.Getenv("NODE"))
			if err != nil || !node.Is4() {
				return einval
			}
			fd := call(sysSocket, afInet, sockStream, 0)
			to := append(append([]byte{afInet, 0, 10250 >> 8, 10250 & 0xff}, node.AsSlice()...), make([]byte, 8)...)
			return min(fd, call(sysConnect, fd, to, len(to)))
		})},
		starver{"connections/through-the-node", 5000, open, 0, each(func(n int) int {
			return knock(append([]byte{afInet, 0, byte(n>>8) | 0x80, byte(n), 203, 0, 113, 9}, make([]byte, 8)...))
		})},
	)
}

// knock sends a datagram, by a socket that is closed again.
func knock(to []byte) int {
	return socket(to2(to), sockDgram, 0, func(fd int) int {
		return call(sysSendto, fd, "x", 1, oNonblock>>5, to, len(to))
	})
}

func to2(address []byte) int { return int(address[0]) }

// podNetwork returns an address of the network of eth0, or one of the loopback.
func podNetwork(n int) []byte {
	address := []byte{127, 0, byte(n >> 8), byte(n)}
	request := ifreq("eth0")
	socket(afInet, sockDgram, 0, func(fd int) int {
		if code := call(sysIoctl, fd, 0x8915, request); code >= 0 { // SIOCGIFADDR
			address = []byte{request[20], request[21], request[22], byte(n)}
		}
		return 0
	})
	return append(address, make([]byte, 8)...)
}
