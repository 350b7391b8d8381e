package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
)

// Config is what Serve needs.
type Config struct {
	// Socket is where it listens, and Viewers the file that Note writes.
	Socket, Viewers string
	// Requests is the table of all that may be asked.
	Requests []Request
	Log      *slog.Logger
}

// everybody may connect: who is answered is decided by who the kernel says has connected.
const everybody os.FileMode = 0o666

// Listen makes the socket, in place of one that was left there.
func Listen(ctx context.Context, socket string) (net.Listener, error) {
	l, err := unixsocket.Listen(ctx, socket)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, everybody); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Serve answers readers on the socket until ctx ends.
func Serve(ctx context.Context, c Config) error {
	l, err := Listen(ctx, c.Socket)
	if err != nil {
		return err
	}
	return c.serve(ctx, &gate{
		Listener: l,
		access:   access{file: c.Viewers, group: lookupGroup},
		log:      c.Log,
		ofAll:    mostOfAll,
		ofUser:   mostOfUser,
		byUser:   map[uint32]int{},
	})
}

func (c Config) serve(ctx context.Context, g *gate) error {
	server := &http.Server{
		Handler:           c.routes(),
		ReadHeaderTimeout: requestTimeout,
		MaxHeaderBytes:    mostOfRequest,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withGuest,
		ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn),
	}
	server.SetKeepAlivesEnabled(false)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()

	if err := server.Serve(g); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer readers on %q: %w", c.Socket, err)
	}
	return nil
}

// root is the path below which the requests are.
const root = "/v1/"

func (c Config) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range c.Requests {
		turns := make(chan struct{}, r.AtOnce)
		mux.HandleFunc("GET "+root+r.Path, func(w http.ResponseWriter, req *http.Request) {
			c.answer(w, req, r, turns)
		})
	}

	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		hasBody := req.ContentLength != 0
		if hasBody { // what follows is not waited for
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Millisecond))
		}
		if req.Method != http.MethodGet || hasBody {
			refuse(w, Wrong, errors.New("only requests with GET and without a body are answered"))
			return
		}

		if _, pattern := mux.Handler(req); pattern == "" {
			refuse(w, Wrong, fmt.Errorf("no request %.80q", req.URL.Path))
			return
		}
		mux.ServeHTTP(w, req)
	})
}

// answer answers one request, when it is its turn.
func (c Config) answer(w http.ResponseWriter, req *http.Request, r Request, turns chan struct{}) {
	query, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		refuse(w, Wrong, errors.New("the query cannot be read"))
		return
	}

	for name := range query {
		if !slices.Contains(r.Query, name) {
			refuse(w, Wrong, fmt.Errorf("no option %.40q of this request", name))
			return
		}
	}

	ctx, cancel := context.WithTimeout(req.Context(), r.Within)
	defer cancel()
	if !turn(ctx, turns) {
		refuse(w, Busy, fmt.Errorf("%d requests of this kind are under way, which is as many as may be", r.AtOnce))
		return
	}
	defer func() { <-turns }()

	to := &reply{
		ctx:     ctx,
		w:       w,
		control: http.NewResponseController(w),
		left:    r.Most,
	}

	err = r.Answer(ctx, Ask{word: req.PathValue, query: query}, to)
	if err == nil {
		err = to.begin() // an answer may be empty
	}
	if err == nil || errors.Is(req.Context().Err(), context.Canceled) {
		return // it was answered, or nobody waits any more
	}

	c.Log.Debug("answer a reader", "path", req.URL.Path, "uid", req.Context().Value(guestKey{}), "error", err)
	if to.begun {
		text := fmt.Sprintf("%.*s", mostOfTrailer, err)
		w.Header().Set(http.TrailerPrefix+errorTrailer, refusal{Kind: kindOfError(err), Error: text}.text())
		return
	}
	refuse(w, kindOfError(err), err)
}

// turn waits until it is the turn of a request.
func turn(ctx context.Context, turns chan struct{}) bool {
	late := time.NewTimer(turnTimeout)
	defer late.Stop()
	select {
	case turns <- struct{}{}:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

func kindOfError(err error) Kind {
	if k, ok := errors.AsType[*KindError](err); ok {
		return k.Kind
	}
	return Internal
}

func refuse(w http.ResponseWriter, kind Kind, err error) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // a socket has deadlines
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(codeOf(kind))
	_, _ = io.WriteString(w, refusal{Kind: kind, Error: err.Error()}.text())
}

// errorTrailer is the trailer that says why an answer ends before its end.
const errorTrailer = "Mullion-Error"

// mostOfTrailer is how much of an error is in it, in characters: a client's buffer holds 4 KiB.
const mostOfTrailer = 500

// reply is an answer that is being written: bounded in size and time, and to somebody who takes it.
type reply struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one request
	w       http.ResponseWriter
	control *http.ResponseController
	left    int64
	begun   bool
}

// begin sends the head of the answer.
func (r *reply) begin() error {
	if r.begun {
		return nil
	}
	r.begun = true
	r.w.Header().Set("Content-Type", "application/octet-stream")
	if err := r.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusOK)
	return nil
}

// Write writes a piece, and sends it.
func (r *reply) Write(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.left -= int64(len(b)); r.left < 0 {
		return 0, errors.New("the answer is larger than it may be")
	}
	if err := r.begin(); err != nil {
		return 0, err
	}

	if err := r.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	n, err := r.w.Write(b)
	if err != nil {
		return n, err
	}
	return n, r.control.Flush()
}
