//go:build wine

package cri

import (
	"bytes"
	"context"
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

	"mullion.dev/mullion/internal/hostservices/smb"
	"mullion.dev/mullion/internal/hostservices/tickets"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wine"
)

// node is a CRI server with a client.
type node struct {
	*machine
	dir     string
	network *fakeNetwork
	server  *cri.Server
	engine  *engine.Engine
	host    *winhost.Host // nil: a folder stands for the host's C:
	address string        // the server's
	// machines says how virtual machines are made; nil: there are none.
	machines *engine.Machines
	// processors is how many the host shows; 0: the machine's.
	processors int
	// pauseImage is the image of pause containers; "": pods have none.
	pauseImage string
	// memory is what the node has, in bytes; 0: the machine's.
	memory int64
	// domains are those for which the node has keys.
	domains *tickets.Keys
	stop    func()
	mu      sync.Mutex
	notices []cri.Notice // what the server has told of
	runtimeapi.RuntimeServiceClient
	Images runtimeapi.ImageServiceClient
}

// newNode starts a server on fresh state and takes everything down with the test.
func newNode(tb testing.TB) *node {
	tb.Helper()
	n := makeNode(tb)
	n.up(tb)
	return n
}

// makeNode makes the node's folders.
func makeNode(tb testing.TB) *node {
	tb.Helper()
	m := theMachine(tb)
	dir, err := os.MkdirTemp(m.dir, "node-") //nolint:usetesting // in a folder that runc can walk to as an unprivileged user
	if err != nil {
		tb.Fatal(err)
	}

	n := &node{
		machine: m,
		dir:     dir,
		network: newFakeNetwork(tb),
	}
	if err := os.MkdirAll(n.hostDrive(), 0o755); err != nil {
		tb.Fatal(err)
	}

	return n
}

// up starts the server.
func (n *node) up(tb testing.TB) {
	tb.Helper()
	n.start(tb)
	tb.Cleanup(func() {
		n.stop()
		n.purge(tb)
	})
}

// start starts a server on the node's state, as after a crash of the one before.
func (n *node) start(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	cfg, closer := n.config(ctx, tb)
	var err error
	if n.server, err = cri.New(ctx, cfg); err != nil {
		tb.Fatalf("start server: %v", err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}

	n.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatal(err)
	}

	n.RuntimeServiceClient, n.Images = runtimeapi.NewRuntimeServiceClient(conn), runtimeapi.NewImageServiceClient(conn)
	n.stop = sync.OnceFunc(func() {
		_ = conn.Close()
		cancel()
		if err := <-served; err != nil {
			tb.Errorf("Serve: %v", err)
		}
		closer()
	})
}

// hear keeps what the server tells of.
func (n *node) hear(notice cri.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notices = append(n.notices, notice)
}

func (n *node) told() []cri.Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.notices)
}

func (n *node) config(ctx context.Context, tb testing.TB) (cri.Config, func()) {
	tb.Helper()
	var mounts []engine.BindMount
	for _, m := range n.system.Mounts() {
		mounts = append(mounts, engine.BindMount{Source: m.Source, Target: m.Target})
	}

	logger := slog.New(slog.NewTextHandler(testWriter{tb}, &slog.HandlerOptions{Level: slog.LevelInfo}))
	e, err := engine.Connect(ctx, engine.Options{
		Socket:       n.socket,
		Namespace:    namespace,
		RunDir:       filepath.Join(n.dir, "run"),
		SystemLayers: n.layers,
		SystemMounts: mounts,
		CgroupParent: n.cgroup(),
		Memory:       n.memory,
		MemoryMounts: n.memoryMounts(tb),
		Host:         n.engineHost(),
		Machines:     n.machines,
		Log:          logger,
	})
	if err != nil {
		tb.Fatalf("connect engine: %v", err)
	}

	images, closeImages, err := n.images()
	if err != nil {
		tb.Fatal(err)
	}
	streamListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}

	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}

	n.engine = e
	config := cri.Config{
		Node:     nodeName,
		StateDir: filepath.Join(n.dir, "cri"),
		RunDir:   filepath.Join(n.dir, "run"),

		HostProcessWork: filepath.Join(n.dir, "run", "work"),
		Stream:          streamListener,
		Keeper:          []string{self, "keeper"},
		Engine:          e,
		Images:          images,
		Network:         n.network,
		Tell:            n.hear,
		HostPath:        func(p string) (string, error) { return wine.UnixPath(n.hostDrive(), p) },
		OpenSource: func(p string) (*os.File, error) {
			return wine.OpenSource(n.hostDrive(), p, cri.VolumePatterns(), wine.Mounted{})
		},
		Launch: cri.Launch{
			Init:   "/sbin/mullion-init",
			Loader: n.system.LoaderArgv(),
			Run:    `C:\windows\system32\mullion-run.exe`,
			Env:    n.system.ContainerEnv(),
		},
		Processors:     n.processors,
		PauseImage:     n.pauseImage,
		Handlers:       []string{"runhcs-wcow-process"},
		RuntimeVersion: "test",
		Log:            logger,
	}

	if n.domains != nil {
		config.Domains = n.domains
		config.Shares = func(ctx context.Context, user cri.ShareUser) (*os.File, error) {
			return smb.Tree{
				Program:   self,
				Container: user.Container,
				NetNS:     user.NetNS,
				Files:     user.Files,
			}.Mount(ctx)
		}
	}

	if n.host != nil {
		config.HostProcess = &cri.HostProcess{
			Name:       n.host.Name,
			NetNS:      n.host.Netns,
			BindFilter: true,
		}
	}

	closer := func() {
		closeImages()
		if err := e.Close(); err != nil {
			tb.Errorf("close engine: %v", err)
		}
	}

	return config, closer
}

// hostDrive is C: of the Windows host.
func (n *node) hostDrive() string { return filepath.Join(n.dir, "host", "Files") }

// purge removes what the test left, by a server of its own.
func (n *node) purge(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patient(time.Minute))
	defer cancel()
	lifeCtx, end := context.WithCancel(ctx)
	defer end()

	cfg, closer := n.config(lifeCtx, tb)
	server, err := cri.New(lifeCtx, cfg)
	if err != nil {
		tb.Errorf("purge: %v", err)
		return
	}
	if err := server.Purge(ctx); err != nil {
		tb.Errorf("purge: %v", err)
	}

	_ = cfg.Stream.Close()
	end()
	closer()
	if tb.Failed() {
		log, _ := os.ReadFile(filepath.Join(n.machine.dir, "containerd.log"))
		lines := strings.Split(string(log), "\n")
		tb.Logf("== containerd's last words:\n%s", strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}

	if n.host != nil {
		return // its folder goes with it
	}
	if err := os.RemoveAll(n.dir); err != nil {
		tb.Errorf("purge: %v", err)
	}
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Logf("server: %s", bytes.TrimSpace(p))
	}
	return len(p), nil
}

// pod runs a pod and returns its id and its log folder on the machine.
func (n *node) pod(tb testing.TB, name string) (id string, config *runtimeapi.PodSandboxConfig) {
	tb.Helper()
	config = &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{
			Name:      name,
			Uid:       "uid-" + name,
			Namespace: "default",
		},
		Hostname:     name,
		LogDirectory: `C:\var\log\pods\` + name,
		Labels:       map[string]string{"app": name},
		DnsConfig: &runtimeapi.DNSConfig{
			Servers:  []string{"10.96.0.10"},
			Searches: []string{"default.svc.cluster.local"},
		},
	}

	resp, err := n.RunPodSandbox(tb.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		tb.Fatalf("RunPodSandbox: %v", err)
	}
	return resp.PodSandboxId, config
}

// create makes a container of the test image; change may change its configuration.
func (n *node) create(tb testing.TB, pod string, podConfig *runtimeapi.PodSandboxConfig, args []string,
	change func(*runtimeapi.ContainerConfig),
) string {
	tb.Helper()
	config := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "c"},
		Image:    &runtimeapi.ImageSpec{Image: testImage},
		Args:     args,
		LogPath:  `c\0.log`,
		Windows:  &runtimeapi.WindowsContainerConfig{},
	}

	if change != nil {
		change(config)
	}

	resp, err := n.CreateContainer(tb.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId:  pod,
		Config:        config,
		SandboxConfig: podConfig,
	})
	if err != nil {
		tb.Fatalf("CreateContainer: %v", err)
	}

	return resp.ContainerId
}

func (n *node) run1(tb testing.TB, pod string, podConfig *runtimeapi.PodSandboxConfig, args []string,
	change func(*runtimeapi.ContainerConfig),
) string {
	tb.Helper()
	id := n.create(tb, pod, podConfig, args, change)
	if _, err := n.StartContainer(tb.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		tb.Fatalf("StartContainer: %v\nlog: %s", err, n.log(tb, id))
	}
	return id
}

func (n *node) status(tb testing.TB, id string) *runtimeapi.ContainerStatus {
	tb.Helper()
	resp, err := n.ContainerStatus(tb.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		tb.Fatalf("ContainerStatus: %v", err)
	}
	return resp.Status
}

// waitExit waits until a container has ended.
func (n *node) waitExit(tb testing.TB, id string) *runtimeapi.ContainerStatus {
	tb.Helper()
	var st *runtimeapi.ContainerStatus
	eventually(tb, "container ends", func() bool {
		st = n.status(tb, id)
		return st.State == runtimeapi.ContainerState_CONTAINER_EXITED
	})
	return st
}

// logFile returns where a container's log lies on the machine.
func (n *node) logFile(tb testing.TB, id string) string {
	tb.Helper()
	path, err := wine.UnixPath(n.hostDrive(), n.status(tb, id).LogPath)
	if err != nil {
		tb.Fatalf("find log: %v", err)
	}
	return path
}

// log returns what a container has logged, without times.
func (n *node) log(tb testing.TB, id string) string {
	tb.Helper()
	data, err := os.ReadFile(n.logFile(tb, id))
	if err != nil {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		_, rest, _ := strings.Cut(line, " ")
		b.WriteString(strings.ReplaceAll(rest, "\r\n", "\n"))
	}
	return b.String()
}

func (n *node) waitLog(t *testing.T, id, want string) {
	t.Helper()
	eventually(t, "log has "+want, func() bool { return strings.Contains(n.log(t, id), want) })
}

// eventually waits for a condition.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(patient(30 * time.Second)); time.Now().Before(deadline); {
		if ok() {
			return
		}
		select {
		case <-tb.Context().Done():
			tb.Fatalf("wait until %s: %v", what, tb.Context().Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	tb.Fatalf("wait until %s: timeout", what)
}

// ver returns how cmd.exe's ver tells the version of the node's Windows, without the revision.
func (n *node) ver() string {
	v := n.build.Version
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Build)
}
