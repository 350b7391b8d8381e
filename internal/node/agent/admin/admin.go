// Package admin is how a person looks into the agent of a Windows host and provokes what happens to it: a small HTTP
// API on a Unix socket that only root reaches. Windows programs do not see it; they have HNS's own interface.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/netplan"
	"mullion.dev/mullion/internal/runtime/admission"
)

// Socket returns the API's socket in a host's run folder.
func Socket(runDir string) string { return filepath.Join(runDir, "admin.sock") }

// Diagnosis is the plan that HNS of one host has for the kernel, and how the kernel differs from it.
type Diagnosis struct {
	Plan netplan.Plan `json:"plan"`
	// Differences say how the kernel differs from Plan; the agent puts it right within seconds.
	Differences []string `json:"differences"`
	// Restarts counts restarts of HNS since the agent started at Started.
	Restarts int       `json:"restarts"`
	Started  time.Time `json:"started"`
	// Own is what HNS has done by itself since then.
	hns.Own
}

// HNS is the service of the host; server.Service is one.
type HNS interface {
	Plan() netplan.Plan
	Differences(ctx context.Context) ([]string, error)
	Own() hns.Own
	Restart(ctx context.Context) error
	// Trace tells of programs' calls until ctx ends.
	Trace(ctx context.Context) <-chan hns.TracedCall
}

// Agent is what the API looks into.
type Agent struct {
	HNS HNS
	// Load is how busy the node is with starting programs; false until its containers are known.
	Load func() (admission.Load, bool)
	// Notices are what happens to the host's pods.
	Notices <-chan Notice
	// Level is that of the agent's log.
	Level *logging.Dial
	Log   *slog.Logger
}

// Serve answers on the socket until ctx ends, and returns when the last answer has ended: one that goes on would take
// a notice that the next one is to tell.
func Serve(ctx context.Context, socket string, agent Agent) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o711); err != nil {
		return err
	}
	l, err := unixsocket.Listen(ctx, socket)
	if err != nil {
		return err
	}

	var answers sync.WaitGroup
	defer answers.Wait()
	routes := agent.routes()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answers.Add(1)
			defer answers.Done()
			routes.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()

	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (a Agent) routes() http.Handler {
	service, log := a.HNS, a.Log
	started := time.Now()
	var restarts atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/hns", func(w http.ResponseWriter, r *http.Request) {
		found, err := service.Differences(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}

		w.Header().Set("Content-Type", "application/json")
		d := Diagnosis{
			Plan:        service.Plan(),
			Differences: found,
			Restarts:    int(restarts.Load()),
			Started:     started,
			Own:         service.Own(),
		}

		if err := json.NewEncoder(w).Encode(d); err != nil {
			log.Warn("answer about HNS", "error", err)
		}
	})
	mux.HandleFunc("GET /v1/hns/trace", func(w http.ResponseWriter, r *http.Request) { trace(w, r, service) })
	mux.HandleFunc("POST /v1/hns/restart", func(w http.ResponseWriter, r *http.Request) {
		// A restart that has begun goes on when the client hangs up: half a restart would leave calls waiting.
		if err := service.Restart(context.WithoutCancel(r.Context())); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		log.Warn("HNS was restarted by request", "restarts", restarts.Add(1))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /v1/load", a.tellLoad)
	mux.HandleFunc("GET /v1/notices", a.tellNotices)
	mux.HandleFunc("GET /v1/log", a.tellLevel)
	mux.HandleFunc("PUT /v1/log/{level}", a.setLevel)
	mux.HandleFunc("POST /v1/log/{level}/hold", a.holdLevel)

	return mux
}

// trace writes calls as they come, a line of JSON each, until the person leaves.
func trace(w http.ResponseWriter, r *http.Request, service HNS) {
	calls := service.Trace(r.Context())
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	if flush.Flush() != nil {
		return
	}
	for c := range calls {
		if json.NewEncoder(w).Encode(c) != nil || flush.Flush() != nil {
			return
		}
	}
}
