package netstat

import "mullion.dev/mullion/guest/tools/program"

// showTraffic prints what the interfaces have received and sent.
func (s statistics) showTraffic(e program.Env, sys System) error {
	t, err := sys.Traffic()
	if err != nil {
		return err
	}

	e.Print("Interface Statistics")
	e.Print("")
	e.Print("                           Received            Sent")
	e.Print("")
	for _, row := range []struct {
		name    string
		in, out uint64
	}{
		{"Bytes", t.BytesIn, t.BytesOut},
		{"Unicast packets", t.UnicastIn, t.UnicastOut},
		{"Non-unicast packets", t.OtherIn, t.OtherOut},
		{"Discards", t.DiscardsIn, t.DiscardsOut},
		{"Errors", t.ErrorsIn, t.ErrorsOut},
	} {
		e.Print("%-20s%15d %15d", row.name, row.in, row.out)
	}

	e.Print("%-20s%15d", "Unknown protocols", t.UnknownIn)
	return nil
}

// ipCounters, tcpCounters and udpCounters are the names of counters, and their places in MIB_IPSTATS, MIB_TCPSTATS and
// MIB_UDPSTATS.
func ipCounters() []counter {
	return []counter{
		{"Packets Received", 2},
		{"Received Header Errors", 3},
		{"Received Address Errors", 4},
		{"Datagrams Forwarded", 5},
		{"Unknown Protocols Received", 6},
		{"Received Packets Discarded", 7},
		{"Received Packets Delivered", 8},
		{"Output Requests", 9},
		{"Routing Discards", 10},
		{"Discarded Output Packets", 11},
		{"Output Packet No Route", 12},
		{"Reassembly Required", 14},
		{"Reassembly Successful", 15},
		{"Reassembly Failures", 16},
		{"Datagrams Successfully Fragmented", 17},
		{"Datagrams Failing Fragmentation", 18},
		{"Fragments Created", 19},
	}
}

func tcpCounters() []counter {
	return []counter{
		{"Active Opens", 4},
		{"Passive Opens", 5},
		{"Failed Connection Attempts", 6},
		{"Reset Connections", 7},
		{"Current Connections", 8},
		{"Segments Received", 9},
		{"Segments Sent", 10},
		{"Segments Retransmitted", 11},
	}
}

func udpCounters() []counter {
	return []counter{{"Datagrams Received", 0}, {"No Ports", 1}, {"Receive Errors", 2}, {"Datagrams Sent", 3}}
}

type counter struct {
	name  string
	place int
}

// showCounters prints the counters of IP, TCP and UDP, of both families.
func (s statistics) showCounters(e program.Env, sys System) error {
	for _, family := range []struct {
		six  bool
		name string
	}{{false, "IPv4"}, {true, "IPv6"}} {
		p, err := sys.Protocols(family.six)
		if err != nil {
			return err
		}
		suffix := ""
		if family.six {
			suffix = "V6"
		}

		for _, block := range []struct {
			protocol, title string
			width           int
			names           []counter
			values          []uint32
		}{
			{"IP", family.name + " Statistics", 34, ipCounters(), p.IP},
			{"TCP", "TCP Statistics for " + family.name, 35, tcpCounters(), p.TCP},
			{"UDP", "UDP Statistics for " + family.name, 21, udpCounters(), p.UDP},
		} {
			if s.protocol != "" && s.protocol != block.protocol+suffix {
				continue
			}
			e.Print("")
			e.Print("%s", block.title)
			e.Print("")
			for _, c := range block.names {
				e.Print("  %-*s = %d", block.width, c.name, block.values[c.place])
			}
		}
	}

	return nil
}
