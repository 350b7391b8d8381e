package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"
)

// nc connects to HOST PORT (with -z only that, with -u by UDP; -t, to answer telnet's negotiation, has nothing to do),
// or listens (-l, with -p PORT or PORT); without -l, -p is the port it comes from. -w is how many seconds connecting
// may take, and how long nothing may arrive.
func nc(ctx context.Context, c *call) int {
	o, err := c.parse("v z u t l n k N 4", "w p q i")
	if err != nil {
		return c.usage("%v", err)
	}

	limit := forever
	if o.has("w") {
		if limit, err = seconds(o.get("w")); err != nil {
			return c.usage("bad time '%s'", o.get("w"))
		}
	}

	network := "tcp"
	if o.has("u") {
		network = "udp"
	}
	if o.has("l") {
		return ncListen(ctx, c, o, network)
	}

	if len(o.args()) != 2 {
		return c.usage("want HOST PORT")
	}

	addr := net.JoinHostPort(o.args()[0], o.args()[1])
	d := net.Dialer{Timeout: limit}
	if o.has("p") {
		if d.LocalAddr, err = ncSource(network, o.get("p")); err != nil {
			return c.usage("bad port '%s'", o.get("p"))
		}
	}

	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		if o.has("v") {
			fmt.Fprintf(c.stderr, "nc: connect to %s port %s (%s) failed: %v\n", o.args()[0], o.args()[1], network, err)
		}
		return 1
	}
	defer conn.Close()
	if o.has("v") {
		fmt.Fprintf(c.stderr, "Connection to %s %s port [%s/*] succeeded!\n", o.args()[0], o.args()[1], network)
	}

	if o.has("z") {
		return 0
	}
	return talk(ctx, c, conn, limit)
}

// ncSource returns the address that a connection comes from.
func ncSource(network, port string) (net.Addr, error) {
	if network == "udp" {
		return net.ResolveUDPAddr(network, ":"+port)
	}
	return net.ResolveTCPAddr(network, ":"+port)
}

func ncListen(ctx context.Context, c *call, o *options, network string) int {
	port := o.get("p")
	if port == "" && len(o.args()) > 0 {
		port = o.args()[len(o.args())-1]
	}

	var lc net.ListenConfig
	if network == "udp" {
		conn, err := lc.ListenPacket(ctx, network, ":"+port)
		if err != nil {
			return c.fail(err)
		}
		defer conn.Close()

		buf := make([]byte, 65536)
		for {
			n, _, err := conn.ReadFrom(buf)
			if err != nil {
				return c.fail(err)
			}
			if _, err := c.stdout.Write(buf[:n]); err != nil {
				return c.fail(err)
			}
		}
	}

	l, err := lc.Listen(ctx, network, ":"+port)
	if err != nil {
		return c.fail(err)
	}
	defer l.Close()

	for {
		conn, err := l.Accept()
		if err != nil {
			return c.fail(err)
		}
		code := talk(ctx, c, conn, forever)
		if conn.Close(); !o.has("k") {
			return code
		}
	}
}

// talk carries standard input to the other side and what comes back to standard output, until that side ends, or
// nothing has come for the time that -w says.
func talk(ctx context.Context, c *call, conn net.Conn, limit time.Duration) int {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	go func() {
		_, err := io.Copy(conn, c.stdin)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			_ = tcp.CloseWrite() // the other side may have gone already
		}
	}()

	buf := make([]byte, 65536)
	for {
		if limit < forever {
			if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
				return c.fail(err)
			}
		}
		n, err := conn.Read(buf)
		if _, werr := c.stdout.Write(buf[:n]); werr != nil {
			return c.fail(werr)
		}

		if err != nil {
			return 0
		}
	}
}
