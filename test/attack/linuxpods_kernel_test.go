//go:build kernel

package attack

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/node/linuxhost"
)

// linuxBed is a Linux node with two pods, made by the plugin that makes them there: its end of the attacker's pair, and
// the pods' addresses.
type linuxBed struct {
	node, a, b string
	link       string
	bIP, bIP6  netip.Addr
	aMAC, mac  net.HardwareAddr // the attacker's, the node's
	atB        *inbox
	stolen     func(text string) bool
}

const ptpConfig = `{"cniVersion":"1.0.0","name":"mullion","type":"ptp","ipam":{"type":"host-local","dataDir":%q,
	"ranges":[[{"subnet":"10.244.1.0/24"}],[{"subnet":"fd00:244:1:1::/64"}]],"routes":[{"dst":"0.0.0.0/0"},{"dst":"::/0"}]}}`

func newLinuxBed(t *testing.T) *linuxBed {
	t.Helper()
	d := &linuxBed{
		node: netnstest.New(t, "node"),
		a:    netnstest.New(t, "a"),
		b:    netnstest.New(t, "b"),
	}

	plugins, err := filepath.Abs("../../bin/cni")
	if err != nil {
		t.Fatal(err)
	}

	shell(t, d.node, `echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
		echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter; echo 0 >/proc/sys/net/ipv4/conf/default/rp_filter`)
	data := t.TempDir()
	for _, pod := range []string{d.a, d.b} {
		var out []byte
		err := netns.Do(d.node, func() (err error) {
			cmd := exec.CommandContext(t.Context(), filepath.Join(plugins, "ptp"))
			cmd.Env = append(os.Environ(), "CNI_COMMAND=ADD", "CNI_CONTAINERID="+filepath.Base(pod), "CNI_NETNS="+pod,
				"CNI_IFNAME=eth0", "CNI_PATH="+plugins)
			cmd.Stdin = strings.NewReader(fmt.Sprintf(ptpConfig, data))
			out, err = cmd.CombinedOutput()
			return err
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}

	for _, l := range links(t, d.node) {
		if strings.HasPrefix(l.Name, "veth") && d.link == "" { // the first is the attacker's
			d.link, d.mac = l.Name, l.HardwareAddr
		}
	}

	d.aMAC = links(t, d.a)[1].HardwareAddr
	err = netns.Do(d.b, func() error {
		at, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}

		addresses, err := at.Addrs()
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
				d.bIP = p.Addr()
			} else if err == nil && !p.Addr().IsLinkLocalUnicast() {
				d.bIP6 = p.Addr()
			}
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	d.atB, d.stolen = listen(t, d.b, ":99"), sniffer(t, d.a)
	return d
}

func links(t *testing.T, ns string) (list []net.Interface) {
	t.Helper()
	err := netns.Do(ns, func() (err error) {
		list, err = net.Interfaces()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// linuxSpoof is an attack of a Linux pod with NET_RAW, which containers have by default.
type linuxSpoof struct {
	name string
	try  func(t *testing.T, d *linuxBed)
	got  func(t *testing.T, d *linuxBed) bool
	// kernel: Linux, or the plugin, holds it without our rules too.
	kernel bool
}

func linuxSpoofs() []linuxSpoof {
	source := func(name string, from func(d *linuxBed) netip.Addr, to func(d *linuxBed) netip.Addr) linuxSpoof {
		return linuxSpoof{
			name: name, try: func(t *testing.T, d *linuxBed) {
				t.Helper()
				text := datagram(netip.AddrPortFrom(from(d), 9), netip.AddrPortFrom(to(d), 99), []byte(name))
				send(t, d.a, ethernet(d.mac, d.aMAC, etherType(to(d)), text))
			},
			got: func(_ *testing.T, d *linuxBed) bool { return d.atB.has(name) },
		}
	}

	always := func(a netip.Addr) func(*linuxBed) netip.Addr { return func(*linuxBed) netip.Addr { return a } }
	toB := func(d *linuxBed) netip.Addr { return d.bIP }
	toB6 := func(d *linuxBed) netip.Addr { return d.bIP6 }
	gateway := netip.MustParseAddr("10.244.1.1")
	return []linuxSpoof{
		source("source/strange", always(strange), toB),
		source("source/elsewhere", always(elsewhere), toB),
		source("source/strange-6", always(strange6), toB6),
		{
			name: "source/free-bind-6", try: func(t *testing.T, d *linuxBed) {
				t.Helper()
				unprivileged(t, d.a, strange6, netip.AddrPortFrom(d.bIP6, 99), "free-bind-6")
			},
			got: func(_ *testing.T, d *linuxBed) bool { return d.atB.has("free-bind-6") },
		},
		{
			name: "arp/reply-for-neighbour", kernel: true, try: func(t *testing.T, d *linuxBed) {
				t.Helper()
				send(t, d.a, arpReply(d.mac, d.aMAC, d.bIP, gateway), arpReply(everyone, d.aMAC, d.bIP, d.bIP))
				unprivileged(t, d.node, netip.Addr{}, netip.AddrPortFrom(d.bIP, 98), "for the neighbour")
			},
			got: func(_ *testing.T, d *linuxBed) bool { return d.stolen("for the neighbour") },
		},
		{
			name: "nd/router-for-node", kernel: true, try: func(t *testing.T, d *linuxBed) {
				t.Helper()
				send(t, d.a, ethernet(everyNode6, d.aMAC, etherIPv6,
					router(d.aMAC, linkLocal(d.aMAC), advertisedPrefix)))
			},
			got: func(t *testing.T, d *linuxBed) bool {
				t.Helper()
				return strings.Contains(shell(t, d.node, "ip -6 route"), "2001:db8:bad")
			},
		},
		{
			name: "tunnel/to-node", try: func(t *testing.T, d *linuxBed) {
				t.Helper()
				inner := datagram(netip.AddrPortFrom(elsewhere, 9), netip.AddrPortFrom(d.bIP, 99), []byte("tunnel"))
				frame := vxlan(podnet.VSID, ethernet(d.vtep(t), d.aMAC, etherIPv4, inner))
				unprivileged(t, d.a, netip.Addr{}, netip.AddrPortFrom(gateway, podnet.VXLANPort), string(frame))
			},
			got: func(_ *testing.T, d *linuxBed) bool { return d.atB.has("tunnel") },
		},
	}
}

// vtep makes the node's interface for an overlay, unless it is there.
func (d *linuxBed) vtep(t *testing.T) net.HardwareAddr {
	t.Helper()
	mac := net.HardwareAddr{0, 0x15, 0x5d, 0xaa, 0, 0x13}
	shell(t, d.node, fmt.Sprintf(`ip link show vxlan0 2>/dev/null || ip link add vxlan0 address %s type vxlan id %d dstport %d nolearning
		ip link set vxlan0 up; echo 0 >/proc/sys/net/ipv4/conf/vxlan0/rp_filter`, mac, podnet.VSID, podnet.VXLANPort))
	return mac
}

// TestSpoofingByLinuxPods: each attack gets somewhere on a node without our rules, unless Linux holds it, and nowhere
// with them.
func TestSpoofingByLinuxPods(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	tried, reached := 0, 0
	for _, ruled := range []bool{false, true} {
		t.Run(fmt.Sprintf("ruled-%t", ruled), func(t *testing.T) {
			d := newLinuxBed(t)
			if ruled {
				subnets := []netip.Prefix{
					netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:244::/56"),
				}
				if err := (linuxhost.NAT{
					Netns: d.node, Pods: subnets, Inside: subnets, Routed: true, TunnelPort: podnet.VXLANPort,
				}).Apply(t.Context()); err != nil {
					t.Fatal(err)
				}
			}

			shell(t, d.a, "ping -c1 -W2 "+d.bIP.String()+"; ping -c5 -i0.5 -W2 "+d.bIP6.String())
			for _, s := range linuxSpoofs() {
				t.Run(s.name, func(t *testing.T) {
					got := succeeds(t, spoof{
						try: func(t *testing.T, _ *bed) { t.Helper(); s.try(t, d) },
						got: func(t *testing.T, _ *bed) bool { t.Helper(); return s.got(t, d) },
					}, nil)
					switch {
					case ruled && got:
						reached++
						t.Error("it got somewhere")
					case !ruled && got == s.kernel:
						t.Errorf("control: without our rules it gets somewhere: %t", got)
					}

					if ruled {
						tried++
					}
				})
			}
		})
	}

	t.Logf("spoofing by Linux pods: %d of %d attacks got somewhere", reached, tried)
}
