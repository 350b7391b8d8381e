package agent

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"

	"mullion.dev/mullion/internal/hostservices/disks"
	"mullion.dev/mullion/internal/hostservices/initiator"
	"mullion.dev/mullion/internal/hostservices/service"
	"mullion.dev/mullion/internal/hostservices/smb"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/winhost"
)

// hostService is a service of the host. Where names the folder in which the host sees what it has; empty: the host was
// made without.
type hostService struct {
	where   string
	service service.Service
}

// hostServices returns the services of the host. One that another needs stands above it.
func (a *agent) hostServices(host winhost.Host) []hostService {
	prefix := filepath.Dir(a.config.Drive)
	log := func(part string) *slog.Logger { return a.log.With("part", part) }

	shares := smb.Server{
		Folder:  host.Shares,
		Prefix:  prefix,
		Program: a.executable,
		Log:     log("smb"),
	}

	hostDisks := disks.Server{
		Dir:    agentconfig.DisksDir(a.config.StateDir),
		Mounts: host.Volumes,
		Prefix: prefix,
		Log:    log("disks"),
	}

	targets := initiator.Server{
		Dir:     agentconfig.ISCSIStateDir(a.config.StateDir),
		Folder:  agentconfig.ISCSIDir(a.config.RunDir),
		Name:    initiator.NameOf(a.config.Node),
		Program: a.executable,
		Hold:    initiator.Hold,
		Disks:   &hostDisks,
		Log:     log("iscsi"),
	}

	return []hostService{
		{host.Shares, shares.Service()},
		{host.Volumes, hostDisks.Service()},
		{host.Volumes, targets.Service()},
	}
}

// serveHost serves the services of the host until ctx ends. If one fails, the others and the agent go on: the node does
// not need it.
func (a *agent) serveHost(ctx context.Context) {
	host, err := winhost.Load(a.config.HostFile)
	if err != nil {
		a.log.Error("serve the services of the host", "error", err)
		return
	}

	var all sync.WaitGroup
	defer all.Wait()

	for _, s := range a.hostServices(host) {
		if s.where == "" {
			continue
		}

		name := s.service.Name()
		wait, err := s.service.Start(ctx, service.Sockets{
			Host:     agentconfig.ServiceSocket(a.config.RunDir, name),
			Operator: agentconfig.OperatorSocket(a.config.RunDir, name),
		})
		if err == nil {
			all.Go(wait)
		} else if ctx.Err() == nil {
			a.log.Error("start a service of the host", "service", name, "error", err)
		}
	}
}
