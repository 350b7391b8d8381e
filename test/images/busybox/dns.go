package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver is where names are asked for.
type resolver struct {
	servers []netip.AddrPort
	search  []string
}

// query is one question.
type query struct {
	name string
	kind dnsmessage.Type
	tcp  bool
}

// dig knows @SERVER, NAME, TYPE, -x ADDRESS, -p PORT, +short, +noall, +answer, +search, +tcp, +notcp, +time= and
// +tries=.
func dig(ctx context.Context, c *call) int {
	q := query{kind: dnsmessage.TypeA}
	var server, port string
	short, answerOnly := false, false
	search := false
	wait := 5 * time.Second
	for i := 1; i < len(c.args); i++ {
		switch a := c.args[i]; {
		case strings.HasPrefix(a, "@"):
			server = a[1:]
		case (a == "-p" || a == "-x") && i+1 == len(c.args):
			return c.usage("option %s needs a value", a)
		case a == "-p":
			i++
			port = c.args[i]

		case a == "-x":
			i++
			name, err := reverseName(c.args[i])
			if err != nil {
				return c.usage("%v", err)
			}
			q.name, q.kind = name, dnsmessage.TypePTR

		case a == "+short":
			short = true
		case a == "+noall", a == "+answer":
			answerOnly = true
		case a == "+search":
			search = true
		case a == "+tcp":
			q.tcp = true
		case a == "+notcp", strings.HasPrefix(a, "+tries="):
		case strings.HasPrefix(a, "+time="):
			d, err := seconds(a[len("+time="):])
			if err != nil {
				return c.usage("invalid time in '%s'", a)
			}
			wait = d

		case strings.HasPrefix(a, "+"), strings.HasPrefix(a, "-"):
			return c.usage("invalid option: %s", a)
		default:
			if t, ok := types()[strings.ToUpper(a)]; ok && q.name != "" {
				q.kind = t
			} else {
				q.name = a
			}
		}
	}

	res, err := chooseResolver(ctx, server, port)
	if err != nil {
		fmt.Fprintf(c.stderr, "dig: %v\n", err)
		return 10
	}
	if !search {
		res.search = nil
	}

	msg, _, err := res.ask(ctx, q, wait)
	if err != nil {
		fmt.Fprintf(c.stdout, ";; %v\n", err)
		return 9
	}
	printDig(c, msg, short, answerOnly)
	return 0
}

func printDig(c *call, msg dnsmessage.Message, short, answerOnly bool) {
	if !short && !answerOnly {
		fmt.Fprintf(c.stdout, ";; status: %s, id: %d\n;; ANSWER SECTION:\n",
			strings.TrimPrefix(msg.RCode.String(), "RCode"), msg.ID)
	}
	for _, r := range msg.Answers {
		if short {
			fmt.Fprintln(c.stdout, data(r.Body))
		} else {
			fmt.Fprintf(c.stdout, "%s\t%d\tIN\t%s\t%s\n", r.Header.Name, r.Header.TTL,
				strings.TrimPrefix(r.Header.Type.String(), "Type"), data(r.Body))
		}
	}
}

func types() map[string]dnsmessage.Type {
	return map[string]dnsmessage.Type{
		"A": dnsmessage.TypeA, "AAAA": dnsmessage.TypeAAAA, "PTR": dnsmessage.TypePTR, "SRV": dnsmessage.TypeSRV,
		"CNAME": dnsmessage.TypeCNAME, "TXT": dnsmessage.TypeTXT, "NS": dnsmessage.TypeNS, "SOA": dnsmessage.TypeSOA,
		"MX": dnsmessage.TypeMX,
	}
}

// data returns what dig prints of a record.
func data(body dnsmessage.ResourceBody) string {
	switch r := body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(r.A).String()
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(r.AAAA).String()
	case *dnsmessage.CNAMEResource:
		return r.CNAME.String()
	case *dnsmessage.PTRResource:
		return r.PTR.String()
	case *dnsmessage.NSResource:
		return r.NS.String()
	case *dnsmessage.SRVResource:
		return fmt.Sprintf("%d %d %d %s", r.Priority, r.Weight, r.Port, r.Target)
	case *dnsmessage.TXTResource:
		return `"` + strings.Join(r.TXT, `" "`) + `"`
	case *dnsmessage.MXResource:
		return fmt.Sprintf("%d %s", r.Pref, r.MX)
	case *dnsmessage.SOAResource:
		return fmt.Sprintf("%s %s %d %d %d %d %d", r.NS, r.MBox, r.Serial, r.Refresh, r.Retry, r.Expire, r.MinTTL)
	}

	return "?"
}

// nslookup knows NAME [SERVER], NAME being an address too.
func nslookup(ctx context.Context, c *call) int {
	o, err := c.parse("debug", "type querytype timeout")
	if err != nil {
		return c.usage("%v", err)
	}
	args := o.args()
	if len(args) == 0 || len(args) > 2 {
		return c.usage("want NAME [SERVER]")
	}

	server := ""
	if len(args) == 2 {
		server = args[1]
	}
	res, err := chooseResolver(ctx, server, "")
	if err != nil {
		return c.fail(err)
	}

	q := query{name: args[0], kind: dnsmessage.TypeA}
	if name, err := reverseName(args[0]); err == nil {
		q = query{name: name, kind: dnsmessage.TypePTR}
	}
	msg, from, err := res.ask(ctx, q, 5*time.Second)
	if err != nil {
		fmt.Fprintf(c.stderr, ";; %v\n", err)
		return 1
	}

	fmt.Fprintf(c.stdout, "Server:\t\t%s\nAddress:\t%s\n\n", from.Addr(), from)
	if len(msg.Answers) == 0 {
		fmt.Fprintf(c.stdout, "** server can't find %s: %s\n", args[0],
			strings.ToUpper(strings.TrimPrefix(msg.RCode.String(), "RCode")))
		return 1
	}

	for _, r := range msg.Answers {
		fmt.Fprintf(c.stdout, "Name:\t%s\nAddress: %s\n", strings.TrimSuffix(r.Header.Name.String(), "."),
			strings.TrimSuffix(data(r.Body), "."))
	}

	return 0
}

// getent knows "hosts NAME" and "ahosts NAME": the hosts file first, then the system's resolver.
func getent(ctx context.Context, c *call) int {
	if len(c.args) != 3 || (c.args[1] != "hosts" && c.args[1] != "ahosts" && c.args[1] != "ahostsv4") {
		return c.usage("only `getent hosts NAME` is known")
	}
	name := c.args[2]
	hosts := "/etc/hosts"
	if runtime.GOOS == "windows" {
		hosts = `C:\Windows\System32\drivers\etc\hosts`
	}

	if f, err := os.Open(hosts); err == nil {
		defer f.Close()
		if line := hostsLine(f, name); line != "" {
			fmt.Fprintln(c.stdout, line)
			return 0
		}
	}

	addrs, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return 2
	}
	for _, a := range addrs {
		fmt.Fprintf(c.stdout, "%-15s %s\n", a, name)
	}

	return 0
}

func hostsLine(r io.Reader, name string) string {
	for s := bufio.NewScanner(r); s.Scan(); {
		text, _, _ := strings.Cut(s.Text(), "#")
		fields := strings.Fields(text)
		for i, f := range fields {
			if i > 0 && strings.EqualFold(f, name) {
				return fmt.Sprintf("%-15s %s", fields[0], strings.Join(fields[1:], " "))
			}
		}
	}
	return ""
}

// reverseName returns the name under which an address is asked for.
func reverseName(address string) (string, error) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "", err
	}

	var b strings.Builder
	if ip.Is4() {
		bytes := ip.As4()
		for i := 3; i >= 0; i-- {
			fmt.Fprintf(&b, "%d.", bytes[i])
		}
		return b.String() + "in-addr.arpa.", nil
	}

	bytes := ip.As16()
	for i := 15; i >= 0; i-- {
		fmt.Fprintf(&b, "%x.%x.", bytes[i]&15, bytes[i]>>4)
	}

	return b.String() + "ip6.arpa.", nil
}

// chooseResolver returns the system's configuration, or a server that is named.
func chooseResolver(ctx context.Context, server, port string) (resolver, error) {
	if port == "" {
		port = "53"
	}

	res, err := systemResolver()
	if server != "" {
		res.servers = nil
		addrs := []string{server}
		if _, parseErr := netip.ParseAddr(server); parseErr != nil {
			if addrs, err = net.DefaultResolver.LookupHost(ctx, server); err != nil {
				return res, fmt.Errorf("couldn't get address for '%s': %w", server, err)
			}
		}

		for _, a := range addrs {
			ap, err := netip.ParseAddrPort(net.JoinHostPort(a, port))
			if err != nil {
				return res, err
			}
			res.servers = append(res.servers, ap)
		}

		return res, nil
	}
	if err == nil && len(res.servers) == 0 {
		err = errors.New("no DNS servers are configured")
	}

	return res, err
}

// ask asks for the name, if it has few dots with each search suffix too, and gives the first answer that has one.
func (r resolver) ask(ctx context.Context, q query, wait time.Duration) (dnsmessage.Message, netip.AddrPort, error) {
	names := []string{strings.TrimSuffix(q.name, ".") + "."}
	if !strings.HasSuffix(q.name, ".") {
		for _, s := range r.search {
			names = append(names, strings.TrimSuffix(q.name, ".")+"."+strings.Trim(s, ".")+".")
		}
	}

	var last dnsmessage.Message
	var lastErr error
	var from netip.AddrPort
	for _, name := range names {
		for _, server := range r.servers {
			msg, err := exchange(ctx, server, query{
				name: name,
				kind: q.kind,
				tcp:  q.tcp,
			}, wait)
			if err != nil {
				lastErr = fmt.Errorf("communications error to %s: %w", server, err)
				continue
			}

			last, from = msg, server
			lastErr = nil
			if len(msg.Answers) > 0 {
				return msg, server, nil
			}

			break
		}
	}

	return last, from, lastErr
}

// exchange asks one server, by TCP too where the answer by UDP is cut off.
func exchange(ctx context.Context, server netip.AddrPort, q query, wait time.Duration) (dnsmessage.Message, error) {
	var msg dnsmessage.Message
	name, err := dnsmessage.NewName(q.name)
	if err != nil {
		return msg, fmt.Errorf("name %q: %w", q.name, err)
	}

	id := uint16(rand.Uint32()) // a number that tells answers apart
	ask := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: name, Type: q.kind, Class: dnsmessage.ClassINET}},
	}
	packed, err := ask.Pack()
	if err != nil {
		return msg, err
	}

	network := "udp"
	if q.tcp {
		network = "tcp"
		packed = append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...) // a question is short
	}

	d := net.Dialer{Timeout: wait}
	conn, err := d.DialContext(ctx, network, server.String())
	if err != nil {
		return msg, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return msg, err
	}

	if _, err := conn.Write(packed); err != nil {
		return msg, err
	}

	for {
		answer, err := readMessage(conn, q.tcp)
		if err != nil {
			return msg, err
		}
		if err := msg.Unpack(answer); err != nil {
			return msg, err
		}

		if msg.ID == id {
			break
		}
	}

	if msg.Truncated && !q.tcp {
		q.tcp = true
		return exchange(ctx, server, q, wait)
	}
	return msg, nil
}

func readMessage(conn net.Conn, tcp bool) ([]byte, error) {
	buf := make([]byte, 65536)
	if !tcp {
		n, err := conn.Read(buf)
		return buf[:n], err
	}
	if _, err := io.ReadFull(conn, buf[:2]); err != nil {
		return nil, err
	}
	buf = buf[:binary.BigEndian.Uint16(buf)]
	_, err := io.ReadFull(conn, buf)
	return buf, err
}
