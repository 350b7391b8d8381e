package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/windows/winver"
)

// runOptions are the flags of `mullion run`.
type runOptions struct {
	env, envFiles, volumes          []string
	publish, dns                    []string
	dir, user, hostname, entrypoint string
	memory, network, pull, version  string
	isolation                       string
	cpus                            float64
	interactive, terminal, remove   bool
	detach                          bool
	name                            string
	stopTimeout                     int
}

func (a *app) runSingle() *cobra.Command {
	var o runOptions
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
this machine reaches, but neither the machine itself nor clusters on it; other containers reach it by its name. --publish
8080:80 leads port 8080 of this machine to its port 80, and listens on 127.0.0.1 alone unless an address is given:
0.0.0.0:8080:80 is for everybody. --network none leaves it a loopback alone.

A folder or file of --volume belongs to the container's user as far as it belongs to its owner here; what root owns is
read-only. Ctrl-C is CTRL_C_EVENT for the program, a second one kills it; SIGTERM is CTRL_SHUTDOWN_EVENT, and kills
after --stop-timeout.

An engine of its own is started at the first run and ends when for ten minutes no container has run and nobody has
asked for anything. Its images are in
` + single.DefaultData + ` or --data-dir (` + "`mullion image load --run`" + ` puts some there); a cluster's are others.
` + "`mullion down --run`" + ` removes all of it.

The exit code is the program's modulo 256, never 0 for a failure; 125: Mullion could not make the container; 126: the
program cannot be started; 127: it is not there.`,
		Example: `  mullion run ./hello.exe
  mullion run -it mcr.microsoft.com/windows/nanoserver:ltsc2022 cmd
  mullion run -v .:C:\src -w C:\src mcr.microsoft.com/windows/servercore:ltsc2022 powershell -File build.ps1
  mullion run -p 8080:80 registry.example/web:v1
  echo hello | mullion run -i ./upper.exe
  mullion run -m 512m --cpus 1 -e LOG=debug registry.example/app:v2
  mullion run -d --name web ./server.exe && mullion container logs -f web`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runContainer(cmd, args, o) },
	}
	o.flags(cmd)
	cmd.SetFlagErrorFunc(runFlagError)
	return cmd
}

// flags adds the flags, which stand before the image: what follows it is the program's.
func (o *runOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.BoolVarP(&o.interactive, "interactive", "i", false, "pass on standard input")
	f.BoolVarP(&o.terminal, "tty", "t", false, "give the program a console, which is this terminal")
	f.BoolVarP(&o.detach, "detach", "d", false, "leave the container running, and print its id")
	f.StringVar(&o.name, "name", "", "name of the container (default: one is made up)")
	f.BoolVar(&o.remove, "rm", false, "remove the container, with its log and exit code, when its program has ended")
	f.StringArrayVarP(&o.env, "env", "e", nil, "NAME=VALUE, or NAME for the value that it has here")
	f.StringArrayVar(&o.envFiles, "env-file", nil, "file with lines of that form")
	f.StringArrayVarP(&o.volumes, "volume", "v", nil,
		`folder or file of this machine in the container: /src:C:\src, or /src:C:\src:ro`)
	f.StringVarP(&o.dir, "workdir", "w", "", `folder that the program starts in, for example C:\src`)
	f.StringVarP(&o.user, "user", "u", "", "ContainerAdministrator or ContainerUser (default: the image's)")
	f.StringVarP(&o.memory, "memory", "m", "", "most memory, for example 512m or 2g")
	f.Float64Var(&o.cpus, "cpus", 0, "most processors, for example 1.5")
	f.StringVarP(&o.hostname, "hostname", "h", "", "name of the container's Windows")
	f.StringVar(&o.entrypoint, "entrypoint", "", "program in place of the image's entry point and command")
	f.StringVar(&o.isolation, "isolation", "process", "process; virtual machines (hyperv) are a cluster's")
	f.StringVar(&o.network, "network", string(single.NAT), "nat, or none: a loopback alone")
	f.StringArrayVarP(&o.publish, "publish", "p", nil,
		"port of this machine that leads to one of the container: [ADDRESS:]PORT:CONTAINERPORT[/tcp|/udp]; ADDRESS is 127.0.0.1 unless given")
	f.StringArrayVar(&o.dns, "dns", nil, "address of a name server in place of this machine's")
	f.StringVar(&o.pull, "pull", string(single.PullMissing), "when the registry is asked: missing, always or never")
	f.StringVar(&o.version, "windows-version", winver.Default(), "the container's Windows")
	f.IntVar(&o.stopTimeout, "stop-timeout", 10, "seconds that the program has to end after SIGTERM")
	f.Bool("help", false, "help for run") // -h is --hostname, as with docker
}

// runContainer runs a container, and ends as its program does.
func (a *app) runContainer(cmd *cobra.Command, args []string, o runOptions) error {
	ask, err := a.runAsk(args, o)
	if err != nil {
		return err
	}
	if err := a.requireRoot("makes containers"); err != nil {
		return failedRun(err, "")
	}
	streams := console{terminal: o.terminal, stdin: o.interactive}
	if !o.detach {
		if err := streams.check(a); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer stop()
	client, err := a.singleClient(cmd)
	if err != nil {
		return failedRun(err, "")
	}
	if isFolder(args[0]) {
		if ask.Image, err = a.folderImage(ctx, client, args[0], ask.Windows); err != nil {
			return err
		}
		ask.Once, ask.Pull = true, single.PullNever
	}
	if o.detach {
		return a.runDetached(cmd.Context(), client, ask)
	}
	end, err := a.attach(ctx, cmd.Context(), streams,
		func(ctx context.Context, streams single.Streams, columns, rows uint16) (single.End, error) {
			ask.Columns, ask.Rows = columns, rows
			return client.Run(ctx, ask, streams)
		})
	if err != nil {
		return refusedRun(err)
	}
	return a.ended(end)
}

// runDetached leaves a container running, and says which.
func (a *app) runDetached(ctx context.Context, client *single.Client, ask single.Run) error {
	id, err := client.Start(ctx, ask)
	if err != nil {
		return refusedRun(err)
	}
	_, err = fmt.Fprintln(a.env.Out, id)
	return err
}

// refusedRun is the error of a program that did not run.
func refusedRun(err error) error {
	if refusal, ok := errors.AsType[*single.Refusal](err); ok {
		return &Error{Code: refusal.Code, Err: err, Remedy: refusal.Remedy}
	}
	return failedRun(err, "")
}

// failedRun is an error of Mullion's own, with Docker's exit code for it.
func failedRun(err error, remedy string) error {
	return &Error{Code: single.CodeFailed, Err: err, Remedy: remedy}
}

// singleClient is a client of the engine of single containers.
func (a *app) singleClient(cmd *cobra.Command) (*single.Client, error) {
	paths, err := a.singlePaths(cmd)
	return &single.Client{
		Paths:      paths,
		Executable: a.env.Executable,
		Environ:    a.env.Environ,
		Doing:      func(what string) { fmt.Fprintf(a.env.Err, "mullion: %s\n", what) },
	}, err
}

// singlePaths are the paths of single containers: in a folder of their own, unless another is given.
func (a *app) singlePaths(cmd *cobra.Command) (single.Paths, error) {
	data := single.DefaultData
	if cmd.Flags().Changed("data-dir") {
		data = a.DataDir
	}
	data, err := filepath.Abs(data)
	return single.At(data, filepath.Dir(a.env.Executable)), err
}

// runEngine is the command of the engine, the process that `run` leaves behind for a while.
func (a *app) runEngine() *cobra.Command {
	var idle time.Duration
	var server bool
	cmd := &cobra.Command{
		Use:    "run-engine",
		Short:  "Run the engine of single containers in the foreground",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.requireRoot("makes containers"); err != nil {
				return err
			}
			paths, err := a.singlePaths(cmd)
			if err != nil {
				return err
			}
			interrupt.Serving(cmd.Context())
			options := single.Options{
				Paths:   paths,
				Idle:    idle,
				Log:     logging.New(a.env.Err, logging.Info),
				Output:  a.env.Err,
				Environ: a.env.Environ,
			}
			if server {
				return single.Serve(cmd.Context(), options)
			}
			return single.Keep(cmd.Context(), options, a.env.Executable, "--data-dir", paths.Data, "run-engine",
				"--server", "--idle", idle.String())
		},
	}
	cmd.Flags().BoolVar(&server, "server", false, "be the server, in namespaces of its own")
	cmd.Flags().DurationVar(&idle, "idle", 10*time.Minute, "how long it lives when nobody asks for anything")
	return cmd
}
