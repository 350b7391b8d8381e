package single

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/linuxrun"
	"mullion.dev/mullion/internal/single/nat"
)

// linux runs the commands of builds.
type linux struct {
	mu     sync.Mutex
	runner *linuxrun.Runner // nil: nobody has asked for one
}

// linuxRunner returns what runs commands of builds, and makes it for the first who asks for it: when the engine starts,
// to remove what an earlier one has left.
func (s *service) linuxRunner(ctx context.Context) (*linuxrun.Runner, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	s.linux.mu.Lock()
	defer s.linux.mu.Unlock()
	if s.linux.runner != nil {
		return s.linux.runner, nil
	}

	p := s.options.Paths
	// What is mounted for a moment lies where the next engine removes it.
	if err := mount.SetTempMountLocation(filepath.Join(p.Run(), "mounts")); err != nil {
		return nil, err
	}
	client, err := containerd.New(p.ContainerdSocket(), containerd.WithDefaultNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("connect to containerd: %w", err)
	}

	made := &linuxrun.Runner{
		Client:       client,
		CgroupParent: p.CgroupParent(),
		State:        filepath.Join(p.Run(), "engine", "linux"),
	}
	if err := made.Clear(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("remove what an earlier engine left: %w", err), client.Close())
	}
	s.linux.runner = made
	return made, nil
}

// close ends the connection. It is called when nothing runs any more.
func (l *linux) close() error {
	if l.runner == nil {
		return nil
	}
	return l.runner.Client.Close()
}

// runLinux runs a command of a build for a client, and returns when it has ended. cancel ends ctx.
func (s *service) runLinux(ctx context.Context, cancel func(), c *client, ask LinuxRun) (err error) {
	if err := checkStreams(ask.Streams); err != nil {
		return err
	}
	var undo cleanup.Stack
	defer func() { err = errors.Join(err, undo.Clean()) }()

	dir := s.options.Paths.streams(ask.Streams)
	undo.Add(func() error { return os.RemoveAll(dir) })
	s.background.Go(func() { // a client that is gone, or says anything, ends the command
		defer cancel()
		var said Control
		_ = c.read.Decode(&said)
	})

	runner, err := s.linuxRunner(ctx)
	if err != nil {
		return err
	}

	id := newID()
	command := linuxrun.Command{
		ID:       id,
		Args:     ask.Args,
		Env:      ask.Env,
		Dir:      ask.Dir,
		User:     ask.User,
		Hostname: id[:12],
		Stdout:   filepath.Join(dir, "stdout"),
		Stderr:   filepath.Join(dir, "stderr"),
		Began:    func() { c.say(Event{Started: id}) },
	}

	for _, l := range ask.Layers {
		command.Layers = append(command.Layers, linuxrun.Layer{
			DiffID: digest.Digest(l.DiffID),
			Open:   func() (io.ReadCloser, error) { return openLayer(l.File) },
		})
	}

	if err := s.linuxPlace(&command, ask, &undo); err != nil {
		return err
	}

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.watch(watched{
		id:    id,
		netns: command.NetNS,
		end: func(context.Context) error {
			stop(errUnread)
			return nil
		},
	}, &undo)

	undo.Add(func() error { return runner.Remove(context.WithoutCancel(ctx), id) })
	code, err := runner.Run(ctx, command)
	if err == nil && code == 0 {
		err = writeLinuxLayer(ctx, runner, command, ask.Layer)
	}
	if err != nil {
		return err
	}
	c.say(Event{Ended: &End{Code: code}})
	return nil
}

// errUnread is why a command was ended.
var errUnread = errors.New("the command was ended: more than allowed waits in its sockets of netlink and ping")

// linuxPlace gives a command its network, and the files by which it finds names, as its mounts.
func (s *service) linuxPlace(c *linuxrun.Command, ask LinuxRun, undo *cleanup.Stack) error {
	var member *nat.Member
	var err error
	if ask.Network == None {
		member, err = s.network.Apart(c.ID)
	} else if err = s.network.Built(); err == nil {
		member, err = s.network.Join(nat.Container{ID: c.ID, Names: []string{c.Hostname}})
	}
	if err != nil {
		return notJoined(err)
	}

	undo.Add(member.Leave)
	c.NetNS = member.Netns

	dir := s.options.Paths.container(c.ID)
	undo.Add(func() error { return os.RemoveAll(dir) })
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return err
	}
	var dns cri.DNS
	if member.DNS.IsValid() {
		dns.Servers = []string{member.DNS.String()}
	}

	resolver, err := cri.Resolver(dns, false)
	if err != nil {
		return err
	}

	hosts := "127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\t" + c.Hostname + "\n"
	for _, file := range []struct{ name, text string }{{"resolv.conf", resolver}, {"hosts", hosts}} {
		source := filepath.Join(dir, file.name)
		if err := os.WriteFile(source, []byte(file.text), 0o644); err != nil {
			return err
		}
		c.Mounts = append(c.Mounts, linuxrun.Mount{
			Source:   source,
			Target:   "/etc/" + file.name,
			ReadOnly: true,
		})
	}

	for _, m := range ask.Mounts {
		c.Mounts = append(c.Mounts, linuxrun.Mount{
			Source:   m.Source,
			Target:   m.Target,
			ReadOnly: m.ReadOnly,
		})
	}

	return nil
}

// openLayer opens a layer's file, and reads what was compressed.
func openLayer(name string) (io.ReadCloser, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{plain, file}, nil
}

// writeLinuxLayer writes the layer of a command that has ended.
func writeLinuxLayer(ctx context.Context, by *linuxrun.Runner, c linuxrun.Command, name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the layer of the command: %w", err)
	}
	err = errors.Join(by.WriteLayer(ctx, c, file), file.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("write the layer of the command: %w", err), os.Remove(name)) // nobody asks for a part
	}
	return nil
}
