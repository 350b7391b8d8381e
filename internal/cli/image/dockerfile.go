package image

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/folderimage"
	"mullion.dev/mullion/internal/runtime/bases"
	"mullion.dev/mullion/internal/runtime/buildcache"
	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/runtime/linuxrun"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/windows/winver"
)

// dockerfileName is what docker build looks for in a folder.
const dockerfileName = "Dockerfile"

// dockerfileFlags are the flags of `image build` for a Dockerfile.
type dockerfileFlags struct {
	args    []string
	target  string
	secrets []string
	noCache bool
	pull    bool
	quiet   bool
	base    string
}

// The values of --base: what is in the place of Windows' own layers.
const (
	baseStandIn = "standin"
	baseReal    = "real"
)

// given returns the name of a flag that was given, for a message.
func (f dockerfileFlags) given() string {
	switch {
	case len(f.args) > 0:
		return "--build-arg"
	case f.target != "":
		return "--target"
	case len(f.secrets) > 0:
		return "--secret"
	case f.noCache:
		return "--no-cache"
	case f.pull:
		return "--pull"
	case f.base != baseStandIn:
		return "--base"
	}

	return ""
}

// dockerfileOf finds what describes the image of a folder: a Dockerfile, whose path is returned, or a description, or
// nothing (""). A Dockerfile is never packed as a file among others.
func dockerfileOf(dir, file string) (string, error) {
	if file != "" {
		switch strings.ToLower(filepath.Ext(file)) {
		case ".yaml", ".yml", ".json":
			return "", nil
		}
		return file, nil
	}

	there := func(name string) (bool, error) {
		_, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}

	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", nil //nolint:nilerr // who reads it says what is wrong
	}
	docker, err := there(dockerfileName)
	if err != nil || !docker {
		return "", err
	}

	own, err := there(imagebuild.SpecFile)
	if err != nil {
		return "", err
	}
	if own {
		return "", fmt.Errorf("%q has a %s and an %s: say by -f which one describes the image", dir, dockerfileName,
			imagebuild.SpecFile)
	}

	return filepath.Join(dir, dockerfileName), nil
}

// buildDockerfile makes the image of a Dockerfile, and says each step. The image is to be used before done is called.
func (a *builds) buildDockerfile(cmd *cobra.Command, dir, file string, flags dockerfileFlags, over imagebuild.Spec) (
	_ *imagebuild.Image, done func() error, err error,
) {
	if over.OS == imagebuild.Linux && (len(over.OSVersions) > 0 || flags.base != baseStandIn) {
		return nil, nil, errors.New("--windows-version and --base are for images of Windows, and --os says linux")
	}
	if name := instead(over); name != "" {
		return nil, nil, fmt.Errorf("--%s is for a folder without a %s, which has an instruction for it", name,
			dockerfileName)
	}

	if flags.base != baseStandIn && flags.base != baseReal {
		return nil, nil, fmt.Errorf("--base %q: want %s or %s", flags.base, baseStandIn, baseReal)
	}
	args, err := a.buildArgs(flags.args)
	if err != nil {
		return nil, nil, err
	}

	secrets, err := a.buildSecrets(flags.secrets)
	if err != nil {
		return nil, nil, err
	}
	created, err := folderimage.SourceDate(a.Env)
	if err != nil {
		return nil, nil, err
	}

	client, err := engine.BuildClient(a.Call, cmd)
	if err != nil {
		return nil, nil, err
	}

	scratch, err := os.MkdirTemp("", "mullion-build-")
	if err != nil {
		return nil, nil, err
	}
	clear := func() error { return os.RemoveAll(scratch) }
	cache, err := a.openBuildCache(cmd.Context(), scratch)
	if err != nil {
		return nil, nil, errors.Join(err, clear())
	}

	done = func() error { return errors.Join(cache.Close(), clear()) }

	p := &buildProgress{
		quiet: flags.quiet,
		to:    a.Env.Err,
		name:  filepath.Base(file),
		now:   time.Now,
	}

	img, err := dockerfile.Build(cmd.Context(), dockerfile.Options{
		File:       file,
		Name:       p.name,
		Context:    dir,
		Scratch:    scratch,
		Tags:       over.Tags,
		Labels:     over.Labels,
		OS:         over.OS,
		LinuxOwner: linuxrun.Owner,
		OSVersions: over.OSVersions,
		Args:       args,
		Secrets:    secrets,
		Target:     flags.target,
		Cache:      cache,
		NoCache:    flags.noCache,
		Base:       a.buildBases(client, scratch, flags, over.OSVersions, p).Find,
		Real:       flags.base == baseReal,
		Run: func(ctx context.Context, c dockerfile.Command) error {
			return a.buildRun(ctx, client, c, p)
		},
		Runner:  version.Mullion(),
		Created: created,
		Say:     p.say,
	})
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return img, done, nil
}

// buildBases finds the images that stages begin with. Those of the machine only root reads.
func (a *builds) buildBases(client *single.Client, scratch string, flags dockerfileFlags, versions []string,
	p *buildProgress,
) *bases.Finder {
	f := &bases.Finder{
		Scratch: scratch,
		Real:    flags.base == baseReal,
		Pull:    flags.pull,
		Say:     func(text string) { p.say(dockerfile.Event{Warning: text}) },
	}
	if a.Env.Euid == 0 && client.HasImages() {
		f.Saved = client.Save
	}
	if len(versions) > 0 {
		f.Windows = versions[0]
	}
	return f
}

// openBuildCache opens the cache of builds. A person without a folder of caches has one for this build alone.
func (a *builds) openBuildCache(ctx context.Context, scratch string) (*buildcache.Cache, error) {
	o := buildcache.Options{Dir: cmp.Or(a.cacheDir(), scratch)}
	o.Dir = filepath.Join(o.Dir, "build")
	if a.Env.Euid == 0 {
		o.Memory = fmt.Sprintf("/run/mullion-build-%.6x", sha256.Sum256([]byte(o.Dir)))
	}

	cache, err := buildcache.Open(ctx, o)
	if errors.Is(err, buildcache.ErrShared) {
		return nil, &exit.Error{
			Code:   exit.Requirement,
			Err:    err,
			Remedy: "unset " + cacheVariable + ", or name by it a folder that is root's alone, with those that lead to it",
		}
	}

	return cache, err
}

// workFolder makes a folder for what may be large, where layers are: the temporary folder may be in memory, so only a
// person without a folder of caches has it there. If it is not removed, a later build does so.
func (a *builds) workFolder(ctx context.Context) (dir string, remove func() error, err error) {
	if a.cacheDir() == "" {
		dir, err = os.MkdirTemp("", "mullion-work-")
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	cache, err := a.openBuildCache(ctx, "")
	if err != nil {
		return "", nil, err
	}
	dir, empty, err := cache.WorkFolder()
	if err != nil {
		return "", nil, errors.Join(err, cache.Close())
	}
	return dir, func() error { return errors.Join(empty(), cache.Close()) }, nil
}

// cacheVariable names the folder of what Mullion keeps to be faster the next time.
const cacheVariable = "MULLION_CACHE_DIR"

// cacheDir is that folder: by default the machine's for root, to which nobody else writes, and a person's own; "":
// there is none (https://specifications.freedesktop.org/basedir-spec/latest/).
func (a *builds) cacheDir() string {
	if dir := a.Env.Getenv(cacheVariable); filepath.IsAbs(dir) {
		return dir
	}
	if a.Env.Euid == 0 {
		return "/var/cache/mullion"
	}
	if dir := a.Env.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mullion")
	}
	if home := a.Env.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "mullion")
	}
	return ""
}

// buildRun runs the command of RUN in a container of the image so far, as `mullion run` does.
func (a *builds) buildRun(ctx context.Context, client *single.Client, c dockerfile.Command, p *buildProgress,
) (err error) {
	if err := a.RequireRoot("makes containers for RUN"); err != nil {
		return err
	}
	out := p.output(c.Step)
	defer func() {
		out.flush()
		if err != nil {
			out.failed()
		}
	}()

	streams := single.Streams{Out: out, Err: out}
	if c.Linux != nil {
		return runLinux(ctx, client, c, streams)
	}

	archive, into := io.Pipe()
	go func() { into.CloseWithError(c.Image.WriteArchive(into)) }()
	if _, err := client.Load(ctx, archive); err != nil {
		return errors.Join(err, archive.Close())
	}

	ask := single.Run{
		Image:   c.Image.Refs[0],
		Pull:    single.PullNever,
		Windows: buildOf(c.Image.OSVersions),
		Secrets: c.Env,
		Layer:   c.Layer,
		Once:    true,
	}

	ask.Network = networkOf(c)
	ask.Mounts = mountsOf(c)
	end, err := client.Run(ctx, ask, streams)
	if err != nil {
		return err
	}

	return failed(end)
}

// runLinux runs the command of RUN in a stage for Linux.
func runLinux(ctx context.Context, client *single.Client, c dockerfile.Command, streams single.Streams) error {
	config := c.Linux.Config
	ask := single.LinuxRun{
		Args:    config.Cmd,
		Env:     slices.Concat(config.Env, c.Env),
		Dir:     cmp.Or(config.WorkingDir, "/"),
		User:    config.User,
		Network: networkOf(c),
		Mounts:  mountsOf(c),
		Layer:   c.Layer,
	}

	for _, l := range c.Linux.Layers {
		sum, err := l.DiffID()
		if err != nil {
			return err
		}
		ask.Layers = append(ask.Layers, single.LinuxLayer{DiffID: sum.String(), File: buildcache.File(l)})
	}

	end, err := client.RunLinux(ctx, ask, streams)
	if err != nil {
		return err
	}
	return failed(end)
}

func networkOf(c dockerfile.Command) single.Network {
	if c.Alone {
		return single.None
	}
	return single.NAT
}

func mountsOf(c dockerfile.Command) (all []single.Mount) {
	for _, m := range c.Mounts {
		all = append(all, single.Mount{
			Source:   m.Source,
			Target:   m.Target,
			ReadOnly: m.ReadOnly,
			Shared:   true,
		})
	}
	return all
}

// failed is the error of a command that has ended with a failure.
func failed(end single.End) error {
	if end != (single.End{}) {
		err := fmt.Errorf("the command ended with exit code %d", end.Code)
		if why := end.Why(); why != "" {
			err = errors.New(why)
		}
		return &exit.Error{Code: exit.Internal, Err: err}
	}
	return nil
}

// buildOf returns the version of Windows in which RUN's containers run: one that the image is for, the usual one if it
// can be.
func buildOf(osVersions []string) string {
	var names []string
	for _, b := range winver.All() {
		if slices.Contains(osVersions, b.Version.String()) {
			names = append(names, b.Name)
		}
	}
	if len(names) == 0 || slices.Contains(names, winver.Default()) {
		return winver.Default()
	}
	return names[0]
}

// instead returns the name of a flag whose place in a Dockerfile an instruction has; "": none was given.
func instead(over imagebuild.Spec) string {
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"entrypoint", len(over.Entrypoint) > 0},
		{"cmd", len(over.Cmd) > 0},
		{"env", len(over.Env) > 0},
		{"workdir", over.WorkingDir != ""},
		{"user", over.User != ""},
		{"expose", len(over.ExposedPorts) > 0},
	} {
		if flag.given {
			return flag.name
		}
	}

	return ""
}

// buildArgs reads --build-arg NAME=VALUE; a NAME alone has the value of the environment, as in Docker.
func (a *builds) buildArgs(flags []string) (map[string]string, error) {
	args := map[string]string{}
	for _, flag := range flags {
		name, value, given := strings.Cut(flag, "=")
		if name == "" {
			return nil, fmt.Errorf("--build-arg %q: want NAME=VALUE", flag)
		}
		if !given {
			if value = a.Env.Getenv(name); value == "" {
				continue
			}
		}

		args[name] = value
	}

	return args, nil
}

// mostOfSecret bounds a secret, in bytes, as BuildKit does.
const mostOfSecret = 500 << 10

// buildSecrets reads --secret id=ID,src=FILE and id=ID,env=NAME, Docker's words.
func (a *builds) buildSecrets(flags []string) (map[string][]byte, error) {
	secrets := map[string][]byte{}
	for _, flag := range flags {
		fields := map[string]string{}
		for field := range strings.SplitSeq(flag, ",") {
			key, value, _ := strings.Cut(field, "=")
			fields[strings.ToLower(key)] = value
		}

		id := fields["id"]
		file, variable := cmp.Or(fields["src"], fields["source"]), fields["env"]
		for key := range fields {
			if !slices.Contains([]string{"id", "src", "source", "env", "type"}, key) || id == "" {
				return nil, fmt.Errorf("--secret %q: want id=ID,src=FILE or id=ID,env=NAME", flag)
			}
		}

		if kind := fields["type"]; variable == "" && kind == "env" {
			variable = cmp.Or(file, id)
		}
		if variable != "" {
			value := a.Env.Getenv(variable)
			if value == "" || len(value) > mostOfSecret {
				return nil, fmt.Errorf("--secret id=%s: the variable %s has no value, or more than %d KiB", id, variable,
					mostOfSecret>>10)
			}
			secrets[id] = []byte(value)
			continue
		}

		value, err := beneath.ReadPath(cmp.Or(file, id), mostOfSecret)
		if err != nil {
			return nil, fmt.Errorf("--secret id=%s: %w", id, err)
		}
		secrets[id] = value
	}

	return secrets, nil
}
