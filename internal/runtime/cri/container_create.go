package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// The labels by which a server knows its containers in containerd.
const (
	labelNode    = "mullion.dev/node"
	labelSandbox = "mullion.dev/sandbox"
)

// CreateContainer makes a container ready to start.
func (s *Server) CreateContainer(ctx context.Context,
	req *runtimeapi.CreateContainerRequest,
) (*runtimeapi.CreateContainerResponse, error) {
	config := req.GetConfig()
	if config.GetMetadata() == nil || config.GetImage() == nil {
		return nil, fmt.Errorf("create container: config has no metadata or no image: %w", errdefs.ErrInvalidArgument)
	}
	name := config.GetMetadata().GetName()
	sb, err := s.sandboxes.Get(req.GetPodSandboxId())
	if err != nil {
		return nil, fmt.Errorf("create container %q: sandbox: %w", name, err)
	}

	if sb.State() != runtimeapi.PodSandboxState_SANDBOX_READY {
		return nil, fmt.Errorf("create container %q: sandbox %q is not running: %w", name, sb.ID,
			errdefs.ErrFailedPrecondition)
	}
	if err := checkAlike(sb, config); err != nil {
		return nil, fmt.Errorf("create container %q: %w", name, err)
	}

	if err := s.checkAlone(sb.ID); err != nil {
		return nil, fmt.Errorf("create container %q: %w", name, err)
	}
	c, err := s.createContainer(ctx, sb, config)
	if err != nil {
		return nil, fmt.Errorf("create container %q: %w", name, err)
	}
	s.emit(c.ID, sb.ID, runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT)
	return &runtimeapi.CreateContainerResponse{ContainerId: c.ID}, nil
}

// checkAlone refuses a pod's second container where Windows lets no two share a network. Init containers have ended
// when the next is made.
func (s *Server) checkAlone(sandbox string) error {
	if !s.cfg.OneContainer {
		return nil
	}
	others := s.containers.List(func(c store.Container) bool {
		return c.SandboxID == sandbox && c.State() != runtimeapi.ContainerState_CONTAINER_EXITED
	})
	if len(others) > 0 {
		return fmt.Errorf("the pod has another container, and on Windows Server 2016 containers cannot share a pod's "+
			"network; use a node of version 1709 or later: %w", errdefs.ErrFailedPrecondition)
	}
	return nil
}

func (s *Server) createContainer(ctx context.Context, sb store.Sandbox,
	config *runtimeapi.ContainerConfig,
) (store.Container, error) {
	img, err := s.cfg.Images.GetAny(ctx, config.GetImage().GetImage(), sb.Handler)
	if err != nil {
		return store.Container{}, fmt.Errorf("find image: %w", err)
	}
	k := s.kindOf(sb.ID)
	c, err := k.record(ctx, sb, config, img)
	if err != nil {
		return store.Container{}, err
	}

	c.NodeLogPath = nodeLogPath(sb, config)
	if c.LogPath, err = s.logPath(c.NodeLogPath); err != nil {
		return store.Container{}, err
	}
	if err := cmp.Or(k.admit(sb, config), s.checkPipes(c)); err != nil {
		return store.Container{}, err
	}

	mounts, err := s.mounts(config)
	if err != nil {
		return store.Container{}, err
	}
	defer closeSources(mounts)
	if err := s.makeContainer(ctx, sb, c, img, mounts); err != nil {
		return store.Container{}, err
	}
	s.sayLacks(c, img)
	return c, nil
}

// newContainer returns the record of a new container of an image, which a kind completes.
func newContainer(sb store.Sandbox, config *runtimeapi.ContainerConfig, img image.Info) (c store.Container, err error) {
	c = store.Container{
		ID:        newID(),
		SandboxID: sb.ID,
		Config:    store.ContainerConfig{ContainerConfig: config},
		ImageID:   img.ID,
		ImageName: cmp.Or(config.GetImage().GetUserSpecifiedImage(), config.GetImage().GetImage()),
		CreatedAt: time.Now(),
		User:      askedUser(sb, config, img.Config.User),
		Env:       mergeEnv(img.Config.Env, config.GetEnvs()),
		Dir:       workingDir(config, img),
	}
	c.Program, c.Raw, err = commandLine(config, img)
	return c, err
}

// ReasonStandIn is the reason of the event of a pod whose image another stands in for.
const ReasonStandIn = "ImageStandsIn"

// sayLacks tells of an image that stands in for another and lacks what people take that for.
func (s *Server) sayLacks(c store.Container, img image.Info) {
	if lacks := img.Lacks(); lacks != "" {
		s.tell(c, ReasonStandIn, fmt.Sprintf("The registry of image %s could not be reached when it was pulled: what stands in "+
			"for it has not got %s", c.ImageName, lacks))
	}
}

// makeContainer makes the container's folder, its engine container and its checkpoint.
func (s *Server) makeContainer(ctx context.Context, sb store.Sandbox, c store.Container, img image.Info,
	mounts []engine.Mount,
) error {
	var undo cleanup.Stack
	defer func() {
		if err := undo.Clean(); err != nil {
			s.log.Error("container not undone", "container", c.ID, "error", err)
		}
	}()

	undo.Add(func() error { return s.removeFiles(c) })
	pipes, err := s.makePipesDir(c)
	if err != nil {
		return err
	}

	spec := s.specOf(sb, c, img, mounts)
	spec.SystemFiles = append(spec.SystemFiles, pipes...)
	k := s.kindOf(sb.ID)
	if err := k.complete(sb, &c, &spec); err != nil {
		return err
	}
	if err := k.tellLimits(ctx, c, c.Config.GetWindows().GetResources()); err != nil {
		return err
	}

	if err := s.writeEnvFile(spec.WorkDir, c.Env); err != nil {
		return err
	}
	if spec.Shares, err = s.openShares(ctx, sb, c); err != nil {
		return err
	}
	if spec.Shares != nil {
		defer spec.Shares.Close()
	}

	if err := s.cfg.Engine.Create(ctx, spec); err != nil {
		return err
	}
	undo.Add(func() error { return s.cfg.Engine.Remove(context.WithoutCancel(ctx), c.ID) })
	if err := s.containers.Put(c.ID, c); err != nil {
		return err
	}
	undo.Release()
	return nil
}

// specOf returns what the engine is told of a container of any kind; its kind completes it.
func (s *Server) specOf(sb store.Sandbox, c store.Container, img image.Info, mounts []engine.Mount) engine.Container {
	return engine.Container{
		ID:          c.ID,
		Pod:         sb.ID,
		Labels:      map[string]string{labelNode: s.cfg.Node, labelSandbox: sb.ID},
		ChainID:     img.ChainID,
		Ephemeral:   true, // the kubelet makes a container anew after the machine's start
		Volumes:     imageVolumes(img, mounts),
		Args:        s.initArgs(sb, c),
		Env:         s.loaderEnv(c),
		Dir:         s.driveOf(c),
		UID:         s.uidOf(c),
		Hostname:    hostName(sb),
		NetNS:       sb.NetNS,
		Mounts:      mounts,
		SystemFiles: []engine.BindMount{{Source: s.resolvConf(sb.ID), Target: "/etc/resolv.conf"}},
		WorkDir:     s.runDir(c),
		Terminal:    c.Config.GetTty(),
		Resources:   s.resourcesOf(c.Config.GetWindows().GetResources()),
	}
}

// runDir returns a container's working folder, which the container's user can write to and, on the machine, root alone
// can reach.
func (s *Server) runDir(c store.Container) string {
	dir, _ := s.kindOf(c.SandboxID).folder(c)
	return dir
}

// workTarget returns the path at which the container's programs see the working folder.
func (s *Server) workTarget(c store.Container) string {
	_, dir := s.kindOf(c.SandboxID).folder(c)
	return dir
}

// removeFiles removes a container's own files.
func (s *Server) removeFiles(c store.Container) error {
	if err := s.cfg.Engine.RemoveWorkDir(s.runDir(c)); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(s.containerDir(c.ID)), os.RemoveAll(s.pipesDir(c.ID)), s.removeFIFOs(c))
}

// nodeLogPath returns the path of the container's log as the kubelet names it; "" if the kubelet asks for no log.
func nodeLogPath(sb store.Sandbox, config *runtimeapi.ContainerConfig) string {
	dir, name := sb.Config.GetLogDirectory(), config.GetLogPath()
	if dir == "" || name == "" {
		return ""
	}
	return dir + `\` + name
}

// logPath translates a nodeLogPath to a path of the machine; "" stays "".
func (s *Server) logPath(nodePath string) (string, error) {
	if nodePath == "" {
		return "", nil
	}
	p, err := s.cfg.HostPath(nodePath)
	if err != nil {
		return "", fmt.Errorf("find log file %q: %w", nodePath, err)
	}
	return p, nil
}

// mounts opens the sources of the kubelet's mounts; the caller closes them. What is opened here is what is mounted:
// other containers can change what lies at the same path by then. A source that is not there becomes a folder, as with
// containerd on Windows:
// https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/opts/spec_windows_opts.go
func (s *Server) mounts(config *runtimeapi.ContainerConfig) (out []engine.Mount, err error) {
	defer func() {
		if err != nil {
			closeSources(out)
		}
	}()

	for _, m := range config.GetMounts() {
		if m.GetImage().GetImage() != "" {
			return out, fmt.Errorf("mount image %q: image volumes do not work on Windows nodes: %w",
				m.GetImage().GetImage(), errdefs.ErrNotImplemented)
		}
		if m.GetPropagation() != runtimeapi.MountPropagation_PROPAGATION_PRIVATE {
			return out, fmt.Errorf("mount %q: mount propagation does not exist on Windows: %w", m.GetContainerPath(),
				errdefs.ErrInvalidArgument)
		}

		if piperelay.IsPipe(m.GetHostPath()) {
			continue // see pipesOf
		}
		source, err := s.cfg.OpenSource(m.GetHostPath())
		if err != nil {
			return out, fmt.Errorf("find source of mount %q: %w", m.GetContainerPath(), err)
		}

		out = append(out, engine.Mount{
			Source:      source,
			Target:      m.GetContainerPath(),
			LinuxTarget: linuxTarget(m.GetContainerPath()),
			ReadOnly:    m.GetReadonly(),
		})
	}

	return out, nil
}

// imageVolumes returns the folders that an image says are written to (VOLUME), but those at which the pod mounts
// something of its own, as containerd has it
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/server/container_create.go, volumeMounts).
func imageVolumes(img image.Info, mounts []engine.Mount) []string {
	var volumes []string
	for _, volume := range slices.Sorted(maps.Keys(img.Config.Volumes)) {
		if !slices.ContainsFunc(mounts, func(m engine.Mount) bool { return inDrive(m.Target) == inDrive(volume) }) {
			volumes = append(volumes, volume)
		}
	}
	return volumes
}

// linuxTarget returns where a mount is seen by the container's C library, too: the hosts file that the kubelet mounts
// for Windows, so that both sides resolve alike.
func linuxTarget(target string) string {
	if inDrive(target) == hostsTarget {
		return "/etc/hosts"
	}
	return ""
}

func closeSources(mounts []engine.Mount) {
	for _, m := range mounts {
		_ = m.Source.Close()
	}
}

// hostName returns what the container's Windows calls itself: the pod's host name. The kernel takes 64 characters;
// Windows itself cuts only the NetBIOS name, to 15, and Wine derives the NetBIOS name from the host name.
func hostName(sb store.Sandbox) string {
	name := sb.Config.GetHostname()
	if name == "" {
		name = sb.Config.GetMetadata().GetName()
	}
	if len(name) > 63 {
		name = strings.TrimRight(name[:63], "-.")
	}
	return name
}

// resourcesOf returns the limits as the machine has them. A count of processors that the host shows is a share of all.
func (s *Server) resourcesOf(r *runtimeapi.WindowsContainerResources) engine.Resources {
	out := engine.Resources{
		CPUCount:    r.GetCpuCount(),
		CPUMaximum:  r.GetCpuMaximum(),
		CPUShares:   r.GetCpuShares(),
		MemoryLimit: r.GetMemoryLimitInBytes(),
		CPUs:        s.cpusOf(r.GetAffinityCpus()).String(),
	}
	if s.cfg.Processors > 0 && out.CPUCount > 0 {
		out.CPUCount, out.CPUMaximum = 0, int64(s.rateOf(out.CPUCount))
	}
	return out
}

// workingDir returns the Windows path in which the program starts.
func workingDir(config *runtimeapi.ContainerConfig, img image.Info) string {
	if dir := config.GetWorkingDir(); dir != "" {
		return dir
	}
	if dir := img.Config.WorkingDir; dir != "" {
		return dir
	}
	return `C:\`
}
