package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// Units returns the parts of the control plane, with the names of this package.
func Units(c Config) ([]component.Unit, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}

	program := func(name string, ready func(context.Context) error) *proc.Process {
		path := filepath.Join(c.Programs, name)
		spec := proc.Spec{
			ID:      component.Sole(name),
			Path:    path,
			Args:    c.Flags(name),
			Env:     environment(),
			Marker:  c.Marker,
			Dir:     c.Dir,
			LogPath: filepath.Join(c.LogDir, name+".log"),
			Netns:   c.Netns,
			Cgroup:  c.Cgroup,
			Ready:   ready,
		}

		if name == Etcd {
			spec.Path = cmp.Or(c.Etcd, path)
			if !c.etcdHas(version.SocketPaths) {
				spec.Dir, spec.Starter = c.etcdDir(), c.startOldEtcd
			}
		}

		if c.Notify != nil {
			spec.Notify = func(s proc.State) { c.Notify(name, s) }
		}

		return proc.New(spec)
	}

	apiServer := func(ctx context.Context) error { return c.probeTLS(ctx, c.Address.String(), "/readyz") }
	loopback := func(port int, path string) func(context.Context) error {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		return func(ctx context.Context) error { return c.probeTLS(ctx, address, path) }
	}

	schedulerPath := "/readyz"
	if c.minor() < version.SplitHealth {
		schedulerPath = "/healthz"
	}

	return []component.Unit{
		{Component: &certificates{config: c}, After: c.After},
		{
			Component: etcd{Process: program(Etcd, c.probeEtcd), dir: c.etcdData()},
			After:     component.Soles(Certificates),
		},
		{Component: program(APIServer, apiServer), After: component.Soles(Etcd)},
		{
			Component: program(ControllerManager, loopback(controllerManagerPort, "/healthz")),
			After:     component.Soles(APIServer),
		},
		{Component: program(Scheduler, loopback(schedulerPort, schedulerPath)), After: component.Soles(APIServer)},
		{Component: bootstrap.NewObjects(Bootstrap, c.bootstrap()), After: component.Soles(APIServer)},
		{Component: bootstrap.NewApprover(ServingApprover, c.bootstrap()), After: component.Soles(Bootstrap)},
	}, nil
}

// bootstrap returns the configuration for package bootstrap.
func (c Config) bootstrap() bootstrap.Config {
	return bootstrap.Config{
		Kubeconfig:         c.Kubeconfig(pki.SuperAdmin()),
		Version:            c.Version,
		ApproverKubeconfig: c.Kubeconfig(pki.ServingApprover()),
		TokenKubeconfig:    c.BootstrapKubeconfig(),
		Server:             c.Server(),
		CAFile:             filepath.Join(c.PKIDir(), pki.CA+".crt"),
		Dial:               proc.DialIn(c.Netns),
		DNS:                c.DNS,
		Machines:           c.Machines,
		Windows:            c.Windows,
		Addresses:          c.OwnAddresses(),
		Ports:              c.OwnPorts,
		Policy: bootstrap.ServingPolicy{
			Networks: c.NodeNetworks, Reserved: append([]netip.Addr{c.Address.Addr()}, c.Reserved...),
		},
		Log: c.Log,
	}
}

// OwnAddresses returns the cluster's own, which no Service may take.
func (c Config) OwnAddresses() bootstrap.OwnAddresses {
	return bootstrap.OwnAddresses{
		API: []netip.Prefix{
			netip.PrefixFrom(c.Address.Addr(), c.Address.Addr().BitLen()), c.ServiceSubnet, c.ServiceSubnet6,
		},
		Nodes: slices.Concat(c.NodeNetworks, []netip.Prefix{c.PodSubnet, c.PodSubnet6}, c.MachineAddresses),
		Free:  c.ServicePools,
	}
}

// environment returns a program's environment besides the marker. The control plane idles most of the time, and its
// memory counts more than its processor time: the Go runtime collects garbage when the heap has grown by half.
func environment() []string {
	return []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "GOGC=50"}
}

// probeEtcd asks etcd over its socket whether it serves.
func (c Config) probeEtcd(ctx context.Context) error {
	path, socket := "/readyz", c.etcdHTTPSocket()
	if !c.etcdHas(version.SplitHealth) {
		path, socket = "/health", c.etcdSocket()
	}
	return probe.Target{URL: "http://etcd" + path, Dial: unixsocket.Dialer(socket)}.Check(ctx)
}

// probeTLS asks one of the other programs, and accepts only a certificate of the cluster's authority.
func (c Config) probeTLS(ctx context.Context, address, path string) error {
	return probe.Target{
		URL:    "https://" + address + path,
		Dial:   proc.DialIn(c.Netns),
		CAFile: filepath.Join(c.PKIDir(), pki.CA+".crt"),
	}.Check(ctx)
}

// certificates is the unit that makes keys, certificates, kubeconfig files and folders.
type certificates struct{ config Config }

func (*certificates) ID() component.ID { return component.Sole(Certificates) }

// Start makes what is missing and renews what must be.
func (u *certificates) Start(context.Context) error {
	c := u.config
	for _, dir := range []string{
		c.etcdData(), filepath.Join(c.Dir, "kubeconfig"), c.etcdDir(),
		c.LogDir,
	} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make folder of the control plane: %w", err)
		}
	}

	// Only the folder's mode keeps others from etcd, so it must not depend on the umask or on an existing folder.
	if err := os.Chmod(c.etcdDir(), 0o700); err != nil {
		return fmt.Errorf("close folder of etcd's sockets: %w", err)
	}
	bundle, err := pki.Ensure(c.PKIDir(), c.SANs(), time.Now())
	if err != nil {
		return err
	}

	for _, user := range []pki.User{
		pki.SuperAdmin(), pki.ControllerManager(), pki.Scheduler(), pki.ServingApprover(),
		pki.KubeProxy(),
	} {
		if err := bundle.WriteKubeconfig(c.Kubeconfig(user), user, c.Name, c.Server()); err != nil {
			return err
		}
	}

	adminServer := c.AdminServer
	if adminServer == "" {
		adminServer = c.Server()
	}

	return bundle.WriteKubeconfig(c.Kubeconfig(pki.Admin()), pki.Admin(), c.Name, adminServer)
}

// Stop removes the folder of etcd's sockets, which a killed etcd leaves; keys and state stay until the data folder is
// removed.
func (u *certificates) Stop(context.Context) error {
	if err := os.RemoveAll(u.config.etcdDir()); err != nil {
		return fmt.Errorf("remove etcd's sockets: %w", err)
	}
	return nil
}
