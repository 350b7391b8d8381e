// Package run owns `mullion run`: what of Docker's flags a single container is asked for with, and the hidden command
// of the engine that makes it.
package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/windows/winver"
)

// options are the flags of `mullion run`.
type options struct {
	env, envFiles, volumes, mounts  []string
	publish, dns, expose            []string
	labels, labelFiles              []string
	dir, user, hostname, entrypoint string
	memory, network, pull, version  string
	isolation, platform, idFile     string
	cpus                            float64
	interactive, terminal, remove   bool
	detach, publishAll, goTest      bool
	quiet                           bool
	explain                         bool
	output                          string
	name, restart                   string
	stopTimeout                     int
	health                          healthOptions
}

// commands are `mullion run` and its engine's.
type commands struct{ *invoke.Call }

// New returns `mullion run`.
func New(call *invoke.Call) *cobra.Command {
	a := &commands{call}
	var o options
	cmd := &cobra.Command{
		Use:   "run [flags] IMAGE|FOLDER|FILE.exe [ARGUMENT…]",
		Short: "Run one Windows container, without a cluster",
		Long: `Runs a program in a Windows container on this machine and passes on what it says, its input, Ctrl-C and its exit code,
with the flags of ` + "`docker run`" + ` on Windows. It needs no cluster.

IMAGE is a reference; an image that is not there is pulled. FOLDER becomes an image as ` + "`mullion image build`" + `
makes one; it begins with a dot or a slash (app is an image, ./app a folder). FILE.exe runs as C:\app\FILE.exe, with
its folder read-only at C:\app.

The container ends with this command, unless -d leaves it running. When its program has ended, its log and exit code
are kept for ` + "`mullion container`" + `, unless --rm is given; what it has written to its C: is not. It reaches what
this machine reaches, but neither the machine itself nor clusters on it; other containers reach it by its name.
--publish 8080:80 leads port 8080 of this machine to its port 80, and listens on 127.0.0.1 alone unless an address is
given: 0.0.0.0:8080:80 is for everybody. --network none leaves it a loopback alone.

A folder or file of --volume belongs to the container's user as far as it belongs to its owner here; what root owns is
read-only. A volume (-v NAME:PATH) is made when it is first named, begins with what the image has there, and is kept
until ` + "`mullion volume rm`" + `. Ctrl-C is CTRL_C_EVENT for the program, a second one kills it; SIGTERM is CTRL_SHUTDOWN_EVENT, and kills
after --stop-timeout.

An engine of its own is started at the first run and ends when for ten minutes no container has run and nobody has
asked for anything. Its images are in
` + single.DefaultData + ` or --data-dir (` + "`mullion image load --run`" + ` puts some there); a cluster's are others.
` + "`mullion down --run`" + ` removes all of it, but for volumes with a name, which need --volumes too.

The exit code is the program's modulo 256, never 0 for a failure; 125: Mullion could not make the container; 126: the
program cannot be started; 127: it is not there.`,
		Example: `  mullion run ./hello.exe
  mullion run -it mcr.microsoft.com/windows/nanoserver:ltsc2022 cmd
  mullion run -v .:C:\src -w C:\src mcr.microsoft.com/windows/servercore:ltsc2022 powershell -File build.ps1
  mullion run -p 8080:80 registry.example/web:v1
  echo hello | mullion run -i ./upper.exe
  mullion run -m 512m --cpus 1 -e LOG=debug registry.example/app:v2
  mullion run -d --name web ./server.exe && mullion container logs -f web
  mullion run --explain registry.example/app:v2 --verbose
  GOOS=windows go test -exec 'mullion run --go-test --' ./...`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args, o) },
	}
	o.flags(cmd)
	cmd.SetFlagErrorFunc(flagError)

	return cmd
}

// flags adds the flags, which stand before the image: what follows it is the program's.
func (o *options) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "net" { // its first name in Docker
			name = "network"
		}
		return pflag.NormalizedName(name)
	})
	f.BoolVarP(&o.interactive, "interactive", "i", false, "pass on standard input")
	f.BoolVarP(&o.terminal, "tty", "t", false, "give the program a console, which is this terminal")
	f.BoolVarP(&o.detach, "detach", "d", false, "leave the container running, and print its id")
	f.StringVar(&o.name, "name", "", "name of the container (default: one is made up)")
	f.BoolVar(&o.remove, "rm", false, "remove the container, with its log and exit code, when its program has ended")
	f.StringVar(&o.restart, "restart", single.RestartNo,
		"when it begins anew by itself: no, on-failure[:TIMES], always or unless-stopped; needs -d")
	f.StringArrayVarP(&o.env, "env", "e", nil, "NAME=VALUE, or NAME for the value that it has here")
	f.StringArrayVar(&o.envFiles, "env-file", nil, "file with lines of that form")
	f.StringArrayVarP(&o.volumes, "volume", "v", nil,
		`folder or file of this machine in the container, /src:C:\src, or a volume, data:C:\data; :ro for reading alone`)

	f.StringArrayVar(&o.mounts, "mount", nil,
		`the same in words: type=bind,source=src,target=C:\src,ro or type=volume,source=data,target=C:\data`)
	f.StringVarP(&o.dir, "workdir", "w", "", `folder that the program starts in, for example C:\src`)
	f.StringVarP(&o.user, "user", "u", "", "ContainerAdministrator or ContainerUser (default: the image's)")
	f.StringVarP(&o.memory, "memory", "m", "", "most memory, for example 512m or 2g")
	f.Float64Var(&o.cpus, "cpus", 0, "most processors, for example 1.5")
	f.StringVarP(&o.hostname, "hostname", "h", "", "name of the container's Windows")
	f.StringVar(&o.entrypoint, "entrypoint", "", "program in place of the image's entry point and command")
	f.StringVar(&o.isolation, "isolation", "process", "process; virtual machines (hyperv) are a cluster's")
	f.StringVar(&o.network, "network", string(single.NAT), "nat, or none: a loopback alone")
	f.StringArrayVarP(&o.publish, "publish", "p", nil,
		"port of this machine that leads to one of the container: PORT:CONTAINERPORT, with ADDRESS: before it "+
			"(127.0.0.1 unless given) and /tcp or /udp after it; PORT is any that is free unless given, 8000-8010 a range")

	f.BoolVarP(&o.publishAll, "publish-all", "P", false, "publish all ports that the image exposes, at any that are free")
	f.StringArrayVar(&o.expose, "expose", nil, "port that --publish-all publishes too: 80, 8000-8010/udp")
	f.StringArrayVarP(&o.labels, "label", "l", nil, "NAME=VALUE, by which mullion container ls --filter finds it")
	f.StringArrayVar(&o.labelFiles, "label-file", nil, "file with lines of that form")
	f.StringArrayVar(&o.dns, "dns", nil, "address of a name server in place of this machine's")
	f.StringVar(&o.pull, "pull", string(single.PullMissing), "when the registry is asked: missing, always or never")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not say what is pulled and prepared")
	f.StringVar(&o.platform, "platform", "", "windows/amd64, which is all that there is")
	f.StringVar(&o.idFile, "cidfile", "", "write the container's id to this file, which is not there yet")
	f.StringVar(&o.version, "windows-version", "",
		"the container's Windows (default: the one that the image is for, or "+winver.Default()+")")
	f.IntVar(&o.stopTimeout, "stop-timeout", 10, "seconds that the program has to end after SIGTERM")
	o.health.flags(f)
	f.BoolVar(&o.goTest, "go-test", false,
		"run a test program at its own path, with its module and its profiles, for go's -exec and cargo's runner")
	f.BoolVar(&o.explain, "explain", false,
		"print what the container would get, and what is ignored of the image's configuration; run nothing")
	f.StringVarP(&o.output, "output", "o", "text", "text or json, of --explain")
	f.Bool("help", false, "help for run") // -h is --hostname, as with docker
}

// run runs a container, and ends as its program does.
func (a *commands) run(cmd *cobra.Command, args []string, o options) (err error) {
	ask, err := a.ask(args, o)
	if err != nil {
		return err
	}
	if err := a.OfNoCluster().RequireRoot("makes containers"); err != nil {
		return engine.Failed(err, "")
	}

	streams := engine.Console{Terminal: o.terminal, Stdin: o.interactive}
	if !o.detach {
		if err := streams.Check(a.Env); err != nil {
			return err
		}
	}

	ctx, stop := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer stop()
	client, err := engine.Client(a.Call, cmd)
	if err != nil {
		return engine.Failed(err, "")
	}

	if o.quiet {
		client.Doing = nil
	}
	keepID, err := o.openIDFile()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keepID.close()) }()

	if isFolder(args[0]) {
		if ask.Image, err = a.folderImage(ctx, client, args[0], ask.Windows); err != nil {
			return err
		}
		ask.Once, ask.Pull = true, single.PullNever
	} else if ask.Auth, err = authFor(ctx, client, ask); err != nil {
		return engine.RefusedRun(err)
	}

	if o.explain {
		return a.explainRun(cmd.Context(), client, ask, o.output)
	}
	if o.goTest {
		return a.runTests(ctx, cmd.Context(), client, ask, args[0])
	}
	if o.detach {
		return a.detached(cmd.Context(), client, ask, keepID)
	}

	end, err := streams.Attach(ctx, cmd.Context(), a.Env,
		func(ctx context.Context, streams single.Streams, columns, rows uint16) (single.End, error) {
			ask.Columns, ask.Rows = columns, rows
			streams.Started = keepID.write
			return client.Run(ctx, ask, streams)
		})
	if err != nil {
		return engine.RefusedRun(err)
	}

	return engine.Ended(a.Env, end)
}

// authFor returns the credentials with which an image is pulled; nil: none are kept, or it is here. Only who pulls asks
// for them, since a helper of Docker's may take a second to answer.
func authFor(ctx context.Context, client *single.Client, ask single.Run) (*image.Auth, error) {
	if ask.Image == "" || ask.Pull == single.PullNever {
		return nil, nil //nolint:nilnil // nothing is pulled
	}
	if ask.Pull == single.PullMissing {
		if here, err := client.HasImage(ctx, ask.Image); here || err != nil {
			return nil, err
		}
	}

	auth, err := engine.KeptAuth(ctx, ask.Image)
	if own, ok := errors.AsType[*exit.Error](err); ok {
		return nil, engine.Failed(own.Err, own.Remedy)
	}
	if err != nil {
		return nil, engine.Failed(err, "")
	}
	return auth, nil
}

// detached leaves a container running, and says which.
func (a *commands) detached(ctx context.Context, client *single.Client, ask single.Run, keepID *idFile) error {
	id, err := client.Start(ctx, ask)
	if err != nil {
		return engine.RefusedRun(err)
	}

	keepID.write(id)
	_, err = fmt.Fprintln(a.Env.Out, id)
	return err
}

// Engine returns the command of the engine, the process that `run` leaves behind for a while.
func Engine(call *invoke.Call) *cobra.Command {
	var idle time.Duration
	var server bool
	cmd := &cobra.Command{
		Use:    "run-engine",
		Short:  "Run the engine of single containers in the foreground",
		Hidden: true,
		Args:   cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := call.OfNoCluster().RequireRoot("makes containers"); err != nil {
				return err
			}
			paths, err := engine.Paths(call, cmd)
			if err != nil {
				return err
			}

			interrupt.Serving(cmd.Context())
			options := single.Options{
				Paths:   paths,
				Idle:    idle,
				Log:     logging.New(call.Env.Err, logging.Info),
				Output:  call.Env.Err,
				Environ: call.Env.Environ,
			}

			if server {
				return single.Serve(cmd.Context(), options)
			}
			return single.Keep(cmd.Context(), options, call.Env.Executable, "--data-dir", paths.Data, "run-engine",
				"--server", "--idle", idle.String())
		},
	}
	cmd.Flags().BoolVar(&server, "server", false, "be the server, in namespaces of its own")
	cmd.Flags().DurationVar(&idle, "idle", 10*time.Minute, "how long it lives when nobody asks for anything")

	return cmd
}
