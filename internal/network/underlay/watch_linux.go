package underlay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// lookEvery is how often Watch asks for a look though nothing was told: for what the kernel tells nobody, a switch of
// sysctl(8) for example.
const lookEvery = 15 * time.Second

// calm is how long Watch waits after a change for those that follow it: a firewall that restarts makes many.
const calm = 300 * time.Millisecond

// most is how long changes that never cease put a look off.
const most = 3 * time.Second

// Groups of netlink(7) whose messages say that something has changed: nftables (NFNLGRP_NFTABLES of the kernel's
// linux/netfilter/nfnetlink.h), and links, addresses and routes (RTMGRP_… of linux/rtnetlink.h).
const (
	tableGroup  = 1 << (7 - 1)
	routeGroups = unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV4_ROUTE | unix.RTMGRP_IPV6_IFADDR |
		unix.RTMGRP_IPV6_ROUTE
)

// Watch calls look a moment after something has changed in the machine's or the fabric's network, and every 15 seconds,
// until ctx ends. A machine whose kernel tells of no changes is looked at every 15 seconds alone; told gets the reason.
func (u *Underlay) Watch(ctx context.Context, look func(), told func(error)) {
	changed := make(chan struct{}, 1)
	var listeners sync.WaitGroup
	for _, l := range []struct {
		ns       string
		protocol int
		groups   uint32
	}{
		{u.cfg.MachineNetns, unix.NETLINK_NETFILTER, tableGroup},
		{u.cfg.MachineNetns, unix.NETLINK_ROUTE, routeGroups},
		{u.FabricNetns(), unix.NETLINK_ROUTE, routeGroups},
	} {
		socket, err := listen(l.ns, l.protocol, l.groups)
		if err != nil {
			told(fmt.Errorf("listen for changes of the machine's network: %w", err))
			continue
		}

		stop := context.AfterFunc(ctx, func() { _ = socket.Close() }) // which ends Read
		listeners.Go(func() {
			defer stop()
			hear(ctx, socket, changed)
		})
	}

	defer listeners.Wait()

	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		case <-changed:
			settle(ctx, changed)
		}

		if ctx.Err() == nil {
			look()
		}
	}
}

// settle returns when nothing has changed for a moment.
func settle(ctx context.Context, changed <-chan struct{}) {
	end := time.NewTimer(most)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-changed:
		case <-time.After(calm):
			return
		}
	}
}

// listen opens a socket in the namespace that receives the groups' messages.
func listen(ns string, protocol int, groups uint32) (socket *os.File, err error) {
	err = netns.Do(ns, func() error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
		if err != nil {
			return err
		}
		if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		socket = os.NewFile(uintptr(fd), "netlink")
		return nil
	})

	return socket, err
}

// hear says that something has changed whenever the socket gets a message. What the message says is not read: a look at
// the kernel tells more, also where so much has changed that messages were lost (ENOBUFS).
func hear(ctx context.Context, socket *os.File, changed chan<- struct{}) {
	defer socket.Close()

	message := make([]byte, 4096)
	for {
		if _, err := socket.Read(message); err != nil && !errors.Is(err, unix.ENOBUFS) {
			return // it is closed, or the kernel takes no listeners
		}
		select {
		case changed <- struct{}{}:
		default: // a look is asked for
		}

		if ctx.Err() != nil {
			return
		}
	}
}
