// Package agent owns the program mullion-node, the Linux side of one Windows host: which servers it runs and how they
// are joined to each other. What they do is theirs. Beside that the program makes Linux hosts.
//
//	host-init       the first process of the host (package winhost)
//	serve           HNS and CRI server of the host
//	keep-streams    holds the containers' streams while the CRI server is away (package cri/stream)
//	keep-share      keeps the mapping of an SMB share (package smb)
//	keep-shares     keeps the SMB shares that a container uses by its account (package smb)
//	keep-disks      keeps a session with an iSCSI target (package initiator)
//	find-targets    asks a portal of iSCSI for its targets (package initiator)
//	linux-host      makes the namespaces of a Linux host (package linuxhost), and ends
//	linux-services  keeps the services of a bare Linux host (package linuxservices)
//	systemctl       asks for them
package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/memtrim"
	"mullion.dev/mullion/internal/hostservices/initiator"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/hostservices/smb"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/linuxhost"
	"mullion.dev/mullion/internal/node/linuxservices"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// Env is the process's surroundings; only main fills it from the real ones.
type Env struct {
	Args []string // without the program's name
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	// Executable is the absolute path of this program.
	Executable string
}

// verbs are what the program does.
const verbs = "host-init, linux-host, linux-services, systemctl, serve, keep-streams, keep-share, keep-shares, " +
	"keep-disks, find-targets"

// Run is the program. It returns when its work is done or ctx ends.
func Run(ctx context.Context, env Env) error {
	debug.SetGCPercent(50) // one of these runs on every host: memory before speed
	if len(env.Args) == 0 {
		return errors.New("say what to do: " + verbs)
	}

	level := logging.NewDial(logging.Info)
	log := logging.New(env.Err, level)
	flags := flag.NewFlagSet(env.Args[0], flag.ContinueOnError)
	flags.SetOutput(env.Err)
	switch env.Args[0] {
	case "host-init":
		file := flags.String("host", "", "the host's description")
		if err := flags.Parse(env.Args[1:]); err != nil {
			return err
		}
		return hostInit(*file)

	case "linux-host":
		return linuxhost.SetUp(env.In, env.Out)
	case "linux-services":
		return linuxServices(ctx, env, flags, log, level)
	case "systemctl":
		return linuxservices.Systemctl(ctx, env.Args[1:], env.Out, env.Err)
	case "serve":
		file := flags.String("config", "", "the agent's configuration")
		if err := flags.Parse(env.Args[1:]); err != nil {
			return err
		}
		config, err := agentconfig.Load(*file)
		if err != nil {
			return err
		}

		usual, err := logging.Load(config.LogLevelFile)
		if err != nil {
			log.Warn("log at the usual level", "error", err)
		}
		level.Set(usual)
		go memtrim.AfterStart(ctx, log)
		return serve(ctx, env.Executable, config, log, level)

	case "keep-streams":
		if len(env.Args) != 2 {
			return errors.New("keep-streams needs the path of its socket")
		}
		go memtrim.AfterStart(ctx, log)
		return stream.Serve(ctx, env.Args[1])
	}

	return keep(ctx, env)
}

// linuxServices stands in for systemd on a Linux host.
func linuxServices(ctx context.Context, env Env, flags *flag.FlagSet, log *slog.Logger, level *logging.Dial) error {
	o := linuxservices.Options{Log: log}
	var usual logging.Level
	flags.Var(&usual, "log-level", "how much is logged: "+strings.Join(logging.Names(), ", "))
	flags.StringVar(&o.Path, "path", "", "the PATH of the host's services")
	flags.StringVar(&o.Marker, "marker", "", "what marks the cluster's processes")
	if err := flags.Parse(env.Args[1:]); err != nil {
		return err
	}

	level.Set(usual)
	go memtrim.AfterStart(ctx, log)
	return linuxservices.Serve(ctx, o)
}

// keep is the processes that speak with servers which anybody may have named.
func keep(ctx context.Context, env Env) error {
	switch env.Args[0] {
	case keeper.Share:
		return smb.Keep(ctx, env.In, env.Out)
	case keeper.Shares:
		return smb.KeepTree(env.In)
	case keeper.Disks:
		return initiator.Keep(ctx, env.In, env.Out)
	case keeper.Targets:
		return initiator.Find(ctx, env.In, env.Out)
	}
	return fmt.Errorf("%q is none of %s", env.Args[0], verbs)
}

// hostInit becomes the first process of a host. Before that it gives memory that this process no longer needs back to
// the kernel.
func hostInit(file string) error {
	host, err := winhost.Load(file)
	if err != nil {
		return err
	}
	_ = memtrim.Release() // without that the process is larger, and works

	return winhost.Init(host)
}

// readToken reads what clients of the HNS server present.
func readToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read HNS token: %w", err)
	}
	return string(data), nil
}
