package agent

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/network/hns"
	hnsserver "mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/agent/compute"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/stream"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/hcs"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

// knownTimeout is how long a call waits for an agent that starts: programs whose connections have ended with the former
// one open what they had again at once.
const knownTimeout = 30 * time.Second

// computeCall answers functions of the Host Compute Service.
func (a *agent) computeCall(ctx context.Context, r hns.Request) (hnsserver.Computed, error) {
	select {
	case <-a.known:
	case <-ctx.Done():
	case <-time.After(knownTimeout):
	}
	server := a.containers.Load()
	if server == nil {
		return hnsserver.Computed{}, wire.Errorf(wire.EUnavailable, "the containers are not known yet")
	}
	return compute.Service{Pods: server, Systems: a.systems}.Call(ctx, r)
}

// openSystems makes the Host Compute Service for programs of the host.
func (a *agent) openSystems(ctx context.Context, eng *engine.Engine, host winhost.Host,
	service *hnsserver.Service,
) error {
	systems, err := hcs.New(ctx, hcs.Config{
		Node:        a.config.Node,
		StateDir:    filepath.Join(a.config.StateDir, "hcs"),
		RunDir:      filepath.Join(a.config.RunDir, "hcs"),
		Drive:       a.config.Drive,
		Upper:       wine.Drive(filepath.Join(a.config.StateDir, "upper")),
		Volumes:     host.Volumes,
		SystemDrive: wine.Drive(a.system.Base()),
		Engine:      eng,
		Keeper:      a.keeper(),
		OpenSource: func(winPath string) (*os.File, error) {
			return wine.OpenSource(a.config.Drive, wine.OnDrive(winPath),
				append(cri.VolumePatterns(), a.config.LocalVolumes+"/*"),
				wine.Mounted{Shares: host.Shares, Volumes: host.Volumes})
		},
		HostPipe:   a.hostPipe,
		Open:       a.known,
		Networks:   compute.Namespaces{HNS: service, Pins: a.pinDir()},
		Launch:     a.launch(),
		LinuxNames: a.config.Network.Profile == spec.ProfileModern,
		Log:        a.log.With("part", "hcs"),
	})
	if err != nil {
		return err
	}

	a.systems = systems
	a.undo.Add(func() error { systems.Close(); return nil })
	return nil
}

// keeper returns the keeper of streams, which the containers of pods have, too.
func (a *agent) keeper() *stream.Client {
	return cri.NewKeeper(agentconfig.CRIRunDir(a.config.RunDir), a.keeperArgs())
}

func (a *agent) keeperArgs() []string { return []string{a.executable, "keep-streams"} }

// launch says how a Windows program is started in a container.
func (a *agent) launch() cri.Launch {
	return cri.Launch{
		Init:   "/sbin/mullion-init",
		Loader: a.system.LoaderArgv(),
		Run:    wine.RunProgram,
		Env:    a.system.ContainerEnv(),
	}
}
