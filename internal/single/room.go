package single

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	containerd "github.com/containerd/containerd/v2/client"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
)

// room is where containers of one build of Windows are made.
type room struct {
	build  winver.Build
	made   chan struct{} // closed when the rest is there, or err says why not
	err    error
	system *wine.System
	engine *engine.Engine
	images *image.Store
	client *containerd.Client
}

// label is the engine's label of the containers; its value is the build.
const label = "mullion.dev/single"

// room returns the room of a version of Windows, and makes it for the first client that asks for it.
func (s *service) room(ctx context.Context, version string) (*room, error) {
	if version == "" {
		version = winver.Default()
	}
	build, err := winver.Lookup(version)
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	r := s.rooms[build.Name]
	if r == nil {
		r = &room{build: build, made: make(chan struct{})}
		s.rooms[build.Name] = r
		s.background.Go(func() {
			defer close(r.made)
			if r.err = r.make(s.life, s); r.err != nil {
				s.forget(build.Name) // who asks again has it tried again
			}
		})
	}

	s.mu.Unlock()
	select {
	case <-r.made:
		return r, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *service) forget(build string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rooms, build)
}

// make makes Windows' system layer, or finds it, and connects to containerd.
func (r *room) make(ctx context.Context, s *service) (err error) {
	p := s.options.Paths
	r.system, err = wine.Prepare(ctx, wine.Options{
		InstallDir: s.options.Wine,
		Dir:        p.Wine(),
		ShimDir:    p.Program("windows/shim"),
		InitBinary: p.Program("mullion-init"),
		Packed:     wine.PackedDirs(p.Bin),
		Builds:     []winver.Build{r.build},
		Log:        s.options.Log,
	})
	if err != nil {
		return err
	}

	if err := s.ready(ctx); err != nil {
		return err
	}
	layers, err := r.system.Layers(r.build)
	if err != nil {
		return err
	}

	options := engine.Options{
		Socket:       p.ContainerdSocket(),
		Namespace:    namespace,
		RunDir:       filepath.Join(p.Run(), "engine", strconv.Itoa(int(r.build.Version.Build))),
		SystemLayers: layers,
		CgroupParent: p.CgroupParent(),
		Log:          s.options.Log.With("windows", r.build.Name),
	}

	for _, m := range r.system.Mounts() {
		options.SystemMounts = append(options.SystemMounts, engine.BindMount{Source: m.Source, Target: m.Target})
	}

	if r.engine, err = engine.Connect(ctx, options); err != nil {
		return err
	}
	if err := r.clear(ctx, p); err != nil {
		return errors.Join(err, r.engine.Close())
	}
	if r.client, err = containerd.New(p.ContainerdSocket(), containerd.WithDefaultNamespace(namespace)); err != nil {
		return errors.Join(fmt.Errorf("connect to containerd: %w", err), r.engine.Close())
	}

	r.images, err = image.New(r.client, namespace, image.Config{
		OSVersion:   r.build.Version.String(),
		SystemFiles: wine.Drive(r.system.Base()),
	})
	if err != nil {
		return err
	}

	for _, ref := range s.register.left {
		if err := r.images.Remove(ctx, ref); err != nil { // one that is not there is no error
			return fmt.Errorf("remove what an earlier engine left: %w", err)
		}
	}

	return nil
}

// clear removes what an earlier engine, killed before it could, has left of containers of the build.
func (r *room) clear(ctx context.Context, p Paths) error {
	left, err := r.engine.List(ctx, label, r.build.Name)
	if err != nil {
		return err
	}
	for _, c := range left {
		if err := r.remove(ctx, p, c.ID); err != nil {
			return fmt.Errorf("remove what an earlier engine left: %w", err)
		}
	}
	return nil
}

// remove removes a container with its files.
func (r *room) remove(ctx context.Context, p Paths, id string) error {
	err := r.engine.Remove(ctx, id)
	if err != nil {
		return err
	}
	return errors.Join(r.engine.RemovePod(id), r.engine.RemoveWorkDir(workDir(p, id)), os.RemoveAll(p.container(id)))
}

func workDir(p Paths, id string) string { return filepath.Join(p.container(id), "run") }

// close closes the room's connections. It is called when nobody is in it.
func (r *room) close() error {
	var errs []error
	if r.client != nil {
		errs = append(errs, r.client.Close())
	}
	if r.engine != nil {
		errs = append(errs, r.engine.Close())
	}
	return errors.Join(errs...)
}

// launch says how a Windows program is started in a container.
func (r *room) launch() cri.Launch {
	return cri.Launch{
		Init:   "/sbin/mullion-init",
		Loader: r.system.LoaderArgv(),
		Run:    wine.RunProgram,
		Env:    r.system.ContainerEnv(),
	}
}

// ready waits for containerd.
func (s *service) ready(ctx context.Context) error {
	select {
	case <-s.made:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
