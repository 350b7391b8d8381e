package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// Options are how a guest is booted.
type Options struct {
	Machine Machine
	Disk    Disk
	// Payload is the folder that the guest sees read-only as /opt/mullion.
	Payload string
	// Work is a folder for the guest's snapshot, payload and console; it must be empty or new.
	Work string
	// Accelerator is qemu's, "tcg" by default: software emulation.
	Accelerator string
}

// Guest is a machine that runs.
type Guest struct {
	options Options
	port    int
	cmd     *exec.Cmd
	exited  chan struct{}

	mu    sync.Mutex
	conns map[string]*ssh.Client // by user; one is kept for all commands of a user
}

// bootTimeout is how long a guest may take until one can log in. Under emulation that takes a minute if nothing else
// runs.
const bootTimeout = 10 * time.Minute

// Boot starts a guest and returns when one can log in. Stop must be called also after an error.
func Boot(ctx context.Context, o Options) (*Guest, error) {
	g := &Guest{options: o, conns: map[string]*ssh.Client{}}
	if err := os.MkdirAll(o.Work, 0o700); err != nil {
		return g, err
	}
	if err := ext4(ctx, o.Payload, filepath.Join(o.Work, "payload.ext4"), "mullion", "8G"); err != nil {
		return g, fmt.Errorf("write the disk with Mullion: %w", err)
	}

	port, err := freePort()
	if err != nil {
		return g, err
	}
	g.port = port
	if err := g.start(); err != nil {
		return g, fmt.Errorf("start machine %q: %w", o.Machine.Name, err)
	}

	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	if _, err := g.login(ctx, "root"); err != nil {
		return g, fmt.Errorf("boot machine %q: %w; its console: %s", o.Machine.Name, err, g.Console())
	}
	return g, g.mountPayload(ctx)
}

// mountPayload mounts the disk with Mullion where systemd may not (scripts/selinux.sh).
func (g *Guest) mountPayload(ctx context.Context) error {
	if out, err := g.Run(ctx, "mountpoint -q /opt/mullion || mount /opt/mullion"); err != nil {
		return fmt.Errorf("mount the disk with Mullion: %w: %s", err, strings.TrimSpace(out))
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil // a TCP listener has a TCP address
}

// Console returns the file with the output of the guest's kernel and systemd.
func (g *Guest) Console() string { return filepath.Join(g.options.Work, "console.log") }

// Port returns the port of 127.0.0.1 on which the guest's SSH server answers.
func (g *Guest) Port() int { return g.port }

func (g *Guest) start() error {
	g.cmd = exec.Command("qemu-system-x86_64", g.arguments()...) // Stop ends it
	// Where qemu has the snapshot; it is unlinked at once.
	g.cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + g.options.Work}
	log, err := os.Create(filepath.Join(g.options.Work, "qemu.log"))
	if err != nil {
		return err
	}
	defer log.Close()

	g.cmd.Stdout, g.cmd.Stderr = log, log
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := g.cmd.Start(); err != nil {
		return err
	}

	g.exited = make(chan struct{})
	go func() {
		_ = g.cmd.Wait() // what it said is in its log
		close(g.exited)
	}()

	return nil
}

// arguments returns qemu's arguments. With smap, smep, pku, fsgsbase and la57 the emulation of qemu 7.2 (Debian 12)
// faults in Wine's programs; Debian 13's kernel needs a newer qemu in any case (hack/deps.sh).
func (g *Guest) arguments() []string {
	o := g.options
	accelerator, cpu := o.Accelerator, "host"
	kernel := "root=/dev/vda rw console=ttyS0 quiet systemd.show_status=false"
	if accelerator == "" || accelerator == "tcg" {
		accelerator, cpu = "tcg,thread=multi,tb-size=1024", "max,-smap,-smep,-pku,-fsgsbase,-la57"
		// The emulator shows the real processor's time stamp counter. Linux does not trust it on a processor with
		// several cores that is not Intel's, and uses the HPET instead; then each reading of the time is a system call
		// that takes a lock of the emulator. An emulated processor does not speculate, so the kernel's mitigations
		// would only cost time. Timers of microseconds, which each Go program sets all the time, cost a switch of the
		// emulator's threads each: timers end with the kernel's tick of 4 ms instead.
		kernel += " tsc=reliable clocksource=tsc mitigations=off highres=off"
	}

	if o.Machine.Hardened {
		kernel += " ipv6.disable=1 apparmor=1 security=apparmor"
	}
	if o.Machine.SELinux {
		kernel += " security=selinux selinux=1 enforcing=1"
	}
	return []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35", "-accel", accelerator, "-cpu", cpu,
		"-smp", fmt.Sprint(cmp.Or(o.Machine.CPUs, 2)), "-m", fmt.Sprint(cmp.Or(o.Machine.Memory, 6144)),
		"-kernel", o.Disk.Kernel, "-initrd", o.Disk.Initrd, "-append", kernel,
		"-drive", "if=virtio,format=raw,snapshot=on,cache=unsafe,file=" + o.Disk.Image,
		"-drive", "if=virtio,format=raw,readonly=on,file=" + filepath.Join(o.Work, "payload.ext4"),
		// The guest reaches nothing outside, and only its SSH server is reached.
		"-netdev", fmt.Sprintf("user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", g.port), "-device",
		"virtio-net-pci,netdev=net,romfile=",
		"-device", "virtio-rng-pci", "-serial", "file:" + g.Console(),
	}
}

// login returns the connection of a user, made anew if there is none that works.
func (g *Guest) login(ctx context.Context, user string) (*ssh.Client, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.conns[user]; c != nil {
		return c, nil
	}

	config := &ssh.ClientConfig{
		User:              user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(g.options.Disk.Key)},
		HostKeyCallback:   ssh.FixedHostKey(g.options.Disk.HostKey),
		HostKeyAlgorithms: []string{g.options.Disk.HostKey.Type()},
		Timeout:           time.Minute,
	}

	for {
		c, err := dialSSH(ctx, fmt.Sprintf("127.0.0.1:%d", g.port), config)
		if err == nil {
			g.conns[user] = c
			go func() {
				_ = c.Wait()
				g.forget(user, c)
			}()
			return c, nil
		}

		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("log in as %s: %w (last: %w)", user, ctx.Err(), err)
		case <-g.exited:
			// qemu's log has the better part of the message, if there is a log
			text, _ := os.ReadFile(filepath.Join(g.options.Work, "qemu.log"))
			return nil, fmt.Errorf("qemu ended: %s", strings.TrimSpace(string(text)))
		case <-time.After(time.Second):
		}
	}
}

func (g *Guest) forget(user string, c *ssh.Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conns[user] == c {
		delete(g.conns, user)
	}
}

// dialSSH bounds the handshake too, because qemu accepts the connection long before the guest does.
func dialSSH(ctx context.Context, address string, config *ssh.ClientConfig) (*ssh.Client, error) {
	conn, err := (&net.Dialer{Timeout: config.Timeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(config.Timeout)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return ssh.NewClient(c, channels, requests), conn.SetDeadline(time.Time{})
}

// Reboot reboots the guest in an orderly way and returns when one can log in again.
func (g *Guest) Reboot(ctx context.Context) error {
	before, err := g.Run(ctx, "cat /proc/sys/kernel/random/boot_id; systemctl reboot")
	if err != nil && before == "" {
		return fmt.Errorf("reboot: %w", err)
	}
	id, _, _ := strings.Cut(before, "\n")
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()

	for {
		now, err := g.Run(ctx, "cat /proc/sys/kernel/random/boot_id")
		if err == nil && strings.TrimSpace(now) != id {
			return g.mountPayload(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("reboot: %w (last: %w)", ctx.Err(), err)
		case <-time.After(time.Second):
		}
	}
}

// Stop ends the guest as a power failure does.
func (g *Guest) Stop() {
	if g.cmd == nil || g.cmd.Process == nil {
		return
	}
	_ = g.cmd.Process.Kill() // it may have ended
	<-g.exited
}
