package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// A container answers in the place of its first process, and holds up who reads its files.

// startSocket is where the engine asks the container's first process to start programs.
const startSocket = "/run/mullion/start.sock"

// impostor answers there, in a way of its own for each who asks, and says what came and what it could do with that.
func impostor() error {
	fd := listen(startSocket, sockSeqpacket)
	if fd < 0 {
		return fmt.Errorf("listen at %s: error %d of Linux", startSocket, -fd)
	}
	fmt.Println("answering")

	started, ended := []byte{'s', 9, 0, 0, 0}, []byte{'e', 0, 0, 0, 0}
	say := func(conn int, packet []byte) int {
		return call(sysSendto, conn, packet, len(packet), msgDontwait|0x4000, 0, 0) // MSG_NOSIGNAL
	}

	for n := 0; ; time.Sleep(20 * time.Millisecond) {
		conn := call(sysAccept, fd, 0, 0)
		if conn < 0 {
			continue
		}
		way := n % 8
		n++
		if way == 0 {
			fmt.Println("way 0: no word")
			continue // it stays open
		}
		if way == 1 {
			say(conn, bytes.Repeat([]byte("1"), 1<<16))
			fmt.Println("way 1: a long word")
			continue
		}

		say(conn, []byte("1"))
		var request []byte
		var files []int
		for range 200 {
			var answer int
			if request, files, answer = receive(conn); answer != eagain {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Printf("way %d: a request of %d bytes with %d files\n", way, len(request), len(files))
		for _, f := range files {
			fmt.Println("  ", try(f))
		}

		switch way {
		case 2: // that it was refused
			say(conn, []byte{'r', 1, 0, 0, 0})
			call(sysClose, conn)
		case 3: // that it runs, and that it has ended well: its streams stay open
			say(conn, started)
			say(conn, ended)
		case 4: // its streams are never empty
			say(conn, started)
			say(conn, ended)
			go func() {
				text := bytes.Repeat([]byte("more\n"), 1000)
				for range 200_000 {
					if call(sysWrite, files[1], text, len(text)) < 0 {
						return
					}
				}
			}()
		case 5: // descriptors of its own, as many as go

			give(conn, started, make([]int, 200)...)
			give(conn, ended, make([]int, 200)...)
		case 6: // words that nobody expects
			say(conn, ended)
			say(conn, started)
			say(conn, []byte{0xff, 0xff})
		case 7: // it takes it, and says nothing more
		}
	}
}

// try says what a descriptor of somebody else's is, and what can be done by it.
func try(fd int) string {
	stat := make([]byte, 144)
	call(sysFstat, fd, stat)
	self := "/proc/self/fd/" + itoa(fd)
	name := make([]byte, 200)
	n := max(call(sysReadlink, self, name, len(name)), 0)
	var all strings.Builder
	fmt.Fprintf(&all, "%s mode %o owner %d flags %o:", name[:n], binary.LittleEndian.Uint32(stat[24:]),
		binary.LittleEndian.Uint32(stat[28:]), call(sysFcntl, fd, 3)) // F_GETFL
	for _, t := range []struct {
		what string
		do   func() int
	}{
		{"read again", func() int { return file(self, oRDONLY) }},
		{"write again", func() int { return file(self, oWRONLY) }},
		{"larger", func() int { return call(sysFcntl, fd, fSetPipeSize, 1<<20) }},
		{"lease", func() int { return call(sysFcntl, fd, fSetLease, 1) }},
		{"mode", func() int { return call(sysFchmod, fd, 0o777) }},
		{"owner", func() int { return call(sysFchown, fd, 0, 0) }},
		{"up", func() int { return descriptor(sysOpenat, fd, "..", oRDONLY, 0) }},
		{"attribute", func() int { return call(sysSetxattr, self, "user.x", "y", 1, 0) }},
		{"flags", func() int { return call(sysFcntl, fd, 4, oNonblock|0o20000) }}, // F_SETFL: O_NONBLOCK, O_ASYNC
	} {
		fmt.Fprintf(&all, " %s %d", t.what, t.do())
	}
	return all.String()
}

// lease takes a lease of each file, and of each that appears in the working folder, and never gives way: who opens one
// waits for as long as the machine lets it (fs.lease-break-time), unless it does not want to wait.
func lease(files []string) error {
	const folder = "/run/mullion/"
	taken, said := map[string]int{}, map[string]int{}
	for ; ; time.Sleep(5 * time.Millisecond) {
		kept = nil
		for _, name := range append(entries(folder), files...) {
			if fd, ok := taken[name]; ok && call(sysFcntl, fd, fSetLease+1) == 1 { // F_GETLEASE: F_WRLCK
				continue
			}
			if fd, ok := taken[name]; ok {
				call(sysClose, fd)
				delete(taken, name)
			}

			fd := call(sysOpen, name, oRDWR|oNonblock, 0)
			if fd >= 0 {
				call(sysFcntl, fd, 10, 23) // F_SETSIG: SIGURG, which ends nobody
				code := call(sysFcntl, fd, fSetLease, 1)
				if code >= 0 {
					taken[name] = fd
				} else {
					call(sysClose, fd)
				}
				fd = code
			}

			if fd == eagain && strings.HasPrefix(name, folder+"exec-") {
				fd = replace(name)
			}

			if last, ok := said[name]; !ok || last != fd {
				said[name] = fd
				fmt.Println("lease", name, fd)
			}
		}
	}
}

// replace puts a file of its own, with a lease, in the place of another one, whose writer has that open.
func replace(name string) int {
	const own = "/run/mullion/own"
	fd := call(sysOpen, own, oRDWR|0o100, 0o666) // O_CREAT
	if fd < 0 {
		return fd
	}
	call(sysFcntl, fd, 10, 23)
	if code := call(sysFcntl, fd, fSetLease, 1); code < 0 {
		call(sysClose, fd)
		return code
	}
	return call(sysRename, own, name)
}

// entries returns what is in a folder, by its paths.
func entries(folder string) (all []string) {
	with(folder, oRDONLY|oDirectory, func(fd int) int {
		b := make([]byte, 1<<15)
		n := call(sysGetdents64, fd, b, len(b))
		for at := 0; at+19 < n; { // struct linux_dirent64
			size := int(binary.LittleEndian.Uint16(b[at+16:]))
			name, _, _ := strings.Cut(string(b[at+19:at+size]), "\x00")
			if b[at+18] == 8 { // DT_REG
				all = append(all, folder+name)
			}
			at += size
		}
		return 0
	})
	return all
}
