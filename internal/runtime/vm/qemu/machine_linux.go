package qemu

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/vm/link"
)

// User is whom QEMU and virtiofsd run as, and whose files the guest may use.
type User struct {
	// ID is a user and group of the machine that owns nothing; the next one is virtiofsd's.
	ID uint32
	// Files and Size are the range of users and groups of the machine whose files the guest may use as their owners.
	Files, Size uint32
}

// attributes make a process the user, who may use /dev/kvm if its group may.
func (u User) attributes() *syscall.SysProcAttr {
	credential := &syscall.Credential{Uid: u.ID, Gid: u.ID}
	var kvm unix.Stat_t
	if unix.Stat("/dev/kvm", &kvm) == nil && kvm.Gid != 0 && kvm.Mode&0o060 == 0o060 {
		credential.Groups = []uint32{kvm.Gid}
	}

	// A namespace of processes of its own hides those of other machines' QEMUs, which are the same user.
	return &syscall.SysProcAttr{
		Credential: credential,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
		Setsid:     true,
	}
}

// Options are what a machine is booted with.
type Options struct {
	Parts       Parts
	Accelerator Accelerator
	User        User
	// Initrd is the file that WriteInitrd has written.
	Initrd string
	// Dir is the machine's own folder, Share in it is what the guest shares.
	Dir, Share string
	// CPUs is the number of processors, Memory the memory in bytes.
	CPUs, Memory int64
	// Taps are TAP devices, and MACs the hardware addresses of the guest's interfaces, in the same order.
	Taps []*os.File
	MACs []string
}

// Machine is a machine that runs.
type Machine struct {
	// Channel is the host's end of the link's virtio serial port.
	Channel net.Conn
	// Ended is closed when QEMU has ended.
	Ended <-chan struct{}

	qemu, virtiofsd *exec.Cmd
	log             *tail
}

// Log returns the end of what QEMU, virtiofsd and the guest's kernel have said.
func (m *Machine) Log() string { return m.log.String() }

// PID returns QEMU's process id.
func (m *Machine) PID() int { return m.qemu.Process.Pid }

// Kill ends the machine at once, as a power failure does, and returns when it has ended.
func (m *Machine) Kill() {
	_ = m.qemu.Process.Kill() // it may have ended
	_ = m.virtiofsd.Process.Kill()
	<-m.Ended
	_ = m.Channel.Close()
}

// Start starts a machine. It does not wait until the guest has booted. The machine ends with the calling process.
func Start(o Options) (*Machine, error) {
	var undo cleanup.Stack
	defer func() { _ = undo.Clean() }()
	log := &tail{}
	files, virtiofsd, err := startVirtiofsd(o, log)
	if err != nil {
		return nil, fmt.Errorf("start virtiofsd: %w", err)
	}
	defer files.Close()

	undo.Add(func() error {
		err := virtiofsd.Process.Kill()
		_ = virtiofsd.Wait() // it was killed
		return err
	})

	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()

	undo.Add(ours.Close)
	kernel, err := os.Open(o.Parts.Kernel)
	if err != nil {
		return nil, err
	}
	defer kernel.Close()

	initrd, err := os.Open(o.Initrd)
	if err != nil {
		return nil, err
	}
	defer initrd.Close()

	cmd := exec.Command(o.Parts.QEMU) // Kill ends it.
	cmd.ExtraFiles = append([]*os.File{kernel, initrd, files, theirs}, o.Taps...)
	cmd.Args = append(cmd.Args, o.arguments(3)...)
	cmd.Env = []string{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = o.User.attributes()
	if err := startLocked(cmd); err != nil {
		return nil, fmt.Errorf("start QEMU: %w", err)
	}

	ended, filesEnded := make(chan struct{}), make(chan struct{})
	go func() {
		_ = virtiofsd.Wait()
		_ = cmd.Process.Kill() // without its files a guest only stands still
		close(filesEnded)
	}()

	go func() {
		_ = cmd.Wait() // what it said is in its log
		_ = virtiofsd.Process.Kill()
		<-filesEnded
		close(ended)
	}()

	undo.Release()
	return &Machine{
		Channel:   ours,
		Ended:     ended,
		qemu:      cmd,
		virtiofsd: virtiofsd,
		log:       log,
	}, nil
}

// startLocked starts a process on a thread that lives as long as this process: the kernel sends Pdeathsig when the
// thread ends (https://man7.org/linux/man-pages/man2/pr_set_pdeathsig.2const.html).
func startLocked(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			select {}
		}
	}()
	return <-started
}

// socketPair makes a connection, one end for this process and one for another.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return conn, theirs, nil
}

// virtiofsdUser maps virtiofsd's root to a user of the machine that owns nothing, and the files' users to themselves.
func (u User) virtiofsdUser() *syscall.SysProcAttr {
	ids := []syscall.SysProcIDMap{
		{ContainerID: 0, HostID: int(u.ID + 1), Size: 1},
		{ContainerID: int(u.Files), HostID: int(u.Files), Size: int(u.Size)},
	}

	return &syscall.SysProcAttr{
		Cloneflags:                 unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWIPC,
		UidMappings:                ids,
		GidMappings:                ids,
		GidMappingsEnableSetgroups: true,
		Credential:                 &syscall.Credential{},
		Pdeathsig:                  syscall.SIGKILL,
		Setsid:                     true,
	}
}

// startVirtiofsd starts the server of the shared folder and returns a connection to it for QEMU.
func startVirtiofsd(o Options, log io.Writer) (*os.File, *exec.Cmd, error) {
	path := filepath.Join(o.Dir, "files.sock")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close() // which removes the socket

	f, err := listener.File()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()

	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	qemuEnd, err := conn.File()
	if err != nil {
		return nil, nil, err
	}

	// Options in the form that both virtiofsds take. The limit of open files is ours.
	cmd := exec.Command(o.Parts.Virtiofsd, "--fd=3", "-o", // Kill ends it.
		"source="+o.Share+",sandbox=namespace,xattr,announce_submounts", "--rlimit-nofile=0")
	cmd.ExtraFiles = []*os.File{f}
	cmd.Env = []string{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = o.User.virtiofsdUser()
	if err := startLocked(cmd); err != nil {
		return nil, nil, errors.Join(err, qemuEnd.Close())
	}

	return qemuEnd, cmd, nil
}

// arguments are QEMU's. fd is the number of the first of its files: kernel, initrd, virtiofsd, link, TAP devices.
//
// With smap, smep, pku, fsgsbase and la57 the emulation of qemu 7.2 (Debian 12) faults in Wine's programs. The kernel's
// arguments for emulation are those of test/machines/guest: an emulated processor does not speculate, and timers of
// microseconds cost more than they are worth.
func (o Options) arguments(fd int) []string {
	accelerator, cpu := string(KVM), "host"
	kernel := "console=ttyS0 quiet panic=-1 reboot=t"
	if o.Accelerator == TCG {
		accelerator, cpu = "tcg,thread=multi,tb-size="+strconv.Itoa(translations>>20), "max,-smap,-smep,-pku,-fsgsbase,-la57"
		kernel += " tsc=reliable clocksource=tsc mitigations=off highres=off"
	}

	descriptor := func(i int) string { return "/proc/self/fd/" + strconv.Itoa(fd+i) }
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35", "-accel", accelerator,
		"-cpu", cpu, "-smp", strconv.FormatInt(o.CPUs, 10), "-m", fmt.Sprintf("%dM", o.Memory>>20),
		"-object", fmt.Sprintf("memory-backend-memfd,id=memory,size=%dM,share=on", o.Memory>>20),
		"-numa", "node,memdev=memory",
		"-kernel", descriptor(0), "-initrd", descriptor(1), "-append", kernel,
		"-chardev", "socket,id=files,fd=" + strconv.Itoa(fd+2),
		"-device", "vhost-user-fs-pci,chardev=files,tag=" + link.Share,
		"-chardev", "socket,id=link,fd=" + strconv.Itoa(fd+3),
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=link,name=" + link.Port,
		"-serial", "stdio",
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
	}

	for i, mac := range o.MACs {
		args = append(args, "-netdev", fmt.Sprintf("tap,id=net%d,fd=%d", i, fd+4+i), "-device",
			fmt.Sprintf("virtio-net-pci,netdev=net%d,mac=%s,romfile=", i, mac))
	}

	return args
}

// translations is how much memory QEMU may use for translated instructions, in bytes.
const translations = 512 << 20

// Overhead returns the memory that QEMU and virtiofsd may use beside the guest's own, in bytes.
func Overhead(a Accelerator) int64 {
	const own = 256 << 20
	if a == TCG {
		return own + translations
	}
	return own
}
