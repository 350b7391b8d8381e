// Package server runs the Host Networking Service of one Windows host: it keeps the model's state on disk, has the data
// plane carry out the plan, and answers the DLLs over TCP. What HNS means is the model's; what the kernel does is the
// data plane's.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/internal/hns"
	"mullion.dev/mullion/internal/hns/wire"
	"mullion.dev/mullion/internal/netplan"
)

// DataPlane carries plans out. dataplane.Plane and dataplane.Fake are two.
type DataPlane interface {
	Apply(ctx context.Context, plan netplan.Plan) error
	Differences(ctx context.Context, plan netplan.Plan) ([]string, error)
	Stats(ctx context.Context, port string) (netplan.Stats, error)
}

// Store keeps the model's state. Load returns nil when there is none yet.
type Store interface {
	Load() ([]byte, error)
	Save(data []byte) error
}

// Config says what a Service stands on.
type Config struct {
	Model     hns.Config
	Store     Store
	DataPlane DataPlane
	Log       *slog.Logger
}

// Service is the HNS of one host. It may be called from several goroutines; calls run one after another.
type Service struct {
	cfg   Config
	mu    sync.Mutex
	model *hns.Model
	plan  netplan.Plan
}

// Open reads the state and brings the kernel in line with it.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	data, err := cfg.Store.Load()
	if err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg}
	if data == nil {
		s.model = hns.New(cfg.Model)
	} else if s.model, err = hns.Load(cfg.Model, data); err != nil {
		return nil, err
	}
	if err := s.save(); err != nil {
		return nil, err
	}
	s.plan = s.model.Plan()
	if err := cfg.DataPlane.Apply(ctx, s.plan); err != nil {
		return nil, fmt.Errorf("apply the HNS state: %w", err)
	}
	return s, nil
}

func (s *Service) save() error {
	data, err := s.model.Save()
	if err != nil {
		return err
	}
	return s.cfg.Store.Save(data)
}

// Call carries out one request: model, kernel, disk; all of them or none.
func (s *Service) Call(ctx context.Context, r hns.Request) (hns.Reply, error) {
	if id, ok := statsID(r); ok {
		return s.stats(ctx, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reply, err := s.model.Call(r)
	if err != nil || !s.model.Changed() {
		return reply, err
	}
	plan := s.model.Plan()
	// The state goes to disk first: after a crash in between, the next Open carries the plan out.
	if err := s.save(); err != nil {
		s.model.Rollback()
		return hns.Reply{}, wire.Errorf(wire.EFail, "%v", err)
	}
	if !reflect.DeepEqual(plan, s.plan) {
		if err := s.cfg.DataPlane.Apply(ctx, plan); err != nil {
			return hns.Reply{}, s.takeBack(ctx, r, err)
		}
	}
	s.plan = plan
	s.model.Commit()
	return reply, nil
}

// takeBack undoes a request whose plan the kernel refused.
func (s *Service) takeBack(ctx context.Context, r hns.Request, cause error) error {
	s.model.Rollback()
	err := errors.Join(s.save(), s.cfg.DataPlane.Apply(context.WithoutCancel(ctx), s.plan))
	if err != nil {
		s.cfg.Log.Error("HNS request taken back, not wholly", "function", r.Function, "err", err)
	}
	return wire.Errorf(wire.EFail, "%v", cause)
}

// Repair compares the kernel with the plan, puts right what differs, and says in the log what that was.
func (s *Service) Repair(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.cfg.DataPlane.Differences(ctx, s.plan)
	if err == nil && len(found) == 0 {
		return nil
	}
	if err != nil {
		found = []string{err.Error()} // what cannot be looked at is made anew
	}
	if err := s.cfg.DataPlane.Apply(ctx, s.plan); err != nil {
		return fmt.Errorf("put right the host's network (%s): %w", strings.Join(found, "; "), err)
	}
	s.cfg.Log.Warn("the host's network was changed by others and is put right", "found", found)
	return nil
}

// RepairEvery repairs until ctx ends.
func (s *Service) RepairEvery(ctx context.Context, pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.Repair(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.Error("repair", "err", err)
		}
	}
}

// Plan is what the host's network should look like now.
func (s *Service) Plan() netplan.Plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan
}

func statsID(r hns.Request) (string, bool) {
	if r.Function != "HNSCall" || len(r.Text) < 2 || !strings.EqualFold(r.Text[0], "GET") {
		return "", false
	}
	return strings.CutPrefix(strings.TrimLeft(r.Text[1], "/"), "endpointstats/")
}

// stats answers GET /endpointstats/<id>. An endpoint that is not attached has counted nothing.
func (s *Service) stats(ctx context.Context, id string) (hns.Reply, error) {
	s.mu.Lock()
	reply, err := s.model.Call(hns.Request{Function: "HcnOpenEndpoint", Object: id})
	attached := false
	for _, p := range s.plan.Ports {
		attached = attached || p.ID == reply.Object
	}
	s.mu.Unlock()
	var st netplan.Stats
	if err == nil && attached {
		st, err = s.cfg.DataPlane.Stats(ctx, reply.Object)
	}
	if err != nil {
		return hns.Reply{Text: hns.V1Error(err)}, nil
	}
	out, err := json.Marshal(wire.V1Stats{
		BytesReceived: st.RxBytes, BytesSent: st.TxBytes, PacketsReceived: st.RxPackets, PacketsSent: st.TxPackets,
		DroppedPacketsIncoming: st.RxDropped, DroppedPacketsOutgoing: st.TxDropped,
		EndpointId: reply.Object, InstanceId: reply.Object,
	})
	if err != nil {
		return hns.Reply{}, err
	}
	text, err := json.Marshal(wire.V1Reply{Success: true, Output: out})
	return hns.Reply{Text: string(text)}, err
}

func hresult(err error) wire.HRESULT {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Code
	}
	return wire.EFail
}
