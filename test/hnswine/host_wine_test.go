//go:build wine

package hnswine_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/node/agent/compute"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/stream"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/hcs"
	"mullion.dev/mullion/internal/runtime/hcs/hcstest"
	"mullion.dev/mullion/internal/windows/jobobject"
)

const (
	repository = "../.."
	token      = "a-token-of-the-test"
	wineBinary = "/usr/lib/wine/wine64" // Debian's package wine64, which has no scripts for PATH
	wineServer = "/usr/lib/wine/wineserver64"
)

// cluster is an underlay with an outside, and a Wine prefix that hosts are layered on.
type cluster struct {
	underlay         *underlay.Underlay
	machine, outside string
	base             string
	hns              wire.Version // of its hosts; that of Windows Server 2025 if none
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	c := cluster{
		machine: netnstest.New(t, "machine"),
		outside: netnstest.New(t, "outside"),
		base:    t.TempDir(),
	}
	connect(t, c.machine, c.outside)
	var err error
	c.underlay, err = underlay.New(underlay.Config{RunDir: t.TempDir(), MachineNetns: c.machine})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := c.underlay.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := c.underlay.Up(t.Context()); err != nil {
		t.Fatal(err)
	}

	if out, err := wineCommand(c.base, wineBinary, "wineboot", "-i").CombinedOutput(); err != nil {
		t.Fatalf("wineboot: %v\n%s", err, out)
	}
	if err := wineCommand(c.base, wineServer, "-k").Run(); err != nil {
		t.Logf("wineserver -k: %v", err)
	}
	if err := wineCommand(c.base, wineServer, "-w").Run(); err != nil {
		t.Fatal(err)
	}

	// Debian's wine leaves it, and a layer must not carry it
	_ = os.Remove(filepath.Join(c.base, "wineserver"))
	if err := os.Remove(filepath.Join(c.base, "dosdevices", "z:")); err != nil { // the machine's files
		t.Fatal(err)
	}
	install(t, filepath.Join(c.base, "drive_c"))
	return c
}

// connect gives the machine an outside behind it.
func connect(t *testing.T, machine, outside string) {
	t.Helper()
	f, err := os.Open(outside)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	run(t, machine, `ip link add uplink type veth peer name eth0 netns /proc/$$/fd/3
		ip addr add 198.51.100.1/24 dev uplink; ip link set uplink up`, f)
	run(t, outside, "ip addr add 198.51.100.2/24 dev eth0; ip link set eth0 up; ip route add default via 198.51.100.1")
}

func run(t *testing.T, ns, script string, files ...*os.File) string {
	t.Helper()
	var out []byte
	err := netns.Do(ns, func() error {
		cmd := exec.Command("sh", "-ec", script)
		cmd.ExtraFiles = files
		var err error
		out, err = cmd.CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func wineCommand(prefix, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "WINEPREFIX="+prefix, "WINEARCH=win64", "WINEDEBUG=-all", "DISPLAY=",
		"WINEDLLOVERRIDES=bcryptprimitives,computenetwork,vmcompute=n;mscoree,mshtml=")
	return cmd
}

// install copies the shims and the CNI plugins to where Windows has them.
func install(t *testing.T, drive string) {
	t.Helper()
	files := map[string]string{}
	for _, dll := range []string{"bcryptprimitives", "computenetwork", "vmcompute"} {
		files["bin/windows/shim/"+dll+".dll"] = "windows/system32"
	}

	for _, exe := range []string{"win-bridge", "host-local"} {
		files["bin/windows/"+exe+".exe"] = strings.ReplaceAll(podnet.BinDir[3:], `\`, "/")
	}

	for from, to := range files {
		data, err := os.ReadFile(filepath.Join(repository, from))
		if err != nil {
			t.Fatalf("%v: build it first (make shims upstream)", err)
		}
		dir := filepath.Join(drive, to)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(dir, filepath.Base(from)), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	dir := filepath.Join(drive, "ProgramData", "Mullion")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hns.token"), []byte(token+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// containers are those that the Host Compute Service of a host shows: one.
type containers struct{}

func (containers) ComputeSystems() []cri.ComputeSystem { return []cri.ComputeSystem{{ID: "c1"}} }

func (containers) ComputeTraffic(context.Context, string) cri.NetworkStats { return cri.NetworkStats{} }

func (containers) ComputeUsage(context.Context, string) (engine.Usage, error) {
	return engine.Usage{Commit: 4711}, nil
}

func (containers) JobObject(string) (jobobject.Limits, error) { return jobobject.Limits{}, nil }

// host is one Windows host: a network namespace, a Wine prefix, HNS and the pod network on top.
type host struct {
	name, addr, ns, prefix, state string
	hns                           wire.Version
	plane                         *dataplane.Plane
	service                       *server.Service
	systems                       *hcs.Service
	pods                          *podnet.Network
	stop                          func()
	reads                         atomic.Int64 // of HNS' server
}

// counted is a listener whose connections count what is read from them.
type counted struct {
	net.Listener
	reads *atomic.Int64
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{c.(*net.TCPConn), l.reads}, nil
}

type countedConn struct {
	*net.TCPConn
	reads *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	c.reads.Add(1)
	return c.TCPConn.Read(b)
}

func (c cluster) newHost(t *testing.T, name, addr, cidr string) *host {
	t.Helper()
	ctx := t.Context()
	if err := c.underlay.AddHost(ctx, name, netip.MustParseAddr(addr)); err != nil {
		t.Fatal(err)
	}
	if err := c.underlay.SetPodRoute(ctx, netip.MustParseAddr(addr), netip.MustParsePrefix(cidr)); err != nil {
		t.Fatal(err)
	}

	h := &host{
		name:   name,
		addr:   addr,
		hns:    cmp.Or(c.hns, wire.Version{Major: 16}),
		ns:     c.underlay.HostNetns(name),
		state:  t.TempDir(),
		prefix: layer(t, c.base),
	}
	h.startWine(t)
	h.start(t)
	if err := h.pods.SetPodCIDR(ctx, netip.MustParsePrefix(cidr)); err != nil {
		t.Fatal(err)
	}

	return h
}

// layer mounts an overlay of its own above the shared prefix.
func layer(t *testing.T, base string) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"upper", "work", "prefix"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	prefix := filepath.Join(dir, "prefix")
	opts := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", base, dir, dir)
	if err := unix.Mount("overlay", prefix, "overlay", 0, opts); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := unix.Unmount(prefix, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})

	return prefix
}

// startWine keeps the prefix's wineserver running, as a host that is up has it.
func (h *host) startWine(t *testing.T) {
	t.Helper()
	err := netns.Do(h.ns, func() error { return wineCommand(h.prefix, wineServer, "-p").Run() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = wineCommand(h.prefix, wineServer, "-k").Run()
		_ = wineCommand(h.prefix, wineServer, "-w").Run()
	})
}

// start opens HNS and pod network, as the node's process does; also after stop.
func (h *host) start(t *testing.T) {
	t.Helper()
	pins := filepath.Join(h.state, "netns")
	var err error
	if h.plane, err = dataplane.New(dataplane.Config{Netns: h.ns, PinDir: pins}); err != nil {
		t.Fatal(err)
	}

	generation, err := server.OpenGenerationFile(filepath.Join(h.prefix, "drive_c"))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = generation.Close() })
	log := slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	if h.systems, err = hcs.New(ctx, h.systemsConfig(log)); err != nil {
		t.Fatal(err)
	}

	h.service, err = server.Open(t.Context(), server.Config{
		Model: hns.Config{
			Version:   h.hns,
			Adapters:  []string{"eth0"},
			Addresses: []netip.Addr{netip.MustParseAddr(h.addr)},
		},
		Store:      server.FileStore{Path: filepath.Join(h.state, "hns", "state.json")},
		DataPlane:  h.plane,
		Log:        log,
		Generation: generation,
		Compute:    compute.Service{Pods: containers{}, Systems: h.systems}.Call,
	})
	if err != nil {
		t.Fatal(err)
	}

	var l net.Listener
	err = netns.Do(h.ns, func() error {
		l, err = net.Listen("tcp4", "127.0.0.1:10290")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	wg.Go(func() {
		if err := h.service.Serve(ctx, counted{l, &h.reads}, token); err != nil {
			t.Error(err)
		}
	})

	h.stop = sync.OnceFunc(func() { cancel(); wg.Wait(); h.systems.Close() })
	t.Cleanup(func() {
		h.stop()
		entries, _ := os.ReadDir(pins)
		for _, e := range entries {
			_ = netns.Remove(filepath.Join(pins, e.Name()))
		}
	})

	h.pods, err = podnet.New(podnet.Config{
		HNS:      h.service,
		Exec:     h,
		Drive:    filepath.Join(h.prefix, "drive_c"),
		PinDir:   pins,
		CacheDir: filepath.Join(h.state, "cni"),
		Local: []netip.Prefix{
			netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("10.96.0.0/16"),
			netip.MustParsePrefix("10.213.0.0/24"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// systemsConfig returns the Host Compute Service for programs of the host, on an engine whose containers are no
// processes.
func (h *host) systemsConfig(log *slog.Logger) hcs.Config {
	drive := filepath.Join(h.prefix, "drive_c")
	socket := filepath.Join(h.state, "keeper.sock")
	return hcs.Config{
		Node:        h.name,
		StateDir:    filepath.Join(h.state, "hcs"),
		RunDir:      filepath.Join(h.state, "hcsrun"),
		Drive:       drive,
		Upper:       drive,
		SystemDrive: drive,
		Engine:      hcstest.New(),
		Keeper: stream.NewClient(socket, func(ctx context.Context) error {
			go func() { _ = stream.Serve(context.WithoutCancel(ctx), socket) }()
			return nil
		}),
		Launch: cri.Launch{
			Init:   "/init",
			Loader: []string{"wine"},
			Run:    `C:\run.exe`,
		},
		Log: log,
	}
}

// Run runs a Windows program on the host; it is podnet.Exec.
func (h *host) Run(ctx context.Context, program string, env []string, stdin []byte) ([]byte, error) {
	return h.wine(ctx, env, stdin, program)
}

func (h *host) wine(ctx context.Context, env []string, stdin []byte, args ...string) ([]byte, error) {
	// Files, not pipes: Wine's own services inherit them, and a pipe would not end before they do.
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp("", "hnswine")
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close(); _ = os.Remove(f.Name()) }()
		files[i] = f
	}

	cmd := wineCommand(h.prefix, wineBinary, args...)
	cmd.Dir = filepath.Join(h.prefix, "drive_c")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Stdout = files[0]
	cmd.Stderr = files[1]
	err := netns.Do(h.ns, cmd.Start)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		err = cmd.Wait()
		stop()
	}

	stdout, readErr := os.ReadFile(files[0].Name())
	stderr, stderrErr := os.ReadFile(files[1].Name())
	if err != nil && len(stderr) > 0 {
		err = errors.Join(err, errors.New(string(stderr)))
	}

	return stdout, errors.Join(err, readErr, stderrErr)
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Log(strings.TrimSpace(string(b)))
	}
	return len(b), nil
}
