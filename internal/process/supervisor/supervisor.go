// Package supervisor owns the process that keeps a cluster's parts alive: it starts the units, reports their states on
// a Unix socket, and stops them when asked. It does not know what the parts are.
//
//	starting ──▶ ready ──▶ stopping ──▶ (gone)
//	   └──────▶ failed ──────▲
package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// Phases of a cluster as a whole.
const (
	PhaseStarting = "starting"
	PhaseReady    = "ready"
	PhaseFailed   = "failed"
	PhaseStopping = "stopping"
)

// Restarting is the state of a unit that was ready and whose process has ended and is being started again. A unit's
// other states are those of package component.
const Restarting component.State = "restarting"

// Status is what the supervisor answers about itself and its units.
type Status struct {
	PID   int          `json:"pid"`
	Phase string       `json:"phase"`
	Error string       `json:"error,omitempty"`
	Units []UnitStatus `json:"units"`
	// LogLevel is how much the supervisor logs. An older one leaves it out, and logs at info.
	LogLevel logging.Level `json:"logLevel"`
}

// UnitStatus is one unit's state as component.Manager last reported it.
type UnitStatus struct {
	ID    component.ID    `json:"name"`
	State component.State `json:"state"`
	Error string          `json:"error,omitempty"`
	// After are the units that must be ready before this one starts. An older supervisor leaves it out.
	After []component.ID `json:"after,omitempty"`
	// Seconds is how long the unit took to reach its state, from the beginning of the state before.
	Seconds float64 `json:"seconds"`
	// PID and Restarts are for units that are a process: its id, 0 while it is down, and how often it was started
	// again. Of a unit that looks after something that others may change, Restarts counts how often it made that again.
	PID      int `json:"pid,omitempty"`
	Restarts int `json:"restarts,omitempty"`
	// Probed says that the unit was asked whether it works, as Client.Health does; Problem is the reason if it does
	// not.
	Probed  bool   `json:"probed,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Reason is why there is Error or Problem, where something is decided by it. An older supervisor leaves it out.
	Reason component.Reason `json:"reason,omitempty"`
	// Note is what a unit that is ready says of itself (component.Describer).
	Note string `json:"note,omitempty"`
}

// process is a component that is a child process and knows its state (proc.Process).
type process interface{ State() proc.State }

// mender is a component that looks after something that others may change, and makes it again.
type mender interface {
	// Repairs counts how often it had to.
	Repairs() int
	// Mend looks now, and returns what was missing.
	Mend(ctx context.Context) ([]string, error)
}

// pauser is a component whose process can be paused (proc.Process).
type pauser interface {
	Pause() (resume func() error, err error)
}

// probeTimeout is how long a unit may take to say whether it works, unless Config says otherwise: on an overloaded
// machine an answer takes seconds, which is no fault of the unit's. It is shorter than answerTimeout of Client.
const probeTimeout = 8 * time.Second

// stopTimeout bounds an orderly stop of all units.
const stopTimeout = 90 * time.Second

// startLimit bounds the start of a unit, unless Config says otherwise.
const startLimit = 5 * time.Minute

// Config is what Run needs.
type Config struct {
	// Socket is the path of the Unix socket on which the supervisor answers; its mode is 0600.
	Socket string
	Units  []component.Unit
	Log    *slog.Logger
	// Level is Log's. The zero value is one of its own, at info.
	Level *logging.Dial
	// ProbeTimeout is how long a unit may take to say whether it works, 8 s by default.
	ProbeTimeout time.Duration
	// Grow composes what a cluster that is up gets besides; nil: it gets nothing. It is called while nothing else is
	// started or stopped for a larger cluster.
	Grow func(ctx context.Context, want []byte) (Growth, error)
	// StartLimit is how long each unit may take to start once the units it waits for are ready; 5 minutes by default.
	StartLimit time.Duration
}

// bounded is a component whose start has a limit.
type bounded struct {
	component.Component
	limit time.Duration
}

// Start starts the component, and gives up when the limit is over.
func (b bounded) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	err := b.Component.Start(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it did not start within %s, and `mullion up --wait` says how long a part may take: %w",
			b.limit, err)
	}
	return err
}

type server struct {
	cfg  Config
	stop context.CancelFunc
	// stopping is closed when the units are to be stopped.
	stopping <-chan struct{}
	manager  *component.Manager
	growing  sync.Mutex // held while the cluster becomes larger

	mu     sync.Mutex // guards what follows
	status Status
	units  []component.Unit // in the order of status
	index  map[component.ID]int
}

// Run starts the units, serves until ctx ends or somebody asks to stop, then stops the units in reverse order. If a
// unit does not start, the started ones are stopped, and the phase stays failed until Run is asked to stop, so that
// clients can read the reason.
func Run(ctx context.Context, cfg Config) error {
	cfg.ProbeTimeout = cmp.Or(cfg.ProbeTimeout, probeTimeout)
	if cfg.Level == nil {
		cfg.Level = logging.NewDial(logging.Info)
	}
	runCtx, stop := context.WithCancel(ctx)
	defer stop()

	s := &server{
		cfg:      cfg,
		stop:     stop,
		stopping: runCtx.Done(),
		index:    map[component.ID]int{},
		status: Status{
			PID:   os.Getpid(),
			Phase: PhaseStarting,
			Units: []UnitStatus{},
		},
	}

	s.know(cfg.Units)
	manager, err := component.NewManager(s.bounded(cfg.Units), s.onEvent)
	if err != nil {
		return err
	}
	s.manager = manager
	listener, err := unixsocket.Listen(ctx, cfg.Socket)
	if err != nil {
		return err
	}

	httpServer := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- httpServer.Serve(listener) }()

	startErr := manager.Start(runCtx)
	if startErr != nil && runCtx.Err() == nil {
		s.setPhase(PhaseFailed, startErr)
	} else if startErr == nil {
		s.setPhase(PhaseReady, nil)
	}

	<-runCtx.Done()
	s.setPhase(PhaseStopping, nil)
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err = errors.Join(manager.Stop(stopCtx), httpServer.Close())
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}

	return err
}

// bounded returns units whose starts have a limit.
func (s *server) bounded(units []component.Unit) []component.Unit {
	all := make([]component.Unit, len(units))
	for i, u := range units {
		all[i] = component.Unit{Component: bounded{u.Component, cmp.Or(s.cfg.StartLimit, startLimit)}, After: u.After}
	}
	return all
}

// of returns the unit of an ID.
func (s *server) of(id component.ID) (u component.Unit, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[id]
	if !ok {
		return u, false
	}
	return s.units[i], true
}

func (s *server) onEvent(e component.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[e.Unit]
	if !ok {
		return
	}

	u := &s.status.Units[i]
	if u.State == component.Failed && (e.State == component.Stopping || e.State == component.Stopped) && e.Err == nil {
		return // the clean-up after a failure must not hide the reason
	}

	u.State, u.Seconds = e.State, e.Elapsed.Seconds()
	u.Error, u.Reason = "", component.ReasonOf(e.Err)
	if e.Err != nil {
		u.Error = e.Err.Error()
		s.cfg.Log.Error("unit", "name", e.Unit, "state", e.State, "error", e.Err)
		return
	}
	s.cfg.Log.Info("unit", "name", e.Unit, "state", e.State, "seconds", u.Seconds)
}

func (s *server) setPhase(phase string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Phase = phase
	if err != nil {
		s.status.Error = err.Error()
	}
}

// now returns the status, with the present state of the units that are processes.
func (s *server) now() Status {
	status, _ := s.nowOf()
	return status
}

// nowOf is now, with the units in the same order.
func (s *server) nowOf() (Status, []component.Unit) {
	s.mu.Lock()
	status, units := s.status, s.units
	status.Units = slices.Clone(s.status.Units)
	s.mu.Unlock()
	status.LogLevel = s.cfg.Level.Now()
	for i, u := range units {
		if d, ok := u.Component.(component.Describer); ok && status.Units[i].State == component.Ready {
			status.Units[i].Note = d.Describe()
		}
		if m, ok := u.Component.(mender); ok {
			status.Units[i].Restarts = m.Repairs()
		}

		p, ok := u.Component.(process)
		if !ok {
			continue
		}
		state, told := p.State(), &status.Units[i]
		told.PID, told.Restarts = state.PID, state.Restarts
		if told.State != component.Ready || state.Phase == proc.Running {
			continue
		}

		told.State = Restarting
		if state.Err != nil {
			told.Error = state.Err.Error()
		}
	}

	return status, units
}

// probed returns the status of now, after asking each ready unit whether it works.
func (s *server) probed(ctx context.Context) Status {
	status, units := s.nowOf()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ProbeTimeout)
	defer cancel()

	answers := make([]chan error, len(units))
	for i, u := range units {
		p, ok := u.Component.(component.Prober)
		if !ok || status.Units[i].State != component.Ready {
			continue
		}
		answer := make(chan error, 1) // an answer that comes too late stays in it
		answers[i] = answer
		go func() { answer <- p.Probe(ctx) }()
	}

	for i, answer := range answers {
		if answer == nil {
			continue
		}

		var err error
		select {
		case err = <-answer:
		case <-ctx.Done():
			select {
			case err = <-answer:
			default:
				err = fmt.Errorf("it has not answered within %s", s.cfg.ProbeTimeout)
			}
		}

		status.Units[i].Probed = true
		if err != nil {
			status.Units[i].Problem, status.Units[i].Reason = err.Error(), component.ReasonOf(err)
		}
	}

	return status
}

// setLevel changes how much the supervisor logs.
func (s *server) setLevel(w http.ResponseWriter, r *http.Request) {
	level, err := logging.Parse(r.PathValue("level"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.cfg.Level.Set(level)
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, status Status) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(status); err != nil {
			s.cfg.Log.Warn("answer a status request", "error", err)
		}
	}
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.now()) })
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { answer(w, s.probed(r.Context())) })
	mux.HandleFunc("POST /v1/pause/{unit...}", s.pause)
	mux.HandleFunc("POST /v1/restart/{unit...}", s.change(s.restart))
	mux.HandleFunc("PUT /v1/log/{level}", s.setLevel)
	mux.HandleFunc("POST /v1/mend", s.mend)
	mux.HandleFunc("POST /v1/grow", s.change(s.grow))
	mux.HandleFunc("POST /v1/units/start", s.change(s.startUnits))
	mux.HandleFunc("POST /v1/units/stop", s.change(s.stopUnits))
	mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		if err := http.NewResponseController(w).Flush(); err != nil { // the stop may be over before this handler is
			s.cfg.Log.Warn("answer a stop request", "error", err)
		}
		s.stop()
	})

	return mux
}
