package server

import (
	"context"
	"encoding/json"
	"strings"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// statsID returns the endpoint in GET /endpointstats/<id>.
func statsID(r hns.Request) (string, bool) {
	if len(r.Text) < 2 || !strings.EqualFold(r.Text[0], "GET") {
		return "", false
	}
	id, ok := strings.CutPrefix(strings.TrimLeft(r.Text[1], "/"), hns.StatsPath+"/")
	return strings.TrimRight(id, "/"), ok
}

// stats answers HcnQueryEndpointStats with an endpoint's counters. An endpoint that is not attached has zeros.
func (s *Service) stats(ctx context.Context, endpoint string) (hns.Reply, error) {
	s.mu.Lock()
	id, err := s.model.Find(hns.Endpoints, endpoint)
	attached := err == nil && s.model.HasPort(id)
	s.mu.Unlock()
	var st netplan.Stats
	if attached {
		st, err = s.cfg.DataPlane.Stats(ctx, id)
	}

	if err != nil {
		return hns.Reply{}, err
	}

	text, err := json.Marshal(wire.V1Stats{
		BytesReceived:          st.RxBytes,
		BytesSent:              st.TxBytes,
		PacketsReceived:        st.RxPackets,
		PacketsSent:            st.TxPackets,
		DroppedPacketsIncoming: st.RxDropped,
		DroppedPacketsOutgoing: st.TxDropped,
		EndpointId:             id,
		InstanceId:             id,
	})

	return hns.Reply{Object: id, Text: string(text)}, err
}

// statsV1 is stats as HNS version 1 answers it.
func (s *Service) statsV1(ctx context.Context, endpoint string) (hns.Reply, error) {
	reply, err := s.stats(ctx, endpoint)
	if err != nil {
		return hns.Reply{Text: hns.V1Error(err)}, nil
	}
	text, err := json.Marshal(wire.V1Reply{Success: true, Output: json.RawMessage(reply.Text)})
	return hns.Reply{Text: string(text)}, err
}
