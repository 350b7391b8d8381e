package single

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
)

// make makes the container, which is not started.
func (k *container) make(ctx context.Context, undo *cleanup.Stack) error {
	img, err := k.image(ctx)
	if err != nil {
		return err
	}
	if err := k.service.register.usesImage(ctx, k, img, k.images.GetAny); err != nil {
		return err
	}
	if k.ask.Once {
		undo.Add(func() error { return k.images.Remove(context.WithoutCancel(ctx), img.ID) })
	}

	config := k.config()
	inherited, err := cri.Inherit(config, img, targetsOf(k.ask.Mounts))
	if err != nil {
		return &Refusal{
			Code:    CodeFailed,
			Message: err.Error(),
			Remedy:  "name a program after the image",
		}
	}

	uid, err := userID(inherited.User)
	if err != nil {
		return err
	}
	if k.check, err = k.healthCheck(ctx, img); err != nil {
		return err
	}
	if err := k.takeVolumes(&inherited); err != nil {
		return err
	}

	k.inherited = inherited
	mounts, err := k.openAll(ctx, img, uid)
	if err != nil {
		return err
	}
	defer closeMounts(mounts)
	k.labels = maps.Clone(img.Config.Labels)
	if k.labels == nil {
		k.labels = map[string]string{}
	}

	maps.Copy(k.labels, k.ask.Labels)
	if err := k.join(img.Config.ExposedPorts, undo); err != nil {
		return err
	}
	undo.Add(func() error { return k.remove(context.WithoutCancel(ctx), k.service.options.Paths, k.id) })
	k.user = engine.UserName(uid)
	if err := k.files(config, inherited.Env); err != nil {
		return err
	}

	p := k.service.options.Paths
	launch := k.launch()
	if k.ask.Terminal {
		launch.Env = append(launch.Env, "TERM=xterm")
	}

	program := cri.Program{
		Report: path.Join(engine.WorkDirTarget, reportName),
		Env:    path.Join(engine.WorkDirTarget, envName),
		Dir:    inherited.Dir,
		Args:   inherited.Args,
		Raw:    inherited.Raw,
		Memory: k.ask.Memory,
		Settle: k.ask.Layer != "",
	}

	if o := launch.Foresee(program); o.Failed {
		return notStarted(o)
	}

	return k.engine.Create(ctx, engine.Container{
		ID:       k.id,
		Pod:      k.id,
		Labels:   map[string]string{label: k.build.Name},
		ChainID:  img.ChainID,
		Volumes:  inherited.Volumes,
		Args:     launch.FirstArguments(program),
		Env:      launch.Env,
		Dir:      cri.Drive,
		UID:      uid,
		Hostname: k.hostname(),
		NetNS:    k.network.Netns,
		Mounts:   mounts,
		SystemFiles: []engine.BindMount{{
			Source: filepath.Join(p.container(k.id), "resolv.conf"),
			Target: "/etc/resolv.conf",
		}},
		WorkDir:   workDir(p, k.id),
		Terminal:  k.ask.Terminal,
		Resources: resources(config.GetWindows().GetResources()),
	})
}

func (k *container) hostname() string { return Container{ID: k.id, Run: k.ask}.Hostname() }

// config returns what the client asks for, as a kubelet would.
func (k *container) config() *runtimeapi.ContainerConfig {
	config := &runtimeapi.ContainerConfig{
		Command:    k.ask.Entrypoint,
		Args:       k.ask.Args,
		WorkingDir: k.ask.Dir,
		Tty:        k.ask.Terminal,
		Envs:       variables(slices.Concat(k.ask.Env, k.ask.Secrets)),
		Windows: &runtimeapi.WindowsContainerConfig{
			SecurityContext: &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: k.ask.User},
			Resources:       limits(k.ask.Memory, k.ask.CPUs, runtime.NumCPU()),
		},
	}
	return config
}

// userID returns the id in a container of a user that every container has.
func userID(name string) (uint32, error) {
	uid, err := cri.UserID(name)
	if err != nil {
		return 0, &Refusal{
			Code:    CodeCannotStart,
			Message: err.Error(),
			Remedy:  "use --user ContainerAdministrator or ContainerUser",
		}
	}
	return uid, nil
}

// variables returns variables by the text of each, NAME=VALUE.
func variables(env []string) (out []*runtimeapi.KeyValue) {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		out = append(out, &runtimeapi.KeyValue{Key: name, Value: []byte(value)})
	}
	return out
}

// limits returns the limits of a container. Whole processors are counted, others are a share of the machine's, as
// Docker has it on Windows (https://github.com/moby/moby/blob/v27.5.1/daemon/oci_windows.go).
func limits(memory int64, cpus float64, all int) *runtimeapi.WindowsContainerResources {
	r := &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: memory}
	if whole := math.Trunc(cpus); whole == cpus {
		r.CpuCount = int64(whole)
		return r
	}
	const wholeRate = 10_000
	r.CpuMaximum = max(1, min(wholeRate, int64(cpus*wholeRate/float64(all))))
	return r
}

func resources(r *runtimeapi.WindowsContainerResources) engine.Resources {
	return engine.Resources{
		CPUCount:    r.GetCpuCount(),
		CPUMaximum:  r.GetCpuMaximum(),
		MemoryLimit: r.GetMemoryLimitInBytes(),
	}
}

// files makes the folder of the container, and in it those by which it and the engine tell each other things.
func (k *container) files(config *runtimeapi.ContainerConfig, env []string) error {
	p := k.service.options.Paths
	dir, work := p.container(k.id), workDir(p, k.id)
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return fmt.Errorf("make folder of container: %w", err)
	}
	if err := k.engine.MakeWorkDir(work); err != nil {
		return err
	}

	resolver, err := cri.Resolver(k.dns(), false)
	if err != nil {
		return err
	}
	job, limits := cri.JobFile(config.GetWindows().GetResources())
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "resolv.conf"), []byte(resolver), 0o644),
		os.WriteFile(filepath.Join(work, envName), cri.EnvFile(env), 0o644),
		atomicfile.Write(filepath.Join(work, job), limits, 0o644),
	)
}

// openAll opens what the container mounts, its volumes too, which are made if need be; the caller closes it.
func (k *container) openAll(ctx context.Context, img image.Info, uid uint32) ([]engine.Mount, error) {
	all, err := k.readyVolumes(ctx, img, uid)
	if err != nil {
		return nil, err
	}
	mounts, err := openMounts(all)
	if err != nil {
		return nil, err
	}
	if err := k.sameSources(mounts); err != nil {
		closeMounts(mounts)
		return nil, err
	}
	return mounts, nil
}

func closeMounts(mounts []engine.Mount) {
	for _, m := range mounts {
		_ = m.Source.Close()
	}
}

// openMounts opens what a container mounts; the caller closes it.
func openMounts(all []Mount) (out []engine.Mount, err error) {
	defer func() {
		if err != nil {
			closeMounts(out)
		}
	}()

	for _, m := range all {
		source, err := openPath(m.Source)
		if err != nil {
			return out, &Refusal{
				Code:    CodeFailed,
				Message: fmt.Sprintf("mount %q: %v", m.Source, err),
				Remedy:  "name a folder or a file that is there",
			}
		}

		out = append(out, engine.Mount{
			Source:   source,
			Target:   m.Target,
			ReadOnly: m.ReadOnly,
			Own:      !m.Shared,
		})
	}

	return out, nil
}

// sameSources notes what is mounted. Of a container that begins anew it has to be what it was: with a folder in which
// one of them is, a container may have put a link to anything in its place. Where volumes lie, no container gets.
func (k *container) sameSources(mounts []engine.Mount) error {
	before := k.sources
	k.sources = nil
	for i, m := range mounts {
		var info unix.Stat_t
		if err := unix.Fstat(int(m.Source.Fd()), &info); err != nil {
			return fmt.Errorf("mount %q: %w", k.ask.Mounts[i].Source, err)
		}

		now := Source{Device: info.Dev, Inode: info.Ino}
		if k.anew && k.ask.Mounts[i].Volume == "" && (i >= len(before) || before[i] != now) {
			return &Refusal{
				Code:    CodeFailed,
				Message: fmt.Sprintf("mount %q: it is another one than when the container was run", k.ask.Mounts[i].Source),
				Remedy:  "if that is right, run it again: `mullion run`",
			}
		}
		k.sources = append(k.sources, now)
	}

	return nil
}
