package dataplane

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/network/netplan"
)

// A host may have hundreds of thousands of flows. The kernel is asked only for some of them: it still walks through its
// table, but copies nothing else (CTA_FILTER, from Linux 5.8 on; CTA_STATUS_MASK, from 5.15 on). One walk takes some
// milliseconds, however few flows there are, so that thousands of addresses are not asked for one by one.

// Attributes of nf_conntrack, a bit of a flow's status, and parts of tuples to filter by:
// include/uapi/linux/netfilter/nfnetlink_conntrack.h and nf_conntrack_common.h, and net/netfilter/nf_internals.h of
// Linux.
const (
	ctaFilter          = 25
	ctaStatusMask      = 26
	statusSeenReply    = 1 << 1
	ctaFilterOrigFlags = 1
	filterIPDst        = 1 << 1
	filterProtoNum     = 1 << 3
	filterProtoDstPort = 1 << 5
)

// number returns the family as the kernel's headers have it.
func (f family) number() uint8 {
	if f == ipv6 {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// flowQuery asks for the flows of a family and protocol.
type flowQuery struct {
	family   family
	protocol netplan.Protocol
	// to, unless its port is 0, is where they were opened to. An address that is none stands for all. IPv6 addresses
	// are not asked for: Linux 6.18 then answers with all flows except the matching ones (see TestIPv6UDPFlowsMove), so
	// that all flows to the port are found.
	to netip.AddrPort
	// unanswered leaves out those that had a packet back.
	unanswered bool
}

// request returns the question as the kernel is asked it.
func (q flowQuery) request() *nl.NetlinkRequest {
	req := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: q.family.number(), Version: nl.NFNETLINK_V0})

	tuple := nl.NewRtAttr(unix.NLA_F_NESTED|nl.CTA_TUPLE_ORIG, nil)
	flags := uint32(filterProtoNum)
	ip := tuple.AddRtAttr(unix.NLA_F_NESTED|nl.CTA_TUPLE_IP, nil)
	if addr := q.to.Addr(); addr.Is4() {
		flags |= filterIPDst
		ip.AddRtAttr(nl.CTA_IP_V4_DST, addr.AsSlice())
	}

	proto := tuple.AddRtAttr(unix.NLA_F_NESTED|nl.CTA_TUPLE_PROTO, nil)
	proto.AddRtAttr(nl.CTA_PROTO_NUM, []byte{byte(q.protocol)})
	if port := q.to.Port(); port != 0 {
		flags |= filterProtoDstPort
		proto.AddRtAttr(nl.CTA_PROTO_DST_PORT, binary.BigEndian.AppendUint16(nil, port))
	}
	req.AddData(tuple)

	filter := nl.NewRtAttr(unix.NLA_F_NESTED|ctaFilter, nil)
	filter.AddRtAttr(ctaFilterOrigFlags, binary.NativeEndian.AppendUint32(nil, flags))
	req.AddData(filter)
	if q.unanswered {
		req.AddData(nl.NewRtAttr(nl.CTA_STATUS, binary.BigEndian.AppendUint32(nil, 0)))
		req.AddData(nl.NewRtAttr(ctaStatusMask, binary.BigEndian.AppendUint32(nil, statusSeenReply)))
	}

	return req
}

// flows calls found with each flow that the kernel knows, and with the attribute that names it.
func (q flowQuery) flows(found func(flow *netlink.ConntrackFlow, name []byte) error) error {
	answers, err := q.request().Execute(unix.NETLINK_NETFILTER, 0)
	if err != nil && !errors.Is(err, nl.ErrDumpInterrupted) {
		return err
	}

	for _, m := range answers {
		if len(m) < nl.SizeofNfgenmsg {
			continue
		}
		flow, name, err := parseFlow(m[nl.SizeofNfgenmsg:])
		if err != nil {
			return err
		}

		if err := found(flow, name); err != nil {
			return err
		}
	}

	return nil
}

// parseFlow reads the fields of a flow that staleFlows needs, and the attribute that names the flow.
func parseFlow(b []byte) (*netlink.ConntrackFlow, []byte, error) {
	attrs, err := nl.ParseRouteAttr(b)
	if err != nil {
		return nil, nil, err
	}

	var flow netlink.ConntrackFlow
	var name []byte
	for _, a := range attrs {
		var tuple *netlink.IPTuple
		switch a.Attr.Type &^ unix.NLA_F_NESTED {
		case nl.CTA_TUPLE_ORIG:
			tuple, name = &flow.Forward, a.Value
		case nl.CTA_TUPLE_REPLY:
			tuple = &flow.Reverse
		case nl.CTA_PROTOINFO:
			if flow.ProtoInfo, err = parseProtoInfo(a.Value); err != nil {
				return nil, nil, err
			}
			continue
		default:
			continue
		}

		if err := parseTuple(a.Value, tuple); err != nil {
			return nil, nil, err
		}
	}

	return &flow, name, nil
}

// parseProtoInfo returns the state of a TCP connection; nil if the flow is none.
func parseProtoInfo(b []byte) (netlink.ProtoInfo, error) {
	protocols, err := nl.ParseRouteAttr(b)
	if err != nil {
		return nil, err
	}

	for _, protocol := range protocols {
		if protocol.Attr.Type&^unix.NLA_F_NESTED != nl.CTA_PROTOINFO_TCP {
			continue
		}
		fields, err := nl.ParseRouteAttr(protocol.Value)
		if err != nil {
			return nil, err
		}

		for _, f := range fields {
			if f.Attr.Type == nl.CTA_PROTOINFO_TCP_STATE && len(f.Value) > 0 {
				return &netlink.ProtoInfoTCP{State: f.Value[0]}, nil
			}
		}
	}

	return nil, nil
}

func parseTuple(b []byte, t *netlink.IPTuple) error {
	parts, err := nl.ParseRouteAttr(b)
	if err != nil {
		return err
	}

	for _, part := range parts {
		fields, err := nl.ParseRouteAttr(part.Value)
		if err != nil {
			return err
		}

		for _, f := range fields {
			switch [2]uint16{part.Attr.Type &^ unix.NLA_F_NESTED, f.Attr.Type} {
			case [2]uint16{nl.CTA_TUPLE_IP, nl.CTA_IP_V4_SRC}, [2]uint16{nl.CTA_TUPLE_IP, nl.CTA_IP_V6_SRC}:
				t.SrcIP = f.Value
			case [2]uint16{nl.CTA_TUPLE_IP, nl.CTA_IP_V4_DST}, [2]uint16{nl.CTA_TUPLE_IP, nl.CTA_IP_V6_DST}:
				t.DstIP = f.Value
			case [2]uint16{nl.CTA_TUPLE_PROTO, nl.CTA_PROTO_NUM}:
				t.Protocol = append(f.Value, 0)[0]
			case [2]uint16{nl.CTA_TUPLE_PROTO, nl.CTA_PROTO_SRC_PORT}:
				t.SrcPort = portAt(string(f.Value), 0)
			case [2]uint16{nl.CTA_TUPLE_PROTO, nl.CTA_PROTO_DST_PORT}:
				t.DstPort = portAt(string(f.Value), 0)
			}
		}
	}

	return nil
}

// forgetFlow removes the flow of that name, by a socket for many.
func forgetFlow(by *nl.SocketHandle, f family, name []byte) error {
	req := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|nl.IPCTNL_MSG_CT_DELETE, unix.NLM_F_ACK)
	req.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_NETFILTER: by}
	req.AddData(&nl.Nfgenmsg{NfgenFamily: f.number(), Version: nl.NFNETLINK_V0})
	req.AddData(nl.NewRtAttr(unix.NLA_F_NESTED|nl.CTA_TUPLE_ORIG, name))
	if _, err := req.Execute(unix.NETLINK_NETFILTER, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("forget a flow: %w", err)
	}
	return nil
}

// forgetOf removes the stale flows among those that a query finds. A pod can have begun tens of thousands, and until
// they are gone no other change is carried out. A socket for each would take three times as long.
func (s *staleFlows) forgetOf(q flowQuery) error {
	socket, err := nl.Subscribe(unix.NETLINK_NETFILTER)
	if err != nil {
		return fmt.Errorf("forget flows: %w", err)
	}
	defer socket.Close()
	if err := socket.SetReceiveTimeout(&nl.SocketTimeoutTv); err != nil {
		return fmt.Errorf("forget flows: %w", err)
	}

	by := &nl.SocketHandle{Socket: socket}
	return q.flows(func(flow *netlink.ConntrackFlow, name []byte) error {
		if !s.MatchConntrackFlow(flow) {
			return nil
		}
		return forgetFlow(by, q.family, name)
	})
}
