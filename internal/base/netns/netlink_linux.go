package netns

import (
	"fmt"
	"os"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
)

// Netlink runs f with a netlink handle into the namespace at path. The calling thread stays where it is.
func Netlink(path string, f func(*netlink.Handle) error) error {
	ns, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer func() { _ = ns.Close() }()
	h, err := netlink.NewHandleAt(vnetns.NsHandle(ns.Fd()))
	if err != nil {
		return fmt.Errorf("enter network namespace %q: %w", path, err)
	}
	defer h.Close()
	return f(h)
}
