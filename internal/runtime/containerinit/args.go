package containerinit

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// launcher is the program that starts Windows programs in a container and can deliver control events to them.
const launcher = "mullion-run.exe"

// ErrUsage is Parse's error for arguments that name no program.
var ErrUsage = errors.New(
	"usage: mullion-init [--explain FILE] [--listen SOCKET] [--settle] [--] PROGRAM [ARGUMENT...]")

// Config is what a container's first process is to run.
type Config struct {
	// Argv is the path of the main program, which is not searched in PATH, and its arguments.
	Argv []string
	// Env is the environment handed to it, entries being NAME=value.
	Env []string
	// Explain is the file into which Wine's diagnostic lines are counted, which the main program is to write to
	// descriptor 3; "": there is no such descriptor.
	Explain string
	// Listen is the path of a socket at which the engine asks for programs; "": there is none.
	Listen string
	// Settle says that Wine's server is to end in order after the main program: what it has of the registry in memory
	// is to be in the container's files.
	Settle bool
}

// Parse makes a Config from the arguments after the program's own name.
func Parse(args, env []string) (Config, error) {
	c := Config{Env: env}
	if len(args) > 1 && args[0] == "--explain" {
		c.Explain, args = args[1], args[2:]
	}
	if len(args) > 1 && args[0] == "--listen" {
		c.Listen, args = args[1], args[2:]
	}
	if len(args) > 0 && args[0] == "--settle" {
		c.Settle, args = true, args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "" {
		return Config{}, ErrUsage
	}

	c.Argv = args
	return c, nil
}

// loaderSize is how many arguments may stand before the launcher: Wine's preloader and its loader.
const loaderSize = 2

// launch returns the beginning of the main program's command line up to the launcher; nil: it is no Windows program.
func (c Config) launch() []string {
	for i := 1; i < len(c.Argv) && i <= loaderSize; i++ {
		if path.Base(strings.ReplaceAll(c.Argv[i], `\`, "/")) == launcher {
			return c.Argv[:i+1]
		}
	}
	return nil
}

// windows reports whether the main program is a Windows program.
func (c Config) windows() bool { return c.launch() != nil }

// endMillis bounds the end of the container's services: the 3 minutes of PRESHUTDOWN and the time of SHUTDOWN
// (guest/c/hooks/svcstop.c). In milliseconds.
const endMillis = "240000"

// endArgv returns the command that ends the container's Windows services, or nil if the main program is no Windows
// program.
func (c Config) endArgv() []string {
	if !c.windows() {
		return nil
	}
	return slices.Concat(c.launch(), []string{"--end-services", endMillis})
}

// ctrlArgv returns the command that delivers a control event to the container's first Windows program, whose process id
// it is.
func (c Config) ctrlArgv(event, pid string) []string {
	return slices.Concat(c.launch(), []string{"--ctrl", event, "--pid", pid})
}

// report returns the file to which the launcher writes how the first Windows program fares, a line for each event
// (internal/runtime/cri); "": there is none.
func (c Config) report() string {
	if !c.windows() {
		return ""
	}
	for i := len(c.launch()); i+1 < len(c.Argv) && c.Argv[i] != "--"; i++ {
		if c.Argv[i] == "--report" {
			return c.Argv[i+1]
		}
	}
	return ""
}

// startedPID finds in a report the process id of the program, "" if it has not started.
func startedPID(report string) string {
	line, _, whole := strings.Cut(report, "\n")
	pid, started := strings.CutPrefix(line, "started ")
	if !whole || !started || strings.Trim(pid, "0123456789") != "" {
		return ""
	}
	return pid
}
