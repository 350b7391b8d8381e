package cri

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
)

// paused is the ordinary kind of pod, with a pause container: the engine's container with the sandbox's id, whose
// program waits for as long as the pod runs. Windows needs one, since its network belongs to a container. Here the
// network does without, so it is for those who want to see what they know of Windows. As there, CRI lists no container
// for it, and when it ends, the pod is stopped and the kubelet makes it anew.
type paused struct{ process }

func pausedOf(s *Server, sb store.Sandbox) kind {
	if sb.PauseImage == "" {
		return nil
	}
	return paused{process{s}}
}

// withPause gives a new pod a pause container if the node's ordinary pods have one. A pod of another kind has none:
// what it needs is in the Windows host, or in its virtual machine.
func withPause(s *Server, sb store.Sandbox) (store.Sandbox, kind) {
	k := choose(s, sb)
	if _, ordinary := k.(process); !ordinary || s.cfg.PauseImage == "" {
		return sb, k
	}
	sb.PauseImage = s.cfg.PauseImage
	return sb, choose(s, sb)
}

// pauseName is the name of the container in what the runtime is told of it, which nobody sees.
const pauseName = "POD"

// start starts the pause container.
func (p paused) start(ctx context.Context, sb store.Sandbox) (err error) {
	s := p.s
	img, err := s.findPause(ctx, sb)
	if err != nil {
		return err
	}
	config := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: pauseName},
		Image:    &runtimeapi.ImageSpec{Image: sb.PauseImage},
	}
	c, err := newContainer(sb, config, img)
	if err != nil {
		return fmt.Errorf("make pause container: %w", err)
	}
	// The pod's user is one of its containers' images, and need not exist in this one.
	c.ID, c.User = sb.ID, userName(store.Sandbox{}, config, img.Config.User)

	var undo cleanup.Stack
	defer func() { err = errors.Join(err, undo.Clean()) }()
	undo.Add(func() error { return p.stop(context.WithoutCancel(ctx), sb) })
	spec := s.specOf(sb, c, img, nil)
	if err := s.cfg.Engine.MakeWorkDir(spec.WorkDir); err != nil {
		return fmt.Errorf("make working folder of pause container: %w", err)
	}

	if err := errors.Join(s.writeJob(c, nil), s.writeEnvFile(spec.WorkDir, c.Env)); err != nil {
		return err
	}
	if err := s.cfg.Engine.Create(ctx, spec); err != nil {
		return fmt.Errorf("make pause container: %w", err)
	}
	if _, err := s.cfg.Engine.Start(ctx, sb.ID, engine.IO{}); err != nil {
		return fmt.Errorf("start pause container: %w", err)
	}

	if err := p.awaitStart(ctx, c); err != nil {
		return fmt.Errorf("start pause container: %w", err)
	}
	undo.Release()
	return nil
}

// awaitStart waits until the pause container's program runs.
func (p paused) awaitStart(ctx context.Context, c store.Container) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	p.s.watchers.Go(func() {
		defer close(ended)
		_, _ = p.s.cfg.Engine.Wait(waiting, c.ID)
	})
	return p.s.awaitVerdict(ctx, c, ended)
}

// findPause finds the image of a pod's pause container, and pulls it first if the node lacks it, as containerd does
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/server/images/image_pull.go).
func (s *Server) findPause(ctx context.Context, sb store.Sandbox) (image.Info, error) {
	img, err := s.cfg.Images.GetAny(ctx, sb.PauseImage, sb.Handler)
	if errdefs.IsNotFound(err) {
		img, err = s.cfg.Images.Pull(ctx, sb.PauseImage, nil, sb.Handler)
	}
	if err == nil {
		err = s.cfg.Images.Check(img, sb.Handler)
	}
	if err != nil {
		return image.Info{}, fmt.Errorf("get sandbox image %q: %w", sb.PauseImage, err)
	}
	return img, nil
}

// watch stops the pod when its pause container ends.
func (p paused) watch(sb store.Sandbox) { p.s.watchFor(sb, "pause container") }

// stop ends and removes the pause container.
func (p paused) stop(ctx context.Context, sb store.Sandbox) error {
	s := p.s
	if err := s.cfg.Engine.Remove(ctx, sb.ID); err != nil {
		return fmt.Errorf("remove pause container: %w", err)
	}
	s.samples.forget(sb.ID)
	dir := s.runDir(store.Container{ID: sb.ID, SandboxID: sb.ID})
	if err := errors.Join(s.cfg.Engine.RemoveWorkDir(dir), os.RemoveAll(dir)); err != nil {
		return fmt.Errorf("remove working folder of pause container: %w", err)
	}
	return nil
}

// measurePause returns what a pod's pause container uses: nothing if it has none.
func (s *Server) measurePause(ctx context.Context, sb store.Sandbox) measurement {
	m := measurement{at: time.Now()}
	if sb.PauseImage == "" || sb.State() != runtimeapi.PodSandboxState_SANDBOX_READY {
		return m
	}
	usage, err := s.cfg.Engine.Usage(ctx, sb.ID)
	if err != nil {
		s.log.Debug("pause container not measured", "sandbox", sb.ID, "error", err)
		return m
	}
	m.Usage, m.nanoCores = usage, s.samples.nanoCores(sb.ID, usage)
	return m
}
