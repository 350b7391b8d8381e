package dataplane

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/network/netplan"
)

// tableText is a table as nft reads and prints it, composed of what the kernel gets: the commands of a transaction and
// the messages with elements.
type tableText struct {
	head     string // the line that opens the table
	objects  []*object
	elements map[string][]nftables.SetElement // by the name of a set or map
}

// object is a set, a map or a chain.
type object struct {
	kind, name string
	body       []string // a line each: type and flags, or rules
}

// newTableText reads a transaction that makes one table.
func newTableText(t *testing.T, transaction string, messages []message) *tableText {
	t.Helper()
	text := &tableText{elements: map[string][]nftables.SetElement{}}
	for line := range strings.Lines(transaction) {
		command, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		words := strings.SplitN(rest, " ", 5)
		switch {
		case command == "flush" && words[0] == "chain":
			text.named(words[3]).body = nil
		case command != "add" || len(words) < 3:
			t.Fatalf("no text for %q", line)
		case words[0] == "table":
			text.head = strings.Join(words[:3], " ")
			text.objects = append(text.objects, &object{kind: "comment", body: inBraces(strings.Join(words[3:], " "))})

		case words[0] == "rule":
			o := text.named(words[3])
			o.body = append(o.body, words[4])
		case text.named(words[3]) == nil:
			text.objects = append(text.objects, &object{
				kind: words[0],
				name: words[3],
				body: inBraces(strings.Join(words[4:], " ")),
			})
		}
	}

	for _, m := range messages {
		if m.del || text.named(m.set) == nil {
			t.Fatalf("no text for elements of %q", m.set)
		}
		text.elements[m.set] = append(text.elements[m.set], m.elements...)
	}

	return text
}

// inBraces returns the statements between braces.
func inBraces(s string) []string {
	s = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "{"), "}")
	var all []string
	for part := range strings.SplitSeq(s, ";") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

func (t *tableText) named(name string) *object {
	i := slices.IndexFunc(t.objects, func(o *object) bool { return o.name == name })
	if i < 0 {
		return nil
	}
	return t.objects[i]
}

// String writes the table, one object after the other. A set without elements takes one line.
func (t *tableText) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s {\n", t.head)
	wasShort := false
	for _, o := range t.objects {
		if o.kind == "comment" {
			for _, line := range o.body {
				fmt.Fprintf(&b, "\t%s\n", line)
			}
			continue
		}

		lines := o.lines(t.elements[o.name])
		short := o.kind != "chain" && len(lines) == len(o.body)
		if !short || !wasShort {
			b.WriteByte('\n')
		}

		wasShort = short
		if short {
			fmt.Fprintf(&b, "\t%s %s { %s; }\n", o.kind, o.name, strings.Join(lines, "; "))
			continue
		}

		fmt.Fprintf(&b, "\t%s %s {\n", o.kind, o.name)
		for _, line := range lines {
			fmt.Fprintf(&b, "\t\t%s\n", line)
		}

		b.WriteString("\t}\n")
	}

	b.WriteString("}\n")
	return b.String()
}

// lines returns the lines within an object's braces.
func (o *object) lines(elements []nftables.SetElement) []string {
	if o.kind == "chain" {
		return o.body
	}
	if len(elements) == 0 {
		return o.body
	}

	slices.SortFunc(elements, func(a, b nftables.SetElement) int {
		return cmp.Or(bytes.Compare(a.Key, b.Key), bytes.Compare(a.KeyEnd, b.KeyEnd))
	})
	lines := append(slices.Clone(o.body), "elements = {")
	key, value, _ := strings.Cut(strings.TrimPrefix(o.body[0], "type "), " : ")
	for _, e := range elements {
		lines = append(lines, "\t"+element(e, key, value)+",")
	}

	return append(lines, "}")
}

// element returns one element, with the types of its key and its value, which is empty in a set.
func element(e nftables.SetElement, key, value string) string {
	s := keyText(key, e.Key, e.KeyEnd)
	if e.Comment != "" {
		s += fmt.Sprintf(" comment %q", e.Comment)
	}

	switch {
	case e.VerdictData != nil:
		verbs := map[expr.VerdictKind]string{expr.VerdictGoto: "goto", expr.VerdictJump: "jump"}
		s += fmt.Sprintf(" : %s %s", verbs[e.VerdictData.Kind], e.VerdictData.Chain)
	case value != "":
		s += " : " + keyText(value, e.Val, nil)
	}

	return s
}

// keyText writes a concatenation of a type as `ipv4_addr . inet_service`; end is the last key of a range.
func keyText(kind string, b, end []byte) string {
	var parts []string
	for part := range strings.SplitSeq(kind, " . ") {
		size := map[string]int{"ipv6_addr": 16, "ifname": 16, "ether_addr": 8}[part]
		if size == 0 {
			size = 4
		}
		if len(b) < size {
			return fmt.Sprintf("%d bytes are no %s", len(b), kind)
		}

		text := partText(part, b[:size])
		if len(end) >= size {
			if text != partText(part, end[:size]) {
				text += fmt.Sprintf("/%d", commonBits(b[:size], end[:size]))
			}
			end = end[size:]
		}
		parts, b = append(parts, text), b[size:]
	}
	if len(b) > 0 {
		return fmt.Sprintf("%d bytes too many for %s", len(b), kind)
	}

	return strings.Join(parts, " . ")
}

func partText(kind string, b []byte) string {
	switch kind {
	case "ipv4_addr", "ipv6_addr":
		addr, _ := netip.AddrFromSlice(b)
		return addr.String()

	case "ether_addr":
		return net.HardwareAddr(b[:6]).String()
	case "ifname":
		return fmt.Sprintf("%q", bytes.TrimRight(b, "\x00"))
	case "inet_proto":
		if name := map[netplan.Protocol]string{
			netplan.TCP: "tcp",
			netplan.UDP: "udp",
		}[netplan.Protocol(b[0])]; name != "" {
			return name
		}
		return fmt.Sprint(b[0])

	case "inet_service":
		return fmt.Sprint(binary.BigEndian.Uint16(b))
	case "mark":
		if n := binary.NativeEndian.Uint32(b); n < 1000 { // the number of a backend
			return fmt.Sprint(n)
		}
		return fmt.Sprintf("0x%08x", binary.NativeEndian.Uint32(b))
	}

	return "no text for " + kind
}

// commonBits returns the length of the network from the first to the last address.
func commonBits(first, last []byte) int {
	n := 0
	for i := range first {
		same := bits.LeadingZeros8(first[i] ^ last[i])
		if n += same; same < 8 {
			break
		}
	}
	return n
}

// hostText returns the table of a host with a plan, as Apply makes it if there is none.
func hostText(t *testing.T, p *space, plan netplan.Plan) *tableText {
	t.Helper()
	p.askAll(newState(plan))
	d := between(nil, p.rules.entries)
	fresh := d.chains()
	p.rules.withNext(fresh)
	return textOf(t, tableName, d.messages(), func(tx *knftables.Transaction) {
		frame(tx)
		addChains(tx, p.rules, fresh)
	})
}

// podText returns the table of a port in its pod's namespace; nil if there is none.
func podText(t *testing.T, plan netplan.Plan, port netplan.Port, users Users) *tableText {
	t.Helper()
	s := &portSpec{Port: port, bridge: newState(plan).bridges[port.Bridge]}
	chains := podChains(s, users)
	if len(chains) == 0 {
		return nil
	}
	return textOf(t, "hns_"+s.Name, nil, func(tx *knftables.Transaction) { podTable(tx, s.ID, chains) })
}

// textOf returns the text of a transaction. The library checks that everything the commands name exists.
func textOf(t *testing.T, table string, messages []message, commands func(*knftables.Transaction)) *tableText {
	t.Helper()
	fake := knftables.NewFake(knftables.InetFamily, table)
	tx := fake.NewTransaction()
	commands(tx)
	if err := fake.Run(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	return newTableText(t, tx.String(), messages)
}
