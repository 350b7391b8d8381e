package server

import (
	"context"
	"encoding/json"
	"strings"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

const queryStats = "HcnQueryEndpointStats"

// statsID is the endpoint whose statistics a request asks for.
func statsID(r hns.Request) (string, bool) {
	if r.Function == queryStats {
		return r.Object, true
	}
	if r.Function != "HNSCall" || len(r.Text) < 2 || !strings.EqualFold(r.Text[0], "GET") {
		return "", false
	}
	return strings.CutPrefix(strings.TrimLeft(r.Text[1], "/"), "endpointstats/")
}

// stats answers GET /endpointstats/<id> and HcnQueryEndpointStats. An endpoint that is not attached has counted
// nothing.
func (s *Service) stats(ctx context.Context, r hns.Request, id string) (hns.Reply, error) {
	s.mu.Lock()
	reply, err := s.model.Call(hns.Request{Function: "HcnOpenEndpoint", Object: strings.TrimRight(id, "/")})
	attached := err == nil && s.model.HasPort(reply.Object)
	s.mu.Unlock()
	var st netplan.Stats
	if attached {
		st, err = s.cfg.DataPlane.Stats(ctx, reply.Object)
	}
	if err != nil && r.Function == queryStats {
		return hns.Reply{}, err
	}
	if err != nil {
		return hns.Reply{Text: hns.V1Error(err)}, nil
	}
	out, err := json.Marshal(wire.V1Stats{
		BytesReceived:          st.RxBytes,
		BytesSent:              st.TxBytes,
		PacketsReceived:        st.RxPackets,
		PacketsSent:            st.TxPackets,
		DroppedPacketsIncoming: st.RxDropped,
		DroppedPacketsOutgoing: st.TxDropped,
		EndpointId:             reply.Object,
		InstanceId:             reply.Object,
	})
	if err != nil || r.Function == queryStats {
		return hns.Reply{Object: reply.Object, Text: string(out)}, err
	}
	text, err := json.Marshal(wire.V1Reply{Success: true, Output: out})
	return hns.Reply{Text: string(text)}, err
}
