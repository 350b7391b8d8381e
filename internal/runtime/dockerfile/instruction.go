package dockerfile

import (
	"context"
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
)

// do carries out an instruction of a stage, whose number is given.
func (s *stage) do(ctx context.Context, number int, c instructions.Command) error {
	if err := s.replace(c); err != nil {
		return err
	}

	switch c := c.(type) {
	case *instructions.ArgCommand:
		return s.arg(c)
	case *instructions.WorkdirCommand:
		return s.workdir(ctx, c)
	case *instructions.CopyCommand:
		return s.copyFiles(ctx, number, c)
	case *instructions.AddCommand:
		return s.add(ctx, c)
	case *instructions.RunCommand:
		return s.run(ctx, number, c)
	}

	if err := s.configure(c); err != nil {
		return err
	}
	s.note(fmt.Sprint(c))
	return nil
}

// configure carries out an instruction that changes the configuration alone.
func (s *stage) configure(c instructions.Command) error {
	switch c := c.(type) {
	case *instructions.EnvCommand:
		for _, e := range c.Env {
			s.config.Env = s.withVariable(s.config.Env, e.Key, e.Value)
		}
	case *instructions.LabelCommand:
		s.setLabels(c)
	case *instructions.MaintainerCommand:
		s.author = c.Maintainer
	case *instructions.UserCommand:
		return s.user(c)
	case *instructions.ShellCommand:
		s.config.Shell = c.Shell
	case *instructions.CmdCommand:
		s.cmd(c)
	case *instructions.EntrypointCommand:
		s.entrypoint(c)
	case *instructions.ExposeCommand:
		return s.expose(c)
	case *instructions.VolumeCommand:
		return s.volumes(c)
	case *instructions.StopSignalCommand:
		s.config.StopSignal = c.Signal
	case *instructions.HealthCheckCommand:
		s.healthCheck(c)
	case *instructions.OnbuildCommand:
		s.config.OnBuild = append(s.config.OnBuild, c.Expression)
	default:
		return refuse(errdefs.ErrNotImplemented, "Mullion does not know this instruction")
	}

	return nil
}

// healthCheck carries out HEALTHCHECK.
func (s *stage) healthCheck(c *instructions.HealthCheckCommand) {
	s.config.Healthcheck = &v1.HealthConfig{
		Test:        c.Health.Test,
		Interval:    c.Health.Interval,
		Timeout:     c.Health.Timeout,
		StartPeriod: c.Health.StartPeriod,
		Retries:     c.Health.Retries,
	}
	if c.Health.StartInterval != 0 {
		s.warn(c, "--start-interval is left out: the image's form here has no place for it")
	}
}

// setLabels carries out LABEL.
func (s *stage) setLabels(c *instructions.LabelCommand) {
	for _, l := range c.Labels {
		s.setLabel(l.Key, l.Value)
	}
}

// replace replaces the variables of an instruction. ENV comes before ARG.
func (s *stage) replace(c instructions.Command) error {
	env := slices.Concat(s.args, s.config.Env)
	if c, ok := c.(instructions.SupportsSingleWordExpansion); ok {
		if err := c.Expand(func(word string) (string, error) { return s.expand(word, env) }); err != nil {
			return err
		}
	}

	if c, ok := c.(instructions.SupportsSingleWordExpansionRaw); ok {
		return c.ExpandRaw(func(text string) (string, error) {
			lex := shell.NewLex('\\') // in a heredoc the directive "escape" says nothing
			lex.SkipProcessQuotes = true
			return s.replaceVariables(lex, text, env)
		})
	}

	return nil
}

// arg carries out ARG. One without a value has that of the ARG before the first FROM.
func (s *stage) arg(c *instructions.ArgCommand) error {
	for _, arg := range c.Args {
		value, ok, err := s.argument(arg, slices.Concat(s.args, s.config.Env))
		if err != nil {
			return err
		}

		if !ok {
			global, err := s.globals()
			if err != nil {
				return err
			}
			value, ok = shell.EnvsFromSlice(global).Get(arg.Key)
		}
		if ok {
			s.args = s.withVariable(s.args, arg.Key, value)
		}
	}

	s.note(fmt.Sprint(c))
	return nil
}

// withVariable sets a variable. Windows takes names that differ by case alone for the same.
func (s *stage) withVariable(env []string, name, value string) []string {
	line := name + "=" + value
	for i, e := range env {
		if old, _, _ := strings.Cut(e, "="); old == name || (!s.linux && strings.EqualFold(old, name)) {
			env[i] = line
			return env
		}
	}
	return append(env, line)
}

func (s *stage) setLabel(name, value string) {
	if s.config.Labels == nil {
		s.config.Labels = map[string]string{}
	}
	s.config.Labels[name] = value
}

// workdir carries out WORKDIR, which makes the folder.
func (s *stage) workdir(ctx context.Context, c *instructions.WorkdirCommand) error {
	at, err := s.path(c.Path)
	if err != nil {
		return err
	}
	made := s.tree.change()
	at, err = made.folder(at)
	if err != nil {
		return err
	}
	s.config.WorkingDir = s.tree.shown(at)
	return s.put(ctx, made, fmt.Sprint(c))
}

// path returns a path of an instruction as a name on C:, or below the root of Linux.
func (s *stage) path(name string) (string, error) {
	if s.linux {
		if !path.IsAbs(name) {
			name = path.Join("/", s.config.WorkingDir, name)
		}
		return strings.TrimPrefix(path.Clean(name), "/"), nil
	}
	dir, err := onDrive("", s.config.WorkingDir)
	if err != nil {
		return "", err
	}
	return onDrive(dir, name)
}

// user carries out USER. Windows has no group there.
func (s *stage) user(c *instructions.UserCommand) error {
	if strings.Contains(c.User, ":") && !s.linux {
		return refuse(errdefs.ErrInvalidArgument, "Windows has no user:group")
	}
	s.config.User = c.User
	return nil
}

// cmd carries out CMD.
func (s *stage) cmd(c *instructions.CmdCommand) {
	s.config.Cmd, s.cmdHere = c.CmdLine, true
	if c.PrependShell {
		s.config.Cmd = s.line(c.CmdLine)
	}
	s.escaped(!s.linux && ((c.PrependShell && len(s.config.Entrypoint) == 0) || s.entryLine))
}

// entrypoint carries out ENTRYPOINT, which takes away the CMD of the stage's base.
func (s *stage) entrypoint(c *instructions.EntrypointCommand) {
	s.config.Entrypoint, s.entryLine = c.CmdLine, c.PrependShell
	if c.PrependShell {
		s.config.Entrypoint = s.line(c.CmdLine)
	}
	if !s.cmdHere {
		s.config.Cmd = nil
	}
	s.escaped(c.PrependShell && !s.linux)
}

// escaped says whether the program's one string is a whole command line, which the runtime passes on as it is: on
// Windows a program takes its command line apart by itself, and cmd does so by rules of its own.
func (s *stage) escaped(is bool) {
	s.config.ArgsEscaped = is
}

// line returns what a line for the shell becomes: on Windows one string, the whole command line.
func (s *stage) line(words []string) []string {
	shell := s.config.Shell
	if s.linux {
		if len(shell) == 0 {
			shell = []string{"/bin/sh", "-c"}
		}
		return append(slices.Clone(shell), strings.Join(words, " "))
	}
	if len(shell) == 0 {
		shell = []string{"cmd", "/S", "/C"}
	}
	return []string{strings.Join(slices.Concat(shell, words), " ")}
}

// expose carries out EXPOSE: 80, 80/udp, 8000-8010.
func (s *stage) expose(c *instructions.ExposeCommand) error {
	for _, word := range c.Ports {
		ports, protocol, _ := strings.Cut(word, "/")
		if protocol = strings.ToLower(protocol); protocol == "" {
			protocol = "tcp"
		}
		if protocol != "tcp" && protocol != "udp" {
			return refuse(errdefs.ErrInvalidArgument, "port %q: want tcp or udp", word)
		}

		// 127.0.0.1:8080:80 is read as Docker reads it: the last part is the container's port.
		if at := strings.LastIndexByte(ports, ':'); at >= 0 {
			s.warn(c, "EXPOSE %s: an image names its own port alone, which is %s", word, ports[at+1:])
			ports = ports[at+1:]
		}

		first, last, ranged := strings.Cut(ports, "-")
		if !ranged {
			last = first
		}
		from, to := portNumber(first), portNumber(last)
		if from == 0 || to < from {
			return refuse(errdefs.ErrInvalidArgument, "port %q: want a number from 1 to 65535, or a range", word)
		}

		for port := from; port <= to; port++ {
			if s.config.ExposedPorts == nil {
				s.config.ExposedPorts = map[string]struct{}{}
			}
			s.config.ExposedPorts[strconv.Itoa(port)+"/"+protocol] = struct{}{}
		}
	}

	return nil
}

// portNumber returns a port, 0 for what is none.
func portNumber(text string) int {
	port, err := net.LookupPort("tcp", text)
	if err != nil || strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0
	}
	return port
}

// volumes carries out VOLUME.
func (s *stage) volumes(c *instructions.VolumeCommand) error {
	for _, v := range c.Volumes {
		if v == "" {
			return refuse(errdefs.ErrInvalidArgument, "a volume has no name")
		}
		if s.config.Volumes == nil {
			s.config.Volumes = map[string]struct{}{}
		}
		s.config.Volumes[v] = struct{}{}
	}
	return nil
}
