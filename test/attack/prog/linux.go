package main

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// raw returns a system call of Linux, in raw_amd64.s: its number and six arguments. The answer is negative for an
// error.
func raw(call *[7]uintptr) int

// kept are the arguments of calls, which the kernel reads and writes.
var kept [][]byte

// apart has a process of its own make a system call, in raw_amd64.s. The answer is its id, or negative.
func apart(call *[7]uintptr) int

// apart32 is apart for a call of the i386, by its gate: int 0x80. It passes five arguments, of which pointers would be
// too long.
func apart32(call *[7]uintptr) int

// callApart is call in a process of its own, which may be killed for it: that is EPERM. The answer is 1 if it succeeds.
func callApart(number int, args ...any) int {
	words := arguments(number, args...)
	return waitApart(apart(&words))
}

// callApart32 is callApart for a call of the i386.
func callApart32(number int, args ...any) int {
	words := arguments(number, args...)
	return waitApart(apart32(&words))
}

// waitApart waits for a process of apart, and returns what its call answered.
func waitApart(pid int) int {
	const failures, signals = 200, 0x7f
	if pid < 0 {
		return pid
	}
	status := make([]byte, 4)
	if code := call(sysWait4, pid, status, waitAll, 0); code < 0 {
		return code
	}

	code := int(status[1])
	switch {
	case status[0]&signals != 0:
		return eperm
	case code == 0 || code > failures:
		return 1
	}

	return -code
}

// call makes a system call. Strings and slices of bytes are passed as pointers, a string with its final zero.
func call(number int, args ...any) int {
	words := arguments(number, args...)
	return raw(&words)
}

func arguments(number int, args ...any) [7]uintptr {
	words := [7]uintptr{uintptr(number)}
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			words[i+1] = uintptr(v)
		case string:
			words[i+1] = pointer(append([]byte(v), 0))
		case []byte:
			words[i+1] = pointer(v)
		default:
			panic(fmt.Sprintf("argument %v of call %d", arg, number))
		}
	}

	return words
}

func pointer(b []byte) uintptr {
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// Numbers of asm/unistd_64.h.
const (
	sysRead                 = 0
	sysWrite                = 1
	sysOpen                 = 2
	sysClose                = 3
	sysFstat                = 5
	sysMmap                 = 9
	sysMunmap               = 11
	sysSigprocmask          = 14
	sysIoctl                = 16
	sysMadvise              = 28
	sysShmget               = 29
	sysShmat                = 30
	sysShutdown             = 48
	sysSysinfo              = 99
	sysDup                  = 32
	sysGetpid               = 39
	sysSocket               = 41
	sysConnect              = 42
	sysAccept               = 43
	sysSendto               = 44
	sysSendmsg              = 46
	sysRecvmsg              = 47
	sysBind                 = 49
	sysListen               = 50
	sysGetsockname          = 51
	sysSocketpair           = 53
	sysSetsockopt           = 54
	sysWait4                = 61
	sysKill                 = 62
	sysSemget               = 64
	sysMsgget               = 68
	sysMsgsnd               = 69
	sysFcntl                = 72
	sysFlock                = 73
	sysFtruncate            = 77
	sysChdir                = 80
	sysRename               = 82
	sysMkdir                = 83
	sysUnlink               = 87
	sysLink                 = 86
	sysSymlink              = 88
	sysReadlink             = 89
	sysChmod                = 90
	sysFchmod               = 91
	sysFchown               = 93
	sysSetpgid              = 109
	sysPtrace               = 101
	sysSyslog               = 103
	sysSetuid               = 105
	sysSetgid               = 106
	sysSetgroups            = 116
	sysCapset               = 126
	sysMknod                = 133
	sysFstatfs              = 138
	sysSetpriority          = 141
	sysSetscheduler         = 144
	sysVhangup              = 153
	sysPivotRoot            = 155
	sysPrctl                = 157
	sysAdjtimex             = 159
	sysChroot               = 161
	sysSync                 = 162
	sysAcct                 = 163
	sysSettimeofday         = 164
	sysMount                = 165
	sysUmount               = 166
	sysSwapon               = 167
	sysSwapoff              = 168
	sysReboot               = 169
	sysSethostname          = 170
	sysSetdomainname        = 171
	sysIopl                 = 172
	sysIoperm               = 173
	sysInitModule           = 175
	sysDeleteModule         = 176
	sysQuotactl             = 179
	sysGettid               = 186
	sysSetxattr             = 188
	sysGetxattr             = 191
	sysIOSetup              = 206
	sysGetdents64           = 217
	sysTimerCreate          = 222
	sysClockSettime         = 227
	sysEpollCtl             = 233
	sysMqOpen               = 240
	sysKexecLoad            = 246
	sysAddKey               = 248
	sysRequestKey           = 249
	sysKeyctl               = 250
	sysIoprioSet            = 251
	sysInotifyInit          = 253
	sysInotifyAddWatch      = 254
	sysMigratePages         = 256
	sysOpenat               = 257
	sysUnshare              = 272
	sysVmsplice             = 278
	sysMovePages            = 279
	sysTimerfdCreate        = 283
	sysFallocate            = 285
	sysTimerfdSettime       = 286
	sysSignalfd4            = 289
	sysEventfd2             = 290
	sysEpollCreate1         = 291
	sysPipe2                = 293
	sysTgsigqueueinfo       = 297
	sysPerfEventOpen        = 298
	sysFanotifyInit         = 300
	sysPrlimit              = 302
	sysNameToHandleAt       = 303
	sysOpenByHandleAt       = 304
	sysClockAdjtime         = 305
	sysSyncfs               = 306
	sysSetns                = 308
	sysProcessVMReadv       = 310
	sysKcmp                 = 312
	sysFinitModule          = 313
	sysSeccomp              = 317
	sysSchedSetattr         = 314
	sysMemfdCreate          = 319
	sysKexecFileLoad        = 320
	sysBPF                  = 321
	sysUserfaultfd          = 323
	sysIOUringSetup         = 425
	sysOpenTree             = 428
	sysFsopen               = 430
	sysFspick               = 433
	sysPidfdOpen            = 434
	sysMountSetattr         = 442
	sysQuotactlFD           = 443
	sysLandlockCreate       = 444
	sysMemfdSecret          = 447
	atFDCWD                 = -100
	oRDONLY, oWRONLY        = 0, 1
	oRDWR, oNonblock        = 2, 0o4000
	oDirectory, oPath       = 0o200000, 0o10000000
	oDirect                 = 0o40000
	oTmpfile                = 0o20200000
	afUnix, afInet, afInet6 = 1, 2, 10
	afKey, afNetlink        = 15, 16
	afPacket, afRDS         = 17, 21
	afTIPC, afBluetooth     = 30, 31
	afALG, afVsock          = 38, 40
	afXDP                   = 44
	sockStream              = 1
	sockDgram, sockRaw      = 2, 3
	sockSeqpacket           = 5
	sockPacket              = 10
)

// msgDontwait is MSG_DONTWAIT, and fSetLease F_SETLEASE.
const msgDontwait, fSetLease = 0x40, 1024

// waitAll is __WALL: children of any kind.
const waitAll = 0x40000000

// x32 is the bit of its calls' numbers; some have numbers of their own (arch/x86/entry/syscalls/syscall_64.tbl).
const (
	x32                                = 0x40000000
	x32Ioctl, x32Ptrace, x32Setsockopt = 514, 521, 541
)

// Error numbers, as calls return them.
const (
	eperm, enoent, esrch, enxio, eacces, enodev  = -1, -2, -3, -6, -13, -19
	einval, erofs, enosys                        = -22, -30, -38
	eprotonosupport, esocktnosupport, eopnotsupp = -93, -94, -95
	eafnosupport                                 = -97
	enodata                                      = -61
	econnrefused                                 = -111
)

// file opens a file and closes it again.
func file(path string, flags int) int {
	fd := call(sysOpen, path, flags|oNonblock, 0)
	if fd >= 0 {
		call(sysClose, fd)
	}
	return fd
}

// descriptor makes one by a call, and closes it again.
func descriptor(number int, args ...any) int {
	fd := call(number, args...)
	if fd >= 0 {
		call(sysClose, fd)
	}
	return fd
}

// with opens a file and calls then with it. The answer is then's, or the error of opening.
func with(path string, flags int, then func(fd int) int) int {
	fd := call(sysOpen, path, flags, 0o600)
	if fd < 0 {
		return fd
	}
	defer call(sysClose, fd)
	return then(fd)
}

// socket makes one and calls then with it.
func socket(family, kind, protocol int, then func(fd int) int) int {
	fd := call(sysSocket, family, kind, protocol)
	if fd < 0 {
		return fd
	}
	defer call(sysClose, fd)
	if then == nil {
		return fd
	}
	return then(fd)
}

// words are 32-bit words of a structure.
func words(w ...uint32) []byte {
	var b []byte
	for _, v := range w {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// netlink sends one request to a subsystem of the kernel, and returns its error.
func netlink(protocol int, message, flags uint16, body []byte) int {
	return socket(afNetlink, sockRaw, protocol, func(fd int) int {
		b := binary.LittleEndian.AppendUint32(nil, uint32(16+len(body)))
		b = binary.LittleEndian.AppendUint16(b, message)
		b = binary.LittleEndian.AppendUint16(b, flags|1|4) // NLM_F_REQUEST, NLM_F_ACK
		b = append(b, words(1, 0)...)
		b = append(b, body...)
		if code := call(sysSendto, fd, b, len(b), 0, 0, 0); code < 0 {
			return code
		}

		answer := make([]byte, 4096)
		n := call(sysRead, fd, answer, len(answer))
		if n < 20 {
			return n
		}
		if kind := binary.LittleEndian.Uint16(answer[4:]); kind != 2 { // NLMSG_ERROR
			return int(kind)
		}

		return int(int32(binary.LittleEndian.Uint32(answer[16:])))
	})
}

// ifreq returns a request about the link eth0, or lo.
func ifreq(name string, rest ...byte) []byte {
	b := make([]byte, 40)
	copy(b, name)
	copy(b[16:], rest)
	return b
}
