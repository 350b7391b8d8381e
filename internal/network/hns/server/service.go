// Package server runs the Host Networking Service of one Windows host. It keeps the model's state on disk, has the data
// plane carry out changes of the plan, and answers the DLLs over TCP. The model decides what HNS means, the data plane
// what the kernel does.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// DataPlane carries plans out; dataplane.Plane and dataplane.Fake implement it.
type DataPlane interface {
	// Apply makes the network as the plan says, whatever is there.
	Apply(ctx context.Context, plan netplan.Plan) error
	// ApplyChange leads from the last plan to the next. After an error, the next call must be Apply.
	ApplyChange(ctx context.Context, change netplan.Change) error
	Differences(ctx context.Context, plan netplan.Plan) ([]string, error)
	Stats(ctx context.Context, port string) (netplan.Stats, error)
	// HoldPorts keeps ports of the host from being bound until the result is closed.
	HoldPorts(ports netplan.HeldPorts) (io.Closer, error)
}

// Config says what a Service depends on.
type Config struct {
	Model     hns.Config
	Store     Store
	DataPlane DataPlane
	Log       *slog.Logger
	// Generation is the file by which DLLs know whether what they have read is still valid; nil: they ask each time.
	Generation io.WriterAt
	// Compute answers functions that are none of HNS: those of the Host Compute Service, which vmcompute.dll and
	// computecore.dll send the same way; nil: they are not implemented.
	Compute func(ctx context.Context, r hns.Request) (Computed, error)
}

// Computed is an answer of the Host Compute Service.
type Computed struct {
	hns.Reply
	// Then, unless nil, writes the answer, and has the connection of the call until it returns. It is told of one that
	// has failed by the connection.
	Then func(ctx context.Context, c net.Conn, answer []byte)
}

// Service is the HNS of one host. It may be called from several goroutines; calls run one after another.
//
// Networks, namespaces and pods' ports are in the kernel before the call that makes them returns. Load balancers and
// peers follow soon after it, many in one step: kube-proxy makes thousands of them one by one. A load balancer that is
// removed goes together with the next that is made, or after a second.
type Service struct {
	cfg   Config
	calls map[string]hns.Call // by their names

	mu      sync.Mutex
	model   *hns.Model
	journal journal
	later   later // what of the plan the kernel does not have yet
	behind  bool  // a change failed: the kernel needs the whole plan
	repairs hns.Repairs
	// withheld is what the log has of hns.Model.Withheld.
	withheld []string
	// held are the reservations of ports by their IDs; watchers are those who get events.
	held     map[string]held
	watchers map[*watcher]bool

	// tracers are those who are told of calls, guarded by tracing, which nobody holds while he locks another.
	tracing sync.Mutex
	tracers map[*tracer]bool

	generation generation

	// kernel is locked while the data plane works, so that changes keep their order. Whoever holds it does not lock mu.
	kernel sync.Mutex
}

// Open reads the state and brings the kernel in line with it.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	s := &Service{
		cfg:        cfg,
		calls:      hns.Calls(),
		journal:    journal{store: cfg.Store},
		generation: generation{file: cfg.Generation},
		held:       map[string]held{},
		watchers:   map[*watcher]bool{},
		tracers:    map[*tracer]bool{},
	}
	if err := s.Restart(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Restart does what restarting the service does on Windows: it drops what is in memory, reads the state from disk, and
// makes the kernel as that says. Calls wait until it is done. After an error the service goes on with the state it had.
func (s *Service) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kernel.Lock()
	defer s.kernel.Unlock()

	data, err := s.cfg.Store.Load()
	if err != nil {
		return err
	}

	var model *hns.Model
	if data == nil {
		model = hns.New(s.cfg.Model)
	} else if model, err = hns.Load(s.cfg.Model, data); err != nil {
		return err
	}

	if err := s.journal.rewrite(model); err != nil {
		return err
	}
	if err := s.generation.next(); err != nil {
		return err
	}

	if err := s.cfg.DataPlane.Apply(ctx, model.Plan()); err != nil {
		s.behind = true
		return fmt.Errorf("apply the HNS state: %w", err)
	}

	if s.model != nil {
		model.TakeOver(s.model)
	}
	s.model = model
	s.later = later{}
	s.behind = false
	s.dropOrphans()
	s.disconnectWatchers()

	return nil
}

// Call carries out one request in model, kernel and on disk: in all of them or in none.
func (s *Service) Call(ctx context.Context, r hns.Request) (hns.Reply, error) {
	reply, _, err := s.call(ctx, r, false)
	return reply, err
}

// call does what Call does, and also returns copies of the objects that the reply names.
func (s *Service) call(ctx context.Context, r hns.Request, withCopies bool) (hns.Reply, [][]byte, error) {
	switch s.calls[r.Function].Operation {
	case hns.QueryStats:
		reply, err := s.stats(ctx, r.Object)
		return reply, nil, err
	case hns.Version1:
		if endpoint, ok := statsID(r); ok {
			reply, err := s.statsV1(ctx, endpoint)
			return reply, nil, err
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	reply, err := s.carryOut(ctx, r)
	if err != nil || !withCopies {
		return reply, nil, err
	}
	return reply, s.generation.copies(s.model.Contents(r, reply)), nil
}

// carryOut does what Call does. It requires s.mu.
func (s *Service) carryOut(ctx context.Context, r hns.Request) (hns.Reply, error) {
	reply, err := s.model.Call(r)
	if err != nil || !s.model.Changed() {
		return reply, err
	}

	change := s.model.Change()
	before, after := s.model.Events()
	s.tell(before)
	err = s.generation.next() // watchers hear of a coming change before this, and of the change itself after it
	if err == nil && isUrgent(change) {
		err = s.applyNow(ctx, change)
	}
	if err == nil {
		err = s.journal.append(s.model)
	}
	if err != nil {
		s.takeBack(ctx, r, isUrgent(change))
		return hns.Reply{}, wire.Errorf(wire.EFail, "%v", err)
	}

	s.model.Commit()
	s.tell(after)
	s.dropOrphans()
	if !isUrgent(change) {
		s.applySoon(ctx, change)
	}

	return reply, nil
}

// applyNow carries out a change, together with those that wait. The kernel comes before the disk: after a crash in
// between, the next Open removes what no program was told of.
func (s *Service) applyNow(ctx context.Context, change netplan.Change) error {
	s.kernel.Lock()
	defer s.kernel.Unlock()
	if s.behind {
		err := s.cfg.DataPlane.Apply(ctx, s.model.Plan())
		if err == nil {
			s.behind, s.later = false, later{}
		}
		return err
	}

	s.later.add(change)
	var all netplan.Change
	if len(change.Removed.Bridges) > 0 { // with a network goes the place of its load balancers: none of them waits on
		all = s.later.take()
	} else {
		all = s.later.takeDue()
	}

	all.Join(urgent(change))
	return s.cfg.DataPlane.ApplyChange(ctx, all)
}

// takeBack undoes a request that the kernel or the disk refused.
func (s *Service) takeBack(ctx context.Context, r hns.Request, urgent bool) {
	s.model.Rollback()
	if !urgent {
		return
	}
	s.kernel.Lock()
	defer s.kernel.Unlock()

	s.later = later{}
	err := s.cfg.DataPlane.Apply(context.WithoutCancel(ctx), s.model.Plan())
	s.behind = err != nil
	if err != nil {
		s.cfg.Log.Error("HNS request taken back, not wholly", "function", r.Function, "error", err)
	}
}

// Repair compares the kernel with the plan, repairs what differs, and logs what that was.
func (s *Service) Repair(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.behind {
		s.flush(ctx)
	}
	s.sayWithheld()
	plan := s.model.Plan()
	s.kernel.Lock()
	defer s.kernel.Unlock()

	found, err := s.cfg.DataPlane.Differences(ctx, plan)
	if err == nil && len(found) == 0 && !s.behind {
		return nil
	}
	if err != nil {
		found = []string{err.Error()} // the kernel could not be read: apply the whole plan
	}

	if err := s.cfg.DataPlane.Apply(ctx, plan); err != nil {
		s.behind = true
		return fmt.Errorf("put right the host's network (%s): %w", strings.Join(found, "; "), err)
	}

	s.behind, s.later = false, later{}
	s.repairs = hns.Repairs{
		Count: s.repairs.Count + 1,
		Last:  time.Now(),
		Found: found,
	}
	s.cfg.Log.Warn("the host's network was not as planned and is put right", "found", found, "repairs", s.repairs.Count)

	return nil
}

// sayWithheld logs what is not carried out, once. It requires s.mu.
func (s *Service) sayWithheld() {
	now := s.model.Withheld()
	for _, text := range now {
		if !slices.Contains(s.withheld, text) {
			s.cfg.Log.Warn("not carried out, so that the control plane reaches the node", "what", text)
		}
	}
	s.withheld = now
}

// Own says what the service has done by itself.
func (s *Service) Own() hns.Own {
	s.mu.Lock()
	defer s.mu.Unlock()
	return hns.Own{Repairs: s.repairs, Withheld: s.model.Withheld()}
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
			s.cfg.Log.Error("repair", "error", err)
		}
	}
}

// Plan returns the plan of the host's network.
func (s *Service) Plan() netplan.Plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model.Plan()
}

func hresult(err error) wire.HRESULT {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Code
	}
	return wire.EFail
}
