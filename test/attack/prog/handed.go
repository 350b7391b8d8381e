package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A container hands descriptors on by a socket of Unix in a volume: to another container of its pod, or to another pod.
// Who has them keeps what they are of, when their container and its cgroup are long gone.

const mostHanded = 253 // SCM_MAX_FD of net/scm.h

// unixAddress is the sockaddr_un of a path.
func unixAddress(path string) []byte { return append([]byte{afUnix, 0}, path+"\x00"...) }

// envelope returns a struct msghdr with content and control.
func envelope(content, control []byte) []byte {
	vector := binary.LittleEndian.AppendUint64(nil, uint64(pointer(content)))
	vector = binary.LittleEndian.AppendUint64(vector, uint64(len(content)))
	var message []byte
	for _, v := range []uint64{0, 0, uint64(pointer(vector)), 1, uint64(pointer(control)), uint64(len(control)), 0} {
		message = binary.LittleEndian.AppendUint64(message, v)
	}
	return message
}

// give sends descriptors with a packet.
func give(to int, content []byte, files ...int) int {
	control := binary.LittleEndian.AppendUint64(nil, uint64(16+4*len(files)))
	control = append(control, words(solSocket, 1)...) // SCM_RIGHTS
	for _, f := range files {
		control = append(control, words(uint32(f))...)
	}
	for len(control)%8 != 0 {
		control = append(control, 0)
	}
	return call(sysSendmsg, to, envelope(content, control), 0)
}

// receive takes what has come without waiting for it, with the descriptors.
func receive(from int) (content []byte, files []int, answer int) {
	content = make([]byte, 1<<17)
	control := make([]byte, 16+4*mostHanded+4)
	message := envelope(content, control)
	answer = call(sysRecvmsg, from, message, msgDontwait)
	if answer < 0 {
		return nil, nil, answer
	}

	if used := binary.LittleEndian.Uint64(message[40:]); used >= 16 {
		for at := uint64(16); at+4 <= binary.LittleEndian.Uint64(control); at += 4 {
			files = append(files, int(binary.LittleEndian.Uint32(control[at:])))
		}
	}
	return content[:answer], files, answer
}

// listen makes a socket at a path, to which everybody may connect.
func listen(path string, kind int) int {
	call(sysUnlink, path)
	fd, at := call(sysSocket, afUnix, kind|oNonblock, 0), unixAddress(path)
	if fd < 0 {
		return fd
	}
	if code := call(sysBind, fd, at, len(at)); code < 0 {
		return code
	}
	call(sysChmod, path, 0o777)
	if code := call(sysListen, fd, 64); code < 0 {
		return code
	}
	return fd
}

// hold keeps all descriptors that it is handed at a path, and says how many these are.
func hold(path string) error {
	fd := listen(path, sockStream)
	if fd < 0 {
		return fmt.Errorf("listen at %s: error %d of Linux", path, -fd)
	}
	fmt.Println("holding 0")

	for held := 0; ; time.Sleep(50 * time.Millisecond) {
		kept = nil
		conn := call(sysAccept, fd, 0, 0)
		if conn < 0 {
			continue
		}
		for {
			_, files, answer := receive(conn)
			if answer == eagain {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			if answer <= 0 {
				break
			}
			held += len(files)
			fmt.Println("holding", held)
		}
		call(sysClose, conn)
	}
}

// hand makes what is asked for, and hands it to who holds at a path: so many MiB of memory, or what is open of the
// container itself.
func hand(path, what string) error {
	var files []int
	switch size, err := strconv.Atoi(what); {
	case err == nil:
		fd := call(sysMemfdCreate, "handed", 0)
		content := make([]byte, chunk)
		for i := range content {
			content[i] = byte(i)
		}
		for range size {
			if code := call(sysWrite, fd, content, chunk); code < 0 {
				return fmt.Errorf("write memory: error %d of Linux", -code)
			}
			kept = nil
		}
		files = []int{fd}

	case what == "own":
		for _, name := range []string{"/", "/Files", "/run/mullion", "/tmp", "/Files/w"} {
			files = append(files, call(sysOpen, name, oRDONLY|oDirectory, 0))
		}
		for _, name := range []string{"mnt", "net", "pid", "ipc", "uts", "user", "cgroup"} {
			files = append(files, call(sysOpen, "/proc/self/ns/"+name, oRDONLY, 0))
		}
		files = append(files, call(sysPidfdOpen, call(sysGetpid), 0),
			call(sysOpen, "/proc/self/fd/1", oWRONLY|oNonblock, 0))
	default:
		return errors.New(usage)
	}

	fd, at := call(sysSocket, afUnix, sockStream, 0), unixAddress(path)
	for range 600 {
		if call(sysConnect, fd, at, len(at)) >= 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}

	fmt.Println("open", files)
	sent := 0
	for _, f := range files {
		if f < 0 {
			continue
		}
		if code := give(fd, []byte("x"), f); code < 0 {
			return fmt.Errorf("hand over: error %d of Linux", -code)
		}
		sent++
	}
	fmt.Println("handed", sent)
	return nil
}
