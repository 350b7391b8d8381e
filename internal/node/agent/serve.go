package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/containerd/v2/client"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/hostservices/smb"
	"mullion.dev/mullion/internal/hostservices/tickets"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	hnsserver "mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/agent/hostproxy"
	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/node/registries"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/hcs"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

const (
	// uplink is Linux' name of the host's network adapter, adapter Windows' one.
	uplink, adapter = "eth0", "Ethernet"
	// repairPause is the time between two repairs of the host's network, so a change by somebody else lasts no longer.
	repairPause = 5 * time.Second
)

// agent holds what the servers of one host share.
type agent struct {
	config     agentconfig.Config
	executable string
	log        *slog.Logger
	level      *logging.Dial
	build      winver.Build
	system     *wine.System
	undo       cleanup.Stack
	containers atomic.Pointer[cri.Server] // nil until the CRI server is there
	notices    chan admin.Notice
	systems    *hcs.Service  // is there before that
	known      chan struct{} // closed when containers is set
}

// serve runs HNS and CRI server until ctx ends or one of them fails. Containers and networks stay as they are.
func serve(ctx context.Context, executable string, config agentconfig.Config, log *slog.Logger, level *logging.Dial) (
	err error,
) {
	a := &agent{
		config:     config,
		executable: executable,
		log:        log,
		level:      level,
		notices:    newNotices(),
	}
	a.known = make(chan struct{})
	defer func() { err = errors.Join(err, a.undo.Clean()) }()

	if a.build, err = winver.Lookup(config.Windows); err != nil {
		return err
	}
	if a.system, err = wine.Open(config.SystemDir); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	service, err := a.openHNS(ctx)
	if err != nil {
		return err
	}

	token, err := readToken(config.TokenFile)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(agentconfig.PipesDir(config.RunDir), 0o700); err != nil {
		return err
	}

	hnsListener, err := listen(ctx, config.HNS.String())
	if err != nil {
		return err
	}
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()

	background.Go(func() { service.RepairEvery(ctx, repairPause) })
	background.Go(func() { a.administer(ctx, service) })
	background.Go(func() { a.watchServices(ctx) })
	background.Go(func() { a.serveHost(ctx) })
	failed := make(chan error, 2)
	go func() { failed <- service.Serve(ctx, hnsListener, token) }()

	// While it is made, the CRI server takes over the pods that are there. Their CNI plugins may call HNS, which serves
	// already.
	server, criListeners, err := a.openCRI(ctx, service)
	if err != nil {
		cancel()
		return errors.Join(err, <-failed)
	}

	a.containers.Store(server)
	close(a.known)
	background.Go(func() { a.sweep(ctx, server) })
	go func() { failed <- server.Serve(ctx, criListeners...) }()
	first := <-failed
	cancel()

	return errors.Join(first, <-failed)
}

// load returns how busy the node is with starting programs; false until the CRI server is there.
func (a *agent) load() (admission.Load, bool) {
	server := a.containers.Load()
	if server == nil {
		return admission.Load{}, false
	}
	return server.Load(), true
}

// administer serves the admin API until ctx ends. If that fails, the agent goes on: the node does not need it.
func (a *agent) administer(ctx context.Context, service *hnsserver.Service) {
	looked := admin.Agent{
		HNS:     service,
		Load:    a.load,
		Notices: a.notices,
		Level:   a.level,
		Log:     a.log.With("part", "admin"),
	}
	if err := admin.Serve(ctx, admin.Socket(a.config.RunDir), looked); err != nil {
		a.log.Error("serve the admin API", "error", err)
	}
}

// watchServices has the service control manager of the host's Windows, which Wine starts with the first program, see
// that a service's process has ended, in each of the host's lives, until ctx ends. If that fails the agent goes on:
// only services that crash count as running.
func (a *agent) watchServices(ctx context.Context) {
	watched := 0
	tick := time.NewTicker(repairPause)
	defer tick.Stop()

	for {
		host, err := winhost.Load(a.config.HostFile)
		pid := 0
		if err == nil {
			pid, err = host.PID() // an error while the host is away
		}
		if err == nil && pid != watched {
			watched = pid
			if _, err := host.Output(ctx, nil, nil, wine.RunProgram, "--services"); err != nil && ctx.Err() == nil {
				a.log.Error("services of the host are not watched", "error", err)
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ownPorts returns the ports at which the node's programs answer others.
func ownPorts() []uint16 { return []uint16{nodeconfig.KubeletPort, nodeconfig.ProxyHealthPort} }

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

func (a *agent) openHNS(ctx context.Context) (*hnsserver.Service, error) {
	plane, err := dataplane.New(dataplane.Config{
		PinDir:  a.pinDir(),
		Uplink:  uplink,
		Adapter: adapter,
		Users:   dataplane.Users{BySID: cri.Users(), Mask: engine.UserMask},
		DNS:     dnsProxy,
		DHCP:    dhcpServer,
	})
	if err != nil {
		return nil, err
	}

	pods := []netip.Prefix{a.config.PodSubnet, a.config.IPv6.Pods}
	if err := dataplane.Guard(ctx, "", pods, ownPorts()); err != nil {
		a.log.Warn("pods may hold as many connections to the node's own ports as they like", "error", err)
	}
	generation, err := hnsserver.OpenGenerationFile(a.config.Drive)
	if err != nil {
		return nil, err
	}
	a.undo.Add(generation.Close)
	return hnsserver.Open(ctx, hnsserver.Config{
		Model: hns.Config{
			Version:   wire.Version{Major: uint32(a.build.HNS.Major), Minor: uint32(a.build.HNS.Minor)},
			Adapters:  []string{adapter},
			Addresses: []netip.Addr{a.config.Address},
			OwnPorts:  []uint16{nodeconfig.KubeletPort},
			Listening: plane.Listening,
			Profile:   hns.Profile(a.config.Network.Profile),

			NameServers: nameServers,
		},
		Store:      hnsserver.FileStore{Path: filepath.Join(a.config.StateDir, "hns", "state.json")},
		DataPlane:  plane,
		Log:        a.log.With("part", "hns"),
		Generation: generation,
		Compute:    a.computeCall,
	})
}

// engineOptions returns the options of the engine of the host's containers.
func (a *agent) engineOptions(layers []string, host winhost.Host) (engine.Options, error) {
	options := engine.Options{
		Socket:       a.config.ContainerdSocket,
		Namespace:    a.config.ContainerdNamespace,
		RunDir:       filepath.Join(a.config.RunDir, "engine"),
		SystemLayers: layers,
		CgroupParent: a.config.CgroupParent,
		Memory:       a.config.Memory,
		Log:          a.log.With("part", "engine"),
	}

	options.Machines = &engine.Machines{
		Bin:   filepath.Dir(a.executable),
		Dir:   filepath.Join(filepath.Dir(a.config.ContainerdSocket), "vm"),
		Cache: filepath.Join(a.config.StateDir, "vm"),
	}

	if host.Shared != "" {
		options.Host = &engine.Host{
			Prefix:  filepath.Dir(a.config.Drive),
			Tmp:     host.Tmp,
			Shared:  host.Shared,
			Shares:  host.Shares,
			Volumes: host.Volumes,
			PID:     host.PID,
		}
	}

	for _, m := range a.system.Mounts() {
		options.SystemMounts = append(options.SystemMounts, engine.BindMount{Source: m.Source, Target: m.Target})
	}

	if a.config.Memory == 0 {
		return options, nil
	}
	memory, err := wine.MemoryMounts(a.config.CgroupParent)
	for _, m := range memory {
		options.MemoryMounts = append(options.MemoryMounts, engine.BindMount{Source: m.Source, Target: m.Target})
	}

	return options, err
}

// openCRI makes the CRI server with its listeners; what it holds is given back by a.undo.
func (a *agent) openCRI(ctx context.Context, service *hnsserver.Service) (*cri.Server, []net.Listener, error) {
	layers, err := a.system.Layers(a.build)
	if err != nil {
		return nil, nil, err
	}
	host, err := winhost.Load(a.config.HostFile)
	if err != nil {
		return nil, nil, err
	}

	options, err := a.engineOptions(layers, host)
	if err != nil {
		return nil, nil, err
	}
	eng, err := engine.Connect(ctx, options)
	if err != nil {
		return nil, nil, err
	}

	a.undo.Add(eng.Close)
	if err := a.openSystems(ctx, eng, host, service); err != nil {
		return nil, nil, err
	}
	engineVersion, err := eng.Version(ctx)
	if err != nil {
		return nil, nil, err
	}

	images, err := a.openImages()
	if err != nil {
		return nil, nil, err
	}
	if err := a.ensurePause(ctx, images); err != nil {
		return nil, nil, err
	}
	pods, err := a.openNetwork(service)
	if err != nil {
		return nil, nil, err
	}

	stream, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}

	server, err := cri.New(ctx, cri.Config{
		Node:     a.config.Node,
		StateDir: agentconfig.CRIStateDir(a.config.StateDir),
		RunDir:   agentconfig.CRIRunDir(a.config.RunDir),

		HostProcessWork: agentconfig.HostProcessWork(a.config.RunDir),
		Stream:          stream,
		Keeper:          a.keeperArgs(),
		Engine:          eng,
		Images:          images,
		Network:         network{pods, a.config.PolicySocket},
		HostPath:        func(winPath string) (string, error) { return wine.UnixPath(a.config.Drive, winPath) },
		OpenSource: func(winPath string) (*os.File, error) {
			return wine.OpenSource(a.config.Drive, winPath, append(cri.VolumePatterns(), a.config.LocalVolumes+"/*"),
				wine.Mounted{Shares: host.Shares, Volumes: host.Volumes})
		},
		HostPipe:       a.hostPipe,
		Domains:        tickets.Keys{Domains: a.config.Domains},
		Shares:         a.shares,
		Launch:         a.launch(),
		HostProcess:    a.hostProcess(host),
		OneContainer:   !a.build.Supports(winver.SharedNetwork),
		PauseImage:     string(a.config.PauseImage),
		Processors:     a.config.Processors,
		Places:         a.config.Places,
		LinuxNames:     a.config.Network.Profile == spec.ProfileModern,
		Handlers:       slices.Sorted(maps.Keys(image.DefaultHandlers())),
		RuntimeVersion: engineVersion,
		Tell:           a.notice,
		Log:            a.log.With("part", "cri"),
	})
	if err != nil {
		return nil, nil, errors.Join(err, stream.Close())
	}
	// Before the first call, so that no pod is being connected meanwhile.
	a.prune(ctx, pods, server.Sandboxes())
	l, err := listen(ctx, a.config.CRI.String())
	if err != nil {
		return nil, nil, err
	}

	// mullion-pipe.exe of the host connects there.
	socket, err := unixsocket.Listen(ctx, agentconfig.CRISocket(a.config.RunDir))
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}

	return server, []net.Listener{l, socket}, nil
}

// shares mounts the SMB shares that a container uses by its account, if the node has the account's keys.
func (a *agent) shares(ctx context.Context, user cri.ShareUser) (*os.File, error) {
	if !(tickets.Keys{Domains: a.config.Domains}).Has(user.Spec) {
		return nil, nil
	}
	return smb.Tree{
		Program:   a.executable,
		Container: user.Container,
		NetNS:     user.NetNS,
		Files:     user.Files,
		Names:     smb.Names{Servers: user.Servers, Suffixes: user.Suffixes},
	}.Mount(ctx)
}

// hostPipe connects to a named pipe of the Windows host.
func (a *agent) hostPipe(ctx context.Context, user piperelay.User, pipe string) (net.Conn, error) {
	conn, err := unixsocket.Dialer(agentconfig.NamedSocket(a.config.RunDir))(ctx, "", "")
	if err != nil {
		return nil, err
	}
	if err := piperelay.Ask(conn, user, pipe); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// hostProcess says where HostProcess containers run; nil where Windows has none.
func (a *agent) hostProcess(host winhost.Host) *cri.HostProcess {
	if host.Shared == "" || !a.build.Supports(winver.HostProcess) {
		return nil
	}

	h := &cri.HostProcess{
		Name:        host.Name,
		NetNS:       host.Netns,
		LocalGroups: a.localGroups,
		BindFilter:  a.build.Supports(winver.BindFilter),
		Files:       map[string]string{},
	}

	for _, b := range host.Binds {
		h.Files[b.Target] = b.Source
	}

	return h
}

// prune disconnects pods that no longer exist. An error is only logged: the other pods have to be served all the same.
func (a *agent) prune(ctx context.Context, pods *podnet.Network, sandboxes []string) {
	keep := map[string]bool{}
	for _, id := range sandboxes {
		keep[id] = true
	}
	gone, err := pods.Prune(ctx, keep)
	if len(gone) > 0 {
		a.log.Info("pods that are no more are disconnected", "sandboxes", gone)
	}
	if err != nil {
		a.log.Error("disconnect pods that are no more", "error", err)
	}
}

func (a *agent) openImages() (*image.Store, error) {
	conn, err := client.New(a.config.ContainerdSocket, client.WithDefaultNamespace(a.config.ContainerdNamespace))
	if err != nil {
		return nil, fmt.Errorf("connect to containerd at %q: %w", a.config.ContainerdSocket, err)
	}
	a.undo.Add(conn.Close)

	reached := registries.ForWindows(agentconfig.RegistriesDir(a.config.StateDir), a.config.RegistryAuths)
	proxy := hostproxy.Proxy{
		Hive:   filepath.Join(filepath.Dir(a.config.Drive), wine.MachineHive),
		Direct: a.config.PullDirect,
		Log:    a.log.With("part", "images"),
	}
	reached.Proxy = proxy.Of
	return image.New(conn, a.config.ContainerdNamespace, image.Config{
		OSVersion:   a.build.Version.String(),
		Handlers:    image.DefaultHandlers(),
		SystemFiles: wine.Drive(a.system.Base()),
		Registries:  reached,
	})
}
