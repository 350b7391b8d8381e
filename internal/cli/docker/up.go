package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/bringup"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/winver"
)

// upFlags are the flags of `mullion docker up`.
type upFlags struct {
	version, group, publish, subnet string
	wait                            time.Duration
	retain                          bool
	out                             progress.Flags
}

// mostEngines is how many subnets are looked at for one that is free.
const mostEngines = 16

// subnets returns those that an engine's host is given by itself: the first that is free.
func subnets() []netip.Prefix {
	var all []netip.Prefix
	for i := range mostEngines {
		all = append(all, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 217, byte(i), 0}), 24))
	}
	return all
}

func (a *commands) up() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring up Docker's engine for Windows containers, or bring it back",
		Long: `Brings up a Windows host with upstream's dockerd.exe, waits until its API answers, and prints how docker is told of it.
It is safe to repeat: after a crash or a reboot it brings back what is gone, with images, volumes and containers, which
have ended then.

Ports that containers publish (-p) answer at 127.0.0.1 of this machine, or at --publish-address; users of this machine
also reach them at the host's own address. dockerd.exe says 0.0.0.0 of them, which is its host's.

dockerd.exe is not in a release: ` + "`make docker-windows`" + ` builds it in a checkout.`,
		Example: `  sudo mullion docker up
  sudo mullion docker up --name ci --windows-version ltsc2022 --group docker`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runUp(cmd, f) },
	}

	flags := cmd.Flags()
	flags.StringVar(&f.version, "windows-version", "", "the host's Windows (default "+winver.Default()+")")
	flags.StringVar(&f.group, "group", "", "group of this machine whose members may use the socket, and so are as good as root")
	flags.StringVar(&f.publish, "publish-address", "",
		"address of this machine at which published ports answer (default 127.0.0.1)")
	flags.StringVar(&f.subnet, "subnet", "", "the host's own network, a /24 (default: the first of 10.217.0.0/24, 10.217.1.0/24, … that is free)")
	flags.DurationVar(&f.wait, "wait", 5*time.Minute, "how long to wait for the engine to answer")
	flags.BoolVar(&f.retain, "retain", false, "if a new engine does not start, keep it and its logs instead of removing them")
	f.out.Add(cmd, "print a line for each part")
	cmdline.Complete(cmd, "windows-version", cmdline.WindowsVersions())

	return cmd
}

func (a *commands) runUp(cmd *cobra.Command, f upFlags) error {
	paths, err := a.paths(cmd)
	if err != nil {
		return err
	}
	if err := f.out.Check(); err != nil {
		return err
	}

	if program := cluster.DockerProgram(paths.Bin); !there(program) {
		return &exit.Error{
			Code:   exit.Requirement,
			Err:    fmt.Errorf("dockerd.exe is not there: %s", program),
			Remedy: "in a checkout, `make docker-windows` builds it",
		}
	}

	if err := a.OfNoCluster().RequireRoot("makes network namespaces, mounts and cgroups"); err != nil {
		return err
	}

	ctx, held, err := a.Hold(cmd.Context(), paths)
	if err != nil {
		return err
	}
	defer held.Release()
	want, err := a.wanted(cmd, paths, f)
	if err != nil {
		return err
	}

	return a.bringUp(ctx, cmd, paths, want, f)
}

func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// wanted returns the engine that is there, which flags may not change, or a new one.
func (a *commands) wanted(cmd *cobra.Command, paths layout.Paths, f upFlags) (spec.Cluster, error) {
	c, err := kept(paths)
	if err == nil {
		return c, a.unchanged(cmd, c, f)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return c, err
	}

	docker, err := a.asked(f)
	if err != nil {
		return c, err
	}
	if f.version != "" {
		if _, err := winver.Lookup(f.version); err != nil {
			return c, exit.Misuse(fmt.Errorf("--windows-version: %w", err), "see `mullion support windows-versions`")
		}
	}

	if f.subnet != "" {
		subnet, err := netip.ParsePrefix(f.subnet)
		if err != nil || !subnet.Addr().Is4() || subnet.Bits() != 24 || subnet != subnet.Masked() {
			return c, exit.Misuse(fmt.Errorf("--subnet %q is not a /24 of IPv4", f.subnet), "for example: --subnet 10.217.9.0/24")
		}
		c = spec.NewDocker(a.name, f.version, subnet, docker)
		if err := c.Validate(); err != nil {
			return c, exit.Misuse(err, "choose another --subnet")
		}

		return c, nil
	}

	for _, subnet := range subnets() {
		c = spec.NewDocker(a.name, f.version, subnet, docker)
		if err = a.calls.Free(c, paths); err == nil {
			return c, nil
		}
	}

	return c, &exit.Error{
		Code:   exit.Conflict,
		Err:    err,
		Remedy: "name a network that is free: --subnet",
	}
}

// asked returns the settings that flags name.
func (a *commands) asked(f upFlags) (spec.Docker, error) {
	docker := spec.Docker{Publish: "127.0.0.1", Group: f.group}
	if f.publish != "" {
		address, err := netip.ParseAddr(f.publish)
		if err != nil {
			return docker, exit.Misuse(fmt.Errorf("--publish-address %q is not an IP address", f.publish),
				"for example: --publish-address 0.0.0.0")
		}
		docker.Publish = address.String()
	}

	if f.group != "" {
		if _, err := cluster.GroupID(f.group); err != nil {
			return docker, exit.Misuse(fmt.Errorf("--group: %w", err), "`getent group` lists them")
		}
	}
	const most = 1<<31 - 1
	if uid, err := strconv.ParseUint(a.Env.Getenv("SUDO_UID"), 10, 32); err == nil && uid <= most {
		docker.Owner = int(uid)
	}

	return docker, nil
}

// unchanged refuses flags that ask for another engine than the one that is there.
func (a *commands) unchanged(cmd *cobra.Command, c spec.Cluster, f upFlags) error {
	for _, flag := range []struct{ name, want, have string }{
		{"windows-version", f.version, c.Nodes[0].WindowsVersion},
		{"group", f.group, c.Docker.Group},
		{"publish-address", f.publish, c.Docker.Publish},
		{"subnet", f.subnet, c.Networking.UnderlaySubnet},
	} {
		if cmd.Flags().Changed(flag.name) && flag.want != flag.have {
			return &exit.Error{
				Code:   exit.Conflict,
				Err:    fmt.Errorf("the engine that is there has --%s %q, and not %q", flag.name, flag.have, flag.want),
				Remedy: fmt.Sprintf("`%s` removes it with its images; or give another --name", a.command(cmd, "down")),
			}
		}
	}

	return nil
}

// bringUp brings the engine up, and says how it is used.
func (a *commands) bringUp(ctx context.Context, cmd *cobra.Command, paths layout.Paths, want spec.Cluster, f upFlags,
) error {
	r := progress.Start(ctx, a.Call, f.out)
	defer r.Close()
	look := cluster.PreflightOptions{
		Paths:  paths,
		Nodes:  want.Nodes,
		Docker: true,
	}
	if err := bringup.Preflight(ctx, a.Call, a.calls.Preflight, look, r); err != nil {
		return err
	}

	node := want.Nodes[0]
	build, err := node.Build()
	if err != nil {
		return err
	}

	r.Of([]progress.Node{{
		Name:    node.Name,
		OS:      node.OS,
		Product: build.ProductName,
		Address: want.Networking.UnderlaySubnet,
	}}, "")

	started := time.Now()
	waitCtx, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()

	r.Watch()
	got, err := a.calls.Up(waitCtx, cluster.UpOptions{
		Spec:       want,
		Paths:      paths,
		Executable: a.Env.Executable,
		Environ:    a.Env.Environ,
		Progress:   r.Told,
		Retain:     f.retain,
		Mended:     r.OK,
	})
	r.Settle()
	if err != nil {
		return a.remedied(ctx, cmd, err, paths)
	}

	r.Say("\nDocker's engine %q is ready after %.1fs, on %s.", got.Name, time.Since(started).Seconds(), build.ProductName)
	a.sayUse(cmd, r, got, paths)
	return nil
}

// sayUse prints how docker is told of the engine.
func (a *commands) sayUse(cmd *cobra.Command, r *progress.Progress, c spec.Cluster, paths layout.Paths) {
	r.Say("Tell docker of it, once:\n  docker context create %s --docker host=%s\n  docker context use %s", c.Name,
		address(paths), c.Name)
	r.Say("or in this shell alone, for all programs that read DOCKER_HOST:\n  eval \"$(%s)\"", a.command(cmd, "env"))
	r.Say("Its socket is for %s: whoever uses it is as good as root on this machine.", users(*c.Docker))
}

// users says who may use the socket.
func users(d spec.Docker) string {
	text := "root"
	if d.Owner != 0 {
		name := fmt.Sprintf("user %d", d.Owner)
		if u, err := user.LookupId(strconv.Itoa(d.Owner)); err == nil {
			name = u.Username
		}
		text += ", " + name
	}
	if d.Group != "" {
		text += ", the group " + d.Group
	}
	return text
}

// remedied gives an error of an engine that is coming up its remedy and exit code.
func (a *commands) remedied(ctx context.Context, cmd *cobra.Command, err error, paths layout.Paths) error {
	up, down := a.command(cmd, "up"), a.command(cmd, "down")
	failure := &exit.Error{Code: exit.NotReady, Err: err}
	var conflict *cluster.ConflictError
	switch {
	case errors.As(err, &conflict):
		failure.Code, failure.Remedy = exit.Conflict, conflict.Remedy
	case ctx.Err() != nil:
		failure.Remedy = fmt.Sprintf("the engine goes on coming up: `%s` follows it again, `%s` removes it", up, down)
	case errors.Is(err, context.DeadlineExceeded):
		failure.Remedy = fmt.Sprintf("see %s; on a slow machine give it more time: `%s --wait 20m` goes on with what is there",
			paths.Logs(), up)

	case errors.Is(err, cluster.ErrFailed) && !there(paths.Logs()):
		failure.Remedy = fmt.Sprintf("what failed is removed again; `%s --retain` keeps it and its logs", up)
	case errors.Is(err, cluster.ErrFailed), errors.Is(err, cluster.ErrTakenDown):
		failure.Remedy = fmt.Sprintf("see %s, then `%s` or `%s` again", paths.Logs(), down, up)
	default:
		return err
	}

	return failure
}
