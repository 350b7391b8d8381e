// Package cri is the container runtime interface (CRI, https://github.com/kubernetes/cri-api, v0.36.3) of a Windows
// node: what its kubelet.exe calls. It owns what is Windows about a container: users, environment, command line, paths,
// exit codes, limits, the order of stopping; and the state of pods and containers. It does not own how a container runs
// (package engine), how images are kept (package image), how pods are connected (a Network) or streams (package
// stream).
//
// Each RPC is in a file of its own, named after its subject: sandbox_stop.go, container_exec.go.
//
// A pod has no process of its own: its network namespace is the sandbox. A container is a runc container in it. What is
// otherwise with the pods of one kind, as those of the Windows host or of a virtual machine, is in the kind's file,
// kind_<name>.go; kind.go says what a kind is, and chooses it.
package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// Server answers CRI calls for one Windows node.
type Server struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	cfg        Config
	log        *slog.Logger
	sandboxes  *store.Store[store.Sandbox]
	containers *store.Store[store.Container]
	keeper     *stream.Client
	streams    streaming.Server
	events     broadcaster
	samples    sampler
	locks      keyedMutex
	queue      *admission.Queue
	lifts      *admission.Lifts
	kinds      kinds

	// life returns the context of the background work. It ends with Serve, not with a call.
	life     func() context.Context
	endLife  context.CancelFunc
	watchers sync.WaitGroup

	mu      sync.Mutex
	ended   map[string]chan struct{} // of each watched container; closed when its end is recorded
	pipes   map[string]func()        // of each container with mounted pipes; ends them
	refused map[string]error         // why the start failed of those among them that are killed for it
}

// maxMessage is the largest message; the kubelet's client has the same
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/cri-client/pkg/utils.go).
const maxMessage = 16 << 20

// New makes a server from what an earlier one left in cfg.StateDir: running containers are taken over with their logs,
// those that ended meanwhile get their exit codes, and what is half made or belongs to no pod is removed. The server
// works in the background until ctx ends.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}

	s := &Server{
		cfg:     cfg,
		log:     cfg.Log,
		queue:   admission.New(cmp.Or(cfg.Places, admission.Places(runtime.NumCPU(), 1))),
		lifts:   admission.NewLifts(cfg.Engine, cfg.Log),
		ended:   map[string]chan struct{}{},
		refused: map[string]error{},
		pipes:   map[string]func(){},
	}

	ctx, s.endLife = context.WithCancel(ctx)
	s.life = func() context.Context { return ctx }
	for _, dir := range []string{cfg.StateDir, cfg.RunDir, s.fifoDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make folder of CRI server: %w", err)
		}
	}

	var err error
	if s.sandboxes, err = store.Open[store.Sandbox](filepath.Join(cfg.StateDir, "sandboxes")); err != nil {
		return nil, err
	}
	for _, sb := range s.sandboxes.List(nil) {
		s.kinds.put(sb.ID, choose(s, sb))
	}

	if s.containers, err = store.Open[store.Container](filepath.Join(cfg.StateDir, "containers")); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		s.endLife()
		s.watchers.Wait()
		return nil, err
	}

	return s, nil
}

// begin connects to the keeper, makes the streaming server and recovers the state. If it fails, a keeper that it
// started is ended again.
func (s *Server) begin(ctx context.Context) (err error) {
	socket := s.keeperSocket()
	s.keeper = NewKeeper(s.cfg.RunDir, s.cfg.Keeper)
	started, err := s.keeper.Ensure(ctx)
	if err != nil {
		if said := keeperErrors(socket); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return err
	}

	var undo cleanup.Stack
	if started {
		undo.Add(func() error { return s.keeper.Quit(context.WithoutCancel(ctx)) })
	}
	defer func() { err = errors.Join(err, undo.Clean()) }()
	if s.streams, err = s.newStreamServer(); err != nil {
		return err
	}

	s.watchers.Go(func() { s.cfg.Engine.OutOfMemory(ctx, s.samples.sawOutOfMemory) })
	if err := s.recover(ctx); err != nil {
		return fmt.Errorf("recover state of CRI server: %w", err)
	}
	undo.Release()
	s.watchers.Go(func() { s.superviseKeeper(ctx) })
	s.watchers.Go(func() { s.renewTickets(ctx) })
	s.watchers.Go(func() { s.tellWaits(ctx) })
	s.watchers.Go(func() { s.boundUnread(ctx) })

	return nil
}

// Serve answers calls on the listeners until ctx ends, and returns nil then. Containers live on.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	g := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.ChainUnaryInterceptor(s.interceptor), grpc.ChainStreamInterceptor(s.streamInterceptor))
	s.register(g)
	errs := make(chan error, 1+len(listeners))
	go func() { errs <- s.serveStreams() }()
	for _, l := range listeners {
		go func() { errs <- g.Serve(l) }()
	}

	var err error
	select {
	case <-ctx.Done():
	case err = <-errs:
	}

	_ = s.cfg.Stream.Close()
	s.events.close()
	s.endLife()
	stopped := make(chan struct{})
	go func() {
		g.GracefulStop()
		close(stopped)
	}()

	select {
	case <-stopped:
	case <-time.After(stopTimeout):
		g.Stop()
	}

	s.watchers.Wait()
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// stopTimeout is how long calls under way may take once the server is to end.
const stopTimeout = 3 * time.Second

// Purge removes every container and pod of the node and ends the keeper: the node goes away. Call it on a server
// whose Serve is not running any more.
func (s *Server) Purge(ctx context.Context) error {
	var errs []error
	for _, sb := range s.sandboxes.List(nil) {
		errs = append(errs, s.stopSandbox(ctx, sb), s.removeSandbox(ctx, sb))
	}
	errs = append(errs, s.removeOrphans(ctx))
	s.endLife() // else the keeper would be started again
	s.watchers.Wait()
	return errors.Join(append(errs, s.keeper.Quit(ctx))...)
}

// containerDir returns where a container's own files are: its working folder, seen from inside, is "run" in it.
func (s *Server) containerDir(id string) string { return filepath.Join(s.cfg.StateDir, "work", id) }

// fifoDir returns where the FIFOs of streams are.
func (s *Server) fifoDir() string { return filepath.Join(s.cfg.RunDir, "fifo") }
