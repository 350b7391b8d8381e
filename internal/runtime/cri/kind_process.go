package cri

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"path/filepath"
	"strconv"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/containerinit/wire"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/explain"
	"mullion.dev/mullion/internal/runtime/image"
)

// process is the ordinary kind of pod: process isolation. Its containers run on the machine's kernel, each with a
// Windows of its own, and share the pod's network.
type process struct{ s *Server }

func (process) check(context.Context, store.Sandbox) error { return nil }

func (process) start(context.Context, store.Sandbox) error { return nil }

func (process) watch(store.Sandbox) {}

func (process) stop(context.Context, store.Sandbox) error { return nil }

func (p process) network() Network { return p.s.cfg.Network }

func (process) sockets(sb store.Sandbox) string { return sb.NetNS }

func (process) dial(ctx context.Context, sb store.Sandbox, port uint16) (net.Conn, error) {
	return engine.DialIn(ctx, sb.NetNS, net.JoinHostPort("localhost", strconv.Itoa(int(port))))
}

// systems has a sandbox as well as its containers, as Windows has a container for each.
func (process) systems(sb store.Sandbox, running []store.Container) (pod, containers []ComputeSystem) {
	if sb.State() == runtimeapi.PodSandboxState_SANDBOX_READY {
		pod = []ComputeSystem{{ID: sb.ID, Started: sb.CreatedAt}}
	}
	for _, c := range running {
		containers = append(containers, ComputeSystem{ID: c.ID, Started: c.StartedAt})
	}
	return pod, containers
}

func (process) admit(store.Sandbox, *runtimeapi.ContainerConfig) error { return nil }

func (p process) record(ctx context.Context, sb store.Sandbox, config *runtimeapi.ContainerConfig, img image.Info,
) (store.Container, error) {
	if err := p.s.cfg.Images.Check(img, sb.Handler); err != nil {
		return store.Container{}, fmt.Errorf("check image %q: %w", config.GetImage().GetImage(), err)
	}
	c, err := newContainer(sb, config, img)
	if err != nil {
		return store.Container{}, err
	}
	c.User = userName(sb, config, img.Config.User)
	if c.Account, err = p.s.imageAccount(ctx, c.ID, img.ChainID, c.User); err != nil {
		return store.Container{}, err
	}
	return c, nil
}

// complete puts files of the container's own in the place of those that the kubelet keeps for it on the node's disk,
// and that it may write to.
func (p process) complete(sb store.Sandbox, c *store.Container, spec *engine.Container) (err error) {
	if err := p.s.cfg.Engine.MakeWorkDir(spec.WorkDir); err != nil {
		return fmt.Errorf("make working folder: %w", err)
	}
	config := c.Config.ContainerConfig
	if c.TerminationLog, err = boundTermination(config, spec.Mounts, spec.WorkDir); err != nil {
		return err
	}

	if err := boundHosts(sb.Config.GetMetadata().GetUid(), config, spec.Mounts, spec.WorkDir); err != nil {
		return err
	}
	if c.Account == nil {
		return nil
	}
	passwd, err := p.s.writePasswd(*c, c.Account.Name, spec.UID)
	spec.Account, spec.SystemFiles = c.Account.Name, append(spec.SystemFiles, passwd)

	return err
}

func (p process) tellLimits(ctx context.Context, c store.Container, r *runtimeapi.WindowsContainerResources) error {
	return errors.Join(p.s.writeJob(c, r), p.s.spreadAffinity(ctx, c, r))
}

func (p process) folder(c store.Container) (machine, inside string) {
	return filepath.Join(p.s.containerDir(c.ID), "run"), engine.WorkDirTarget
}

func (process) prefix(store.Container) string { return "" }

func (process) explanation(stateDir, container string) string {
	return filepath.Join(stateDir, "work", container, "run", explain.Name)
}

func (process) user(c store.Container) (uint32, error) {
	if c.Account != nil {
		return accountUID(*c.Account), nil
	}
	return lookupUser(c.User)
}

func (process) credential(c store.Container) (string, error) { return askedCredential(c), nil }

// firstProcess is PID 1. It writes the pod's DNS suffixes into the container's registry, where agnhost's dns-suffix and
// others look for them. What Wine says of the programs is kept if the pod asks for it and there is a first process to
// count it.
func (p process) firstProcess(sb store.Sandbox, _ store.Container, program runSpec) []string {
	launch := p.s.cfg.Launch
	program.searches = podOf(sb).DNS.Searches
	program.explain = asksToExplain(sb) && launch.Init != "" && launch.Run != ""
	args := launch.programArgs(program)
	if launch.Init == "" {
		return args
	}
	first := []string{launch.Init}
	if program.explain {
		first = append(first, "--explain", path.Join(engine.WorkDirTarget, explain.Name))
	}
	first = append(first, "--listen", path.Join(engine.WorkDirTarget, wire.SocketName))
	return append(first, args...)
}

func (process) arguments(_ store.Container, args []string) []string { return args }
