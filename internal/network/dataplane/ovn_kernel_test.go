//go:build kernel

package dataplane_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// TestTransparentByOVN has transparent networks of two hosts as a part of a logical switch of OVN, whose packets Open
// vSwitch carries between the hosts by Geneve, in user space. Pods reach each other and OVN's load balancer; an access
// list of OVN's is carried out. Geneve is seen on the wire.
func TestTransparentByOVN(t *testing.T) {
	for _, program := range []string{"ovs-vswitchd", "ovn-northd", "ovn-controller", "ethtool"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("MULLION_OVN") != "" {
				t.Fatal(err)
			}
			t.Skipf("%v: make test-ovn installs it", err)
		}
	}

	wire := netnstest.New(t, "wire")
	run(t, wire, "ip link add sw0 type bridge mcast_snooping 0; ip link set sw0 up; "+
		"ip addr add 192.0.2.10/24 dev sw0; ethtool -K sw0 tx off")
	central := newCentral(t, wire)
	a, b := newHost(t), newHost(t)
	for i, h := range []host{a, b} {
		central.addChassis(t, h, i+1)
	}

	central.nb(t, "ls-add", "pods")
	plan := func(last int) netplan.Plan {
		p := network(netplan.Transparent, "10.213.0")
		p.Bridges[0].Gateways = nil
		for i := range p.Ports {
			p.Ports[i].Addrs = []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.213.0.%d/24", last+i))}
			p.Ports[i].MAC = fmt.Sprintf("00:15:5d:00:00:%02x", last+i)
			p.Ports[i].Routes[0].Via = netip.MustParseAddr("10.213.0.100")
		}
		return p
	}

	for i, h := range []host{a, b} {
		// A host's uplink is one port of the switch, which has the addresses of all that is behind it.
		name := fmt.Sprintf("host-%d", i+1)
		addresses := []string{fmt.Sprintf("00:15:5d:00:01:%02d 10.213.0.%d", i+1, i+11)}
		p := plan(50 + 10*i)
		for _, port := range p.Ports {
			addresses = append(addresses, port.MAC+" "+port.Addrs[0].Addr().String())
		}

		central.nb(t, "lsp-add", "pods", name)
		central.nb(t, append([]string{"lsp-set-addresses", name}, addresses...)...)
		h.apply(t, p)
	}

	central.nb(t, "lr-add", "router", "--",
		"lrp-add", "router", "to-pods", "00:15:5d:00:00:64", "10.213.0.100/24", "--",
		"lsp-add", "pods", "to-router", "--", "lsp-set-type", "to-router", "router", "--",
		"lsp-set-addresses", "to-router", "router", "--", "lsp-set-options", "to-router", "router-port=to-pods")

	for _, protocol := range []string{"tcp", "udp"} {
		central.nb(t, "lb-add", "web-"+protocol, "172.30.0.1:80", "10.213.0.60:80", protocol, "--",
			"ls-lb-add", "pods", "web-"+protocol)
	}

	central.nb(t, "--wait=hv", "--timeout=60", "acl-add", "pods", "to-lport", "1000", "ip4.dst == 10.213.0.61", "drop")

	pod := a.Pin(dataplanetest.NSA)
	far := b.Pin(dataplanetest.NSA)
	forbidden := b.Pin(dataplanetest.NSB)
	netnstest.Serve(t, pod, "pod", "10.213.0.50:80")
	netnstest.Serve(t, far, "far", "10.213.0.60:80")
	netnstest.Serve(t, forbidden, "forbidden", "10.213.0.61:80")
	netnstest.Serve(t, b.ns, "host", "10.213.0.12:80")
	before := geneve(t, wire)

	netnstest.Flow(t, pod, "10.213.0.60:80", "far", "10.213.0.50")
	netnstest.Flow(t, far, "10.213.0.50:80", "pod", "10.213.0.60")
	netnstest.Flow(t, pod, "10.213.0.12:80", "host", "10.213.0.50")
	netnstest.Flow(t, pod, "172.30.0.1:80", "far", "10.213.0.50")
	netnstest.NoFlow(t, pod, "10.213.0.61:80")
	if after := geneve(t, wire); after <= before {
		t.Errorf("packets of Geneve on the wire: %d, and then %d", before, after)
	}
}

// geneve counts packets to Geneve's port on the wire's bridge.
func geneve(t *testing.T, wire string) int {
	t.Helper()
	var n int
	out := run(t, wire, `nft list table bridge count 2>/dev/null || {
		nft 'table bridge count { chain c { type filter hook forward priority 0; udp dport 6081 counter; }; }'
		nft list table bridge count; }`)
	_, out, _ = strings.Cut(out, "counter packets ")
	if _, err := fmt.Sscan(out, &n); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return n
}

// central is OVN's, with its databases, in a network namespace.
type central struct{ wire, dir string }

func newCentral(t *testing.T, wire string) central {
	t.Helper()
	c := central{wire, short(t)}
	for _, db := range []string{"nb", "sb"} {
		does(t, "ovsdb-tool", "create", c.dir+"/"+db+".db", "/usr/share/ovn/ovn-"+db+".ovsschema")
	}

	daemon(t, wire, c.dir, "ovsdb-server", "--remote=punix:"+c.dir+"/nb.sock", c.dir+"/nb.db")
	daemon(t, wire, c.dir, "ovsdb-server", "--remote=punix:"+c.dir+"/sb.sock", "--remote=ptcp:6642:192.0.2.10",
		c.dir+"/sb.db")
	answer(t, c.dir+"/nb.sock", c.dir+"/sb.sock")
	daemon(t, wire, c.dir, "ovn-northd", "--ovnnb-db=unix:"+c.dir+"/nb.sock",
		"--ovnsb-db=unix:"+c.dir+"/sb.sock")
	return c
}

func (c central) nb(t *testing.T, args ...string) {
	t.Helper()
	does(t, "ovn-nbctl", append([]string{"--db=unix:" + c.dir + "/nb.sock"}, args...)...)
}

// addChassis puts Open vSwitch, in a network namespace of its own, between the wire and a host's eth0. The datapath is
// user space, which does not complete checksums that Linux leaves to a network card.
func (c central) addChassis(t *testing.T, h host, number int) {
	t.Helper()
	ns, dir := netnstest.New(t, "chassis"), short(t)
	plug(t, c.wire, ns, number)
	plugInto(t, ns, h.ns)
	run(t, ns, "ip link set eth0 up; ip link set host up; ethtool -K eth0 tx off gro off")
	run(t, h.ns, fmt.Sprintf("ethtool -K eth0 tx off; ip addr add 10.213.0.%d/24 dev eth0; "+
		"ip link set eth0 address 00:15:5d:00:01:%02d mtu 1400 up; "+
		"ip route add default via 10.213.0.100", 10+number, number))

	db := "unix:" + dir + "/db.sock"
	does(t, "ovsdb-tool", "create", dir+"/conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
	daemon(t, ns, dir, "ovsdb-server", "--remote=p"+db, dir+"/conf.db")
	answer(t, dir+"/db.sock")
	does(t, "ovs-vsctl", "--db="+db, "--no-wait", "init")
	daemon(t, ns, dir, "ovs-vswitchd", db)
	address := fmt.Sprintf("192.0.2.%d", 10+number)
	does(t, "ovs-vsctl", "--db="+db, "--timeout=30",
		"set", "open", ".", fmt.Sprintf("external-ids:system-id=chassis-%d", number),
		"external-ids:ovn-remote=tcp:192.0.2.10:6642", "external-ids:ovn-encap-type=geneve",
		"external-ids:ovn-encap-ip="+address, "external-ids:ovn-bridge-datapath-type=netdev",
		"--", "add-br", "br-int", "--", "set", "bridge", "br-int", "datapath_type=netdev", "fail-mode=secure",
		"--", "add-br", "br-ex", "--", "set", "bridge", "br-ex", "datapath_type=netdev",
		"--", "add-port", "br-ex", "eth0", "--", "add-port", "br-int", "host",
		"--", "set", "interface", "host", fmt.Sprintf("external-ids:iface-id=host-%d", number))
	run(t, ns, "ip addr add "+address+"/24 dev br-ex; ip link set br-ex up; ethtool -K br-ex tx off")
	daemon(t, ns, dir, "ovn-controller", db)
}

// plugInto gives a namespace an interface host, whose other end is another namespace's eth0.
func plugInto(t *testing.T, ns, other string) {
	t.Helper()
	f, err := os.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()

	cmd := exec.Command("nsenter", "--net="+ns, "sh", "-ec",
		"ip link add host type veth peer name eth0 netns /proc/$$/fd/3")
	cmd.ExtraFiles = []*os.File{f}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// short returns a folder with a name that leaves room for a socket's.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ovn") //nolint:usetesting // that of a test has a longer name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func does(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

// daemon runs a program of Open vSwitch's or OVN's in a network namespace until the test ends.
func daemon(t *testing.T, ns, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command("nsenter", append([]string{"--net=" + ns, name}, args...)...)
	cmd.Env = append(os.Environ(), "OVS_RUNDIR="+dir, "OVS_LOGDIR="+dir, "OVS_DBDIR="+dir, "OVN_RUNDIR="+dir,
		"OVN_LOGDIR="+dir, "OVN_DBDIR="+dir)
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}

	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		stop := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		stop.Stop()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s: %s", name, text)
		}
	})
}

// answer waits until somebody listens on Unix sockets.
func answer(t *testing.T, paths ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	for _, path := range paths {
		for {
			if conn, err := net.Dial("unix", path); err == nil {
				_ = conn.Close()
				break
			}
			select {
			case <-ctx.Done():
				t.Fatalf("nobody listens on %s", path)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}
