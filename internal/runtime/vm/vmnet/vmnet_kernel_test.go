//go:build kernel

package vmnet_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/runtime/vm/link"
	"mullion.dev/mullion/internal/runtime/vm/vmnet"
)

const podMAC = "00:15:5d:00:00:07"

// pod makes a network namespace with one interface, whose other end is "far" in another namespace. It returns their
// paths.
func pod(t *testing.T) (inside, outside string) {
	t.Helper()
	dir := t.TempDir()
	inside, outside = filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, path := range []string{inside, outside} {
		if _, err := netns.Ensure(path); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := netns.Remove(path); err != nil {
				t.Error(err)
			}
		})
	}

	far, err := os.Open(outside)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	mac, err := net.ParseMAC(podMAC)
	if err != nil {
		t.Fatal(err)
	}

	err = netns.Do(inside, func() error {
		veth := &netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{
				Name:         "vp1",
				MTU:          1400,
				HardwareAddr: mac,
			}, PeerName: "far",
			PeerNamespace: netlink.NsFd(far.Fd()),
		}

		addr := &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 9, 0, 3), Mask: net.CIDRMask(24, 32)}}
		neighbour := &netlink.Neigh{
			IP:           net.IPv4(10, 9, 0, 1),
			HardwareAddr: mac,
			State:        netlink.NUD_PERMANENT,
		}
		if err := errors.Join(netlink.LinkAdd(veth), netlink.LinkSetUp(veth), netlink.AddrAdd(veth, addr)); err != nil {
			return err
		}

		neighbour.LinkIndex = veth.Attrs().Index
		return errors.Join(netlink.NeighSet(neighbour),
			netlink.RouteAdd(&netlink.Route{LinkIndex: veth.Attrs().Index, Gw: net.IPv4(10, 9, 0, 1)}))
	})

	if err == nil {
		err = netns.Do(outside, func() error {
			l, err := netlink.LinkByName("far")
			if err != nil {
				return err
			}
			return netlink.LinkSetUp(l)
		})
	}
	if err != nil {
		t.Fatal(err)
	}

	return inside, outside
}

// wire opens a socket for frames of a protocol of these tests' own at the far end.
func wire(t *testing.T, outside string) *os.File {
	t.Helper()
	var f *os.File
	err := netns.Do(outside, func() error {
		l, err := netlink.LinkByName("far")
		if err != nil {
			return err
		}
		const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, all)
		if err != nil {
			return err
		}

		f = os.NewFile(uintptr(fd), "far")
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: l.Attrs().Index})
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = f.Close() })
	return f
}

// frame returns an Ethernet frame to everybody with these words.
func frame(words string) []byte {
	head := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0x15, 0x5d, 0, 0, 9, 0x88, 0xb5} // 0x88b5: for experiments
	return append(head, append([]byte(words), make([]byte, 50)...)...)
}

// arrives waits for a frame with these words.
func arrives(t *testing.T, at *os.File, words string) {
	t.Helper()
	if err := at.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}

	for buffer := make([]byte, 4096); ; {
		n, err := at.Read(buffer)
		if err != nil {
			t.Fatalf("frame %q does not arrive: %v", words, err)
		}
		if bytes.Contains(buffer[:n], []byte(words)) {
			return
		}
	}
}

// TestAttach: the guest is told what the interface is, and its frames are the interface's; twice, because a pod's
// machine may be made again.
func TestAttach(t *testing.T) {
	inside, outside := pod(t)
	far := wire(t, outside)
	want := []link.Interface{{
		Name: "vp1", MAC: podMAC, MTU: 1400, Addresses: []string{"10.9.0.3/24"},
		Routes:     []link.Route{{Gateway: "10.9.0.1"}},
		Neighbours: []link.Neighbour{{Address: "10.9.0.1", MAC: podMAC}},
	}}

	for range 2 {
		taps, interfaces, err := vmnet.Attach(inside)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, interfaces); diff != "" {
			t.Errorf("interfaces (-want +got):\n%s", diff)
		}

		const header = 10 // struct virtio_net_hdr
		if _, err := taps[0].Write(append(make([]byte, header), frame("from the guest")...)); err != nil {
			t.Fatal(err)
		}
		arrives(t, far, "from the guest")
		if _, err := far.Write(frame("to the guest")); err != nil {
			t.Fatal(err)
		}

		arrives(t, taps[0], "to the guest")
		if err := taps[0].Close(); err != nil {
			t.Error(err)
		}
	}

	// What QEMU had open is gone with it.
	err := netns.Do(inside, func() error {
		links, err := netlink.LinkList()
		for _, l := range links {
			if l.Type() == "tun" {
				t.Errorf("there is still %s", l.Attrs().Name)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAttachRefusesRules: rules that would not act are not left aside in silence.
func TestAttachRefusesRules(t *testing.T) {
	inside, _ := pod(t)
	err := netns.Do(inside, func() error {
		conn, err := nftables.New()
		if err != nil {
			return err
		}
		conn.AddTable(&nftables.Table{Name: "hns_vp1", Family: nftables.TableFamilyINet})
		return conn.Flush()
	})
	if err != nil {
		t.Fatal(err)
	}

	if taps, _, err := vmnet.Attach(inside); len(taps) > 0 || !errors.Is(err, errdefs.ErrNotImplemented) ||
		!strings.Contains(err.Error(), "hns_vp1") {
		t.Errorf("%d devices, %v", len(taps), err)
	}
}

// TestAttachWithoutNetwork: a namespace that is not there is an error.
func TestAttachWithoutNetwork(t *testing.T) {
	if taps, _, err := vmnet.Attach(filepath.Join(t.TempDir(), "none")); err == nil || len(taps) > 0 {
		t.Errorf("%d devices, %v", len(taps), err)
	}
}
