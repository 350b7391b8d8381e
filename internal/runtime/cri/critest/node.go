package critest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// Handler is the runtime handler that a Node has besides the default one.
const Handler = "runhcs-wcow-process"

// maxMessage is the largest message that a kubelet takes
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/cri-client/pkg/utils.go).
const maxMessage = 16 << 20

// NodeName is the name of a Node.
const NodeName = "win-1"

// Node is a Windows node with a CRI server on fakes, and a client of that server.
type Node struct {
	Calls   *Calls
	Engine  *Engine
	Images  *Images
	Network *Network
	Log     *Log
	// Config is what the next server gets; Stream and Log are set at its start.
	Config cri.Config
	Server *cri.Server

	runtimeapi.RuntimeServiceClient
	// ImageService is the client of the images' part.
	ImageService runtimeapi.ImageServiceClient

	dir        string
	serving    []*serving
	keeperStop func()
	over       chan struct{} // closed at the end of the test: calls that were halted go on
}

// serving is a running server with what ends it.
type serving struct {
	cancel context.CancelFunc
	conn   *grpc.ClientConn
	served chan error
}

// NewNode starts a server on fresh state. At the end of the test every pod is removed, and nothing may be left of any.
func NewNode(t *testing.T, change ...func(*cri.Config)) *Node {
	t.Helper()
	n := MakeNode(t, change...)
	n.Start(t)
	t.Cleanup(func() { n.removeAll(t) })
	return n
}

// MakeNode makes a node that has a keeper of streams but no server yet.
func MakeNode(t *testing.T, change ...func(*cri.Config)) *Node {
	t.Helper()
	// Not the test's own folder, whose name may be too long for the path of a socket.
	dir, err := os.MkdirTemp("", "critest-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}

	calls := NewCalls()
	n := &Node{
		Calls:   calls,
		Engine:  NewEngine(calls, dir),
		Images:  NewImages(calls),
		Network: NewNetwork(calls, filepath.Join(dir, "netns")),
		Log:     &Log{},
		dir:     dir,
		over:    make(chan struct{}),
	}

	n.Config = cri.Config{
		Node:     NodeName,
		StateDir: filepath.Join(dir, "state"),
		RunDir:   filepath.Join(dir, "run"),

		HostProcessWork: filepath.Join(dir, "run", "work"),
		Engine:          n.Engine,
		Images:          n.Images,
		Network:         n.Network,
		HostPath:        n.HostPath,
		OpenSource: func(winPath string) (*os.File, error) {
			path, err := n.HostPath(winPath)
			if err != nil {
				return nil, err
			}
			if err := os.MkdirAll(path, 0o755); err != nil {
				return nil, err
			}
			return os.Open(path)
		},
		Launch: cri.Launch{
			Init:   "/sbin/init",
			Loader: []string{"/bin/wine64"},
			Run:    `C:\run.exe`,
			Env:    []string{"WINEPREFIX=/"},
		},
		Handlers:       []string{Handler},
		RuntimeVersion: "2.0.0",
	}

	for _, c := range change {
		c(&n.Config)
	}

	if err := os.MkdirAll(n.Config.RunDir, 0o700); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		close(n.over)
		n.Stop(t)
		n.StopKeeper()
		// A call that KillIn halted may still be writing there.
		Eventually(t, "the node's folder is removed", func() bool { return os.RemoveAll(dir) == nil })
	})
	n.StartKeeper(t)

	return n
}

// HostPath translates a path on the node's C: to one of the machine.
func (n *Node) HostPath(winPath string) (string, error) {
	rest, onC := strings.CutPrefix(winPath, `C:\`)
	if !onC {
		return "", fmt.Errorf("path %q is not on drive C", winPath)
	}
	return filepath.Join(n.dir, "host", strings.ReplaceAll(rest, `\`, "/")), nil
}

// StartKeeper runs a keeper of streams in the test's process, which a server then finds, and returns when it answers.
func (n *Node) StartKeeper(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	socket := filepath.Join(n.Config.RunDir, "keeper.sock")
	client := stream.NewClient(socket, func(context.Context) error {
		go func() { ended <- stream.Serve(ctx, socket) }()
		return nil
	})

	if started, err := client.Ensure(ctx); err != nil || !started {
		cancel()
		t.Fatalf("start keeper: started %v, %v", started, err)
	}

	n.keeperStop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("keeper: %v", err)
		}
	})
}

// StopKeeper ends the keeper that StartKeeper has started.
func (n *Node) StopKeeper() { n.keeperStop() }

// Start starts a server on the node's state.
func (n *Node) Start(t *testing.T) {
	t.Helper()
	if err := n.TryStart(t); err != nil {
		t.Fatalf("start server: %v", err)
	}
}

// TryStart is Start, but returns the error of a server that does not start.
func (n *Node) TryStart(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	config := n.WithStream(t)
	server, err := cri.New(ctx, config)
	if err != nil {
		cancel()
		return errors.Join(err, config.Stream.Close())
	}

	socket := n.socket(len(n.serving))
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		t.Fatal(err)
	}

	s := &serving{
		cancel: cancel,
		conn:   conn,
		served: make(chan error, 1),
	}

	go func() { s.served <- server.Serve(ctx, l) }()
	n.serving = append(n.serving, s)
	n.Server = server
	n.RuntimeServiceClient = runtimeapi.NewRuntimeServiceClient(conn)
	n.ImageService = runtimeapi.NewImageServiceClient(conn)

	return nil
}

// Socket returns where the server that was started last listens.
func (n *Node) Socket() string { return n.socket(len(n.serving) - 1) }

func (n *Node) socket(server int) string {
	return filepath.Join(n.dir, fmt.Sprintf("cri-%d.sock", server))
}

// WithStream returns the configuration of the next server with a new listener for streams. A server that serves closes
// the listener.
func (n *Node) WithStream(t *testing.T) cri.Config {
	t.Helper()
	config := n.Config
	config.Log = slog.New(n.Log)
	var err error
	if config.Stream, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return config
}

// KillIn imitates a server that is killed in the middle of a call, and starts another server. do must lead to the call
// of that name. Its first occurrence is halted until the test ends, before it has its effect, or after.
func (n *Node) KillIn(t *testing.T, call string, after bool, do func()) {
	t.Helper()
	halted := make(chan struct{})
	var once sync.Once
	halt := func(string) error {
		first := false
		once.Do(func() { first = true })
		if !first {
			return nil
		}
		close(halted)
		<-n.over
		return errors.New("the server was killed")
	}

	if after {
		n.Calls.After(call, halt)
	} else {
		n.Calls.Before(call, halt)
	}

	go do()
	select {
	case <-halted:
	case <-time.After(patience):
		t.Fatalf("wait for call of %s: %v are over", call, patience)
	}

	for _, s := range n.serving {
		s.cancel()
	}

	n.Start(t)
}

// Stop ends the servers in good order. Containers live on.
func (n *Node) Stop(t *testing.T) {
	t.Helper()
	for _, s := range n.serving {
		_ = s.conn.Close()
		s.cancel()
	}
	for _, s := range n.serving {
		if err := <-s.served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	n.serving = nil
}

// removeAll removes every pod as the kubelet does, and looks for what is left.
func (n *Node) removeAll(t *testing.T) {
	t.Helper()
	if len(n.serving) == 0 {
		return
	}
	n.Calls.Reset()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()

	pods, err := n.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		t.Errorf("ListPodSandbox: %v", err)
	}

	for _, pod := range pods.GetItems() {
		if _, err := n.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod.GetId()}); err != nil {
			t.Errorf("StopPodSandbox: %v", err)
		}
		if _, err := n.RemovePodSandbox(ctx,
			&runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod.GetId()}); err != nil {
			t.Errorf("RemovePodSandbox: %v", err)
		}
	}

	if left := n.Left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Left names everything that is left of pods and containers: in the fakes, on disk, FIFOs. Logs belong to the kubelet.
func (n *Node) Left() []string {
	var left []string
	for _, id := range n.Engine.Containers() {
		left = append(left, "container "+id)
	}

	for _, id := range n.Network.Pods() {
		left = append(left, "network of pod "+id)
	}

	state, run := n.Config.StateDir, n.Config.RunDir
	for _, dir := range []string{
		filepath.Join(state, "sandboxes"), filepath.Join(state, "containers"), filepath.Join(state, "work"),
		filepath.Join(run, "work"), filepath.Join(run, "fifo"),
	} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			left = append(left, err.Error())
		}
		for _, e := range entries {
			left = append(left, filepath.Join(dir, e.Name()))
		}
	}

	return left
}

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// Eventually waits until ok returns true.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("wait until %s: %v are over", what, patience)
		case <-tick.C:
		}
	}
}

// Log remembers what a server logs.
type Log struct {
	mu    sync.Mutex
	lines []string
}

// Enabled reports whether level is above debug.
func (*Log) Enabled(_ context.Context, level slog.Level) bool { return level > slog.LevelDebug }

// Handle remembers a message without its attributes.
func (l *Log) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Message)
	return nil
}

// WithAttrs drops the attributes.
func (l *Log) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup drops the group.
func (l *Log) WithGroup(string) slog.Handler { return l }

// Has reports whether a message was logged.
func (l *Log) Has(message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.lines, message)
}
